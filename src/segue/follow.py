"""Following a session: first its log, then what happens, without a gap and without a repeat."""

from collections.abc import AsyncIterator

from segue.hub import Heard, Hub, Lagged, LiveText
from segue.live import LiveTurns
from segue.model import Event
from segue.store.store import Store

_PAGE = 500


async def follow(
    store: Store, hub: Hub, turns: LiveTurns, session_id: str, after: int
) -> AsyncIterator[Heard]:
    """Durable events in the order of their numbers, each once, with live text between them.

    Whoever comes in the middle of a turn is first given what was said so far, as one fragment.
    """
    with hub.listen(session_id) as listener:
        async for event in _log(store, session_id, after):
            after = event.seq
            yield event
        said = _said_here(turns, session_id, after) or await _draft(store, session_id, after)
        if said is not None:
            yield said
        while True:
            heard = await listener.next()
            if isinstance(heard, LiveText):
                if not _repeats(heard, said):
                    yield heard
                continue
            if isinstance(heard, Event) and heard.type == "stream_start":
                said = None  # another turn, or another attempt of this one: it begins anew
            if isinstance(heard, Event) and heard.session_id == session_id and heard.seq == after + 1:
                after = heard.seq
                yield heard
            elif isinstance(heard, Lagged) or heard.seq > after:
                async for event in _log(store, session_id, after):
                    after = event.seq
                    yield event


async def _log(store: Store, session_id: str, after: int) -> AsyncIterator[Event]:
    while page := await store.events(session_id, after=after, limit=_PAGE):
        for event in page:
            yield event
        after = page[-1].seq


def _said_here(turns: LiveTurns, session_id: str, seq: int) -> LiveText | None:
    """What a turn of this process has said: nothing is missing between it and what is heard from now on.

    One whose start is yet to be heard will be heard from its start.
    """
    for live in turns:
        turn = live.held.turn
        if turn.session_id == session_id and live.listening and live.length and live.held.opened.seq <= seq:
            return LiveText(
                session_id=session_id, turn_id=turn.id, type="stream_delta", seq=seq, offset=0, text=live.text
            )
    return None


def _repeats(heard: LiveText, said: LiveText | None) -> bool:
    return (
        said is not None
        and (heard.turn_id, heard.type) == (said.turn_id, said.type)
        and heard.offset < len(said.text)
    )


async def _draft(store: Store, session_id: str, seq: int) -> LiveText | None:
    turn = await store.running_turn(session_id)
    if turn is None or not turn.draft:
        return None
    return LiveText(
        session_id=session_id, turn_id=turn.id, type="stream_delta", seq=seq, offset=0, text=turn.draft
    )
