"""Following a session: first its log, then what happens, without a gap and without a repeat."""

from collections.abc import AsyncIterator

from segue.hub import Heard, Hub, Lagged, LiveText
from segue.model import Event
from segue.store.store import Store

_PAGE = 500


async def follow(store: Store, hub: Hub, session_id: str, after: int) -> AsyncIterator[Heard]:
    """Durable events in the order of their numbers, each once, with live text between them.

    Whoever comes in the middle of a turn is first given what was said so far, as one fragment.
    """
    with hub.listen(session_id) as listener:
        async for event in _log(store, session_id, after):
            after = event.seq
            yield event
        draft = await _draft(store, session_id, after)
        if draft is not None:
            yield draft
        while True:
            heard = await listener.next()
            if isinstance(heard, LiveText):
                yield heard
                continue
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


async def _draft(store: Store, session_id: str, seq: int) -> LiveText | None:
    turn = await store.running_turn(session_id)
    if turn is None or not turn.draft:
        return None
    return LiveText(
        session_id=session_id, turn_id=turn.id, type="stream_delta", seq=seq, offset=0, text=turn.draft
    )
