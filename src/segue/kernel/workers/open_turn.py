"""Opens a turn for its agent: history, messages from elsewhere, saved state, and the way to report."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from segue.errors import NotFound
from segue.kernel.live.running import RunningTurn
from segue.kernel.transactions import lease
from segue.kernel.transactions.lease import HeldLane
from segue.kernel.workers.worker_context import WorkerContext
from segue.memory.model_context import assemble
from segue.memory.ranked_search import memory_query
from segue.model.action import Ask, View
from segue.model.agent import Delta, OpenTurn, Resumed, ToolCalled
from segue.model.records import Event, Session, Source
from segue.model.states import JobKind
from segue.model.transcript import Message, message_of

_MOST_OUTSIDE = 500
_NOT_RETURNED = "it is not known whether this call ended: its turn was interrupted"


async def open_turn(
    context: WorkerContext,
    running: RunningTurn,
    tell: Callable[[Delta | str], Awaitable[None]],
    before_step: Callable[[], Awaitable[None]],
) -> OpenTurn:
    """`before_step` is called before an agent begins a model step, and may cancel the turn."""
    held = running.held
    turn = held.turn
    # The prompt of a user's turn has the user's text in it, after a fact about it.
    asked = turn.content if turn.prompt is None else turn.prompt
    text = turn.content if turn.source is None else asked
    prompt = turn.rendered()
    past = _Past(context, held, text, before_step)
    return OpenTurn(
        id=turn.id,
        session=held.session,
        via=await _via(context, held),
        text=text,
        prompt=prompt.text if prompt else asked,
        parts=turn.parts,
        role="system" if turn.source and turn.source.kind == JobKind.RECALL else "user",
        prompt_ref=prompt.ref if prompt else None,
        source=turn.source,
        model=turn.brief.model if turn.brief else None,
        look=turn.brief.look if turn.brief else None,
        attempt=turn.attempt,
        started_at=turn.started_at or 0,
        seq=held.opened.seq,
        kernel=context.kernel,
        saved=running.saved,
        resumed=_resumed(held.resumed),
        stopping=running.stopping,
        replaces=turn.replaces,
        _history=past.history,
        _joined=past.joined,
        _outside=past.outside,
        _tell=tell,
    )


class _Past:
    """What the session holds from before the turn, and what users add to it."""

    def __init__(
        self,
        context: WorkerContext,
        held: HeldLane,
        asked: str,
        before_step: Callable[[], Awaitable[None]],
    ) -> None:
        self._context = context
        self._before_step = before_step
        self._held = held
        self._asked = asked

    @property
    def _zone(self) -> str | None:
        return self._held.session.timezone or self._context.settings.timezone

    async def history(self, limit: int, tools: bool) -> list[Message]:
        held, source = self._held, self._held.turn.source
        given = await assemble(
            self._context.memory,
            held.session,
            asked=memory_query(self._asked, self._context.clock.ms(), self._zone),
            view=await _view(self._context, source),
            limit=limit,
            before=held.opened.seq,
            turn_id=held.turn.id,
            job_id=source.job_id if source else None,
        )
        messages = given.as_messages()
        return await self._with_calls(messages) if tools else messages

    async def _with_calls(self, messages: list[Message]) -> list[Message]:
        first = min((message.seq for message in messages if message.seq), default=0)
        events = await self._context.store.tool_events(
            self._held.session.id, after=first, before=self._held.opened.seq
        )
        calls = calls_of(events)
        return [
            replace(message, calls=calls.get(message.turn_id or "", ()))
            if message.role == "assistant"
            else message
            for message in messages
        ]

    async def outside(self, since: int) -> list[Message]:
        held = self._held
        events = await self._context.store.messages(held.session.id, after=since, limit=_MOST_OUTSIDE)
        messages = [message for event in events if (message := message_of(event))]
        return [message for message in messages if message.turn_id is None and message.seq < held.opened.seq]

    async def joined(self) -> list[Message]:
        await self._before_step()
        events = await self._context.store.commit(lease.join, self._held, self._context.clock.ms())
        self._context.hub.publish(events)
        own = [event for event in events if event.session_id == self._held.session.id]
        return [message for event in own if (message := message_of(event))]


def calls_of(events: Sequence[Event]) -> dict[str, tuple[ToolCalled, ...]]:
    """The tool calls of each turn, in the order in which they began, with their results."""
    calls: dict[str, dict[str, ToolCalled]] = {}
    for event in events:
        body = event.body
        called = ToolCalled(
            call_id=body["call_id"],
            name=body["name"],
            arguments=body.get("arguments") or {},
            result=body.get("result"),
            error=_NOT_RETURNED if event.type == "tool_started" else body.get("error"),
            duration_ms=body.get("duration_ms", 0),
        )
        calls.setdefault(event.turn_id or "", {})[called.call_id] = called
    return {turn_id: tuple(by_id.values()) for turn_id, by_id in calls.items()}


def _resumed(stored: Mapping[str, Any] | None) -> Resumed | None:
    if stored is None:
        return None
    return Resumed(
        question=stored["question"],
        choices=tuple(stored["choices"]),
        state=stored["state"],
        turn_id=stored["turn_id"],
        asked_at=stored["asked_at"],
    )


async def _via(context: WorkerContext, held: HeldLane) -> Session:
    if held.turn.chat_id is None:
        return held.session
    try:
        return await context.store.session_by_id(held.turn.chat_id)
    except NotFound:  # the chat was deleted
        return held.session


async def _view(context: WorkerContext, source: Source | None) -> View:
    """How much history the job's agent sees. A user's turn sees all."""
    if source is None:
        return View.FULL
    try:
        action = (await context.store.job(source.job_id)).action
    except NotFound:  # the job was pruned
        return View.FULL
    return action.view if isinstance(action, Ask) else View.FULL
