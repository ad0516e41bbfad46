"""Live events: streams the events of sessions to clients by WebSocket or server-sent events.

Both transports read from `kernel.follow`. Each client has its own position in the log: a client that reads
slowly falls behind and catches up from the log, and no other client waits for it. When a client disconnects,
only its own streams end.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from functools import partial
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, WebSocket, WebSocketDisconnect
from pydantic import Field, TypeAdapter, ValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent

from segue.errors import NotFound, SegueError
from segue.kernel.kernel import Kernel
from segue.kernel.live.hub import EVERYTHING, Lagged, LiveText, SummaryChanged
from segue.kernel.transactions import idempotency
from segue.kernel.transactions.replies import Acted
from segue.model.records import Asker, Event, Overview, Session
from segue.model.text_checks import MAX_NAME
from segue.server.auth import Caller
from segue.server.error_responses import (
    Refused,
    problem_of,
    problem_response,
    responses,
    validation_problem,
)
from segue.server.event_stream import EventStream
from segue.server.json_text import json_text
from segue.server.paging import LARGEST_SEQ
from segue.server.request_context import (
    AuthenticatedRequest,
    AuthenticatedRoute,
    app_state,
    asker_of,
    check_may_open,
)
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common, views
from segue.server.schemas import events as wire_events
from segue.server.schemas.body import Body
from segue.server.schemas.events import WireEvent
from segue.server.schemas.files import Sent
from segue.server.schemas.push import DeviceId
from segue.times.cron_line import zone_named

router = APIRouter(route_class=AuthenticatedRoute, tags=["Live"])

MOST_FOLLOWED = 1000
"""Sessions that one connection may follow."""
MOST_LISTED = 500
_NO_SUMMARY_CHANGE = frozenset({"tool_started", "tool_call", "stream_end"})
"""Events that do not change a session's summary. A `stream_end` is followed by a `session_sync`."""


async def session_events(
    kernel: Kernel, session: Session, after: int | None
) -> AsyncGenerator[WireEvent, None]:
    """Yield a session's events in wire form. Events older than the connection are marked as a replay."""
    overview = await kernel.sessions.overview_of(session.id)
    last_seq_at_start = overview.session.last_seq
    follow = kernel.follow(overview.session, after=after, came_at=last_seq_at_start)
    async with aclosing(follow) as following:
        async for item in following:
            if isinstance(item, LiveText):
                yield wire_events.live_text(session, item, kernel.clock.ms())
            elif isinstance(item, Event):
                replay = item.seq <= last_seq_at_start
                if replay:
                    yield await wire_events.to_wire(kernel, session, item, overview=overview) | {
                        "replay": True
                    }
                else:
                    # The same for all followers of the session, so it is built once.
                    build = partial(wire_events.to_wire, kernel, session, item, overview=None)
                    yield await kernel.hub.shared.once((session.id, item.seq), build)


async def summaries(kernel: Kernel, owner: Asker) -> AsyncIterator[WireEvent]:
    """Yield a summary of each session of the caller whenever it changes."""
    known: dict[str, Overview] = {}
    with kernel.hub.listen(EVERYTHING) as listener:
        for overview in await kernel.sessions.overviews(owner=owner, limit=MOST_LISTED):
            known[overview.session.id] = overview
        while True:
            item = await listener.next()
            if isinstance(item, Event | SummaryChanged):
                for overview in await _changed_overviews(kernel, owner, item):
                    known[overview.session.id] = overview
                    yield wire_events.summary(overview, kernel.clock.ms())
            elif isinstance(item, Lagged):
                async for wire_event in _changes_elsewhere(kernel, owner, known, item.look):
                    yield wire_event


async def _changed_overviews(kernel: Kernel, owner: Asker, change: Event | SummaryChanged) -> list[Overview]:
    if isinstance(change, Event) and change.type in _NO_SUMMARY_CHANGE:
        return []
    look_up = partial(kernel.sessions.overview_of, change.session_id)
    moment = ("event", change.seq) if isinstance(change, Event) else ("change", change.number)
    try:
        overview = await kernel.hub.shared.once(("overview", change.session_id, *moment), look_up)
    except NotFound:
        return []
    return [overview] if owner.reaches(overview.session.owner) else []


async def _changes_elsewhere(
    kernel: Kernel, owner: Asker, known: dict[str, Overview], look: int | None
) -> AsyncIterator[WireEvent]:
    """Yield what another process changed: sessions with new events, and deleted sessions."""
    look_up = partial(kernel.sessions.overviews, owner=owner, limit=MOST_LISTED)
    listed = await (look_up() if look is None else kernel.hub.shared.once((look, owner), look_up))
    for overview in listed:
        before = known.get(overview.session.id)
        if before is None or _version(before) != _version(overview):
            known[overview.session.id] = overview
            yield wire_events.summary(overview, kernel.clock.ms())
    if len(listed) < MOST_LISTED:
        for session_id in known.keys() - {overview.session.id for overview in listed}:
            yield wire_events.deleted(known.pop(session_id).session, kernel.clock.ms())


def _version(overview: Overview) -> tuple[int, int]:
    return overview.session.last_seq, overview.unread


@router.get(
    "/sessions/{key}/events",
    summary="Follow a session",
    response_class=EventSourceResponse,
    responses={
        200: {"description": "A stream of events.", "content": {"text/event-stream": {}}},
        **responses(400, 401, 403, 404, 422),
    },
)
async def follow_session(
    key: KeyInPath,
    request: AuthenticatedRequest,
    after: Annotated[
        int | None, Query(ge=0, le=LARGEST_SEQ, description="Return only events with a higher seq.")
    ] = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=LARGEST_SEQ)] = None,
) -> EventSourceResponse:
    """Stream the same events as the WebSocket. Without `after` or `Last-Event-ID`, the stream begins with
    the running turn, or with the next event if no turn is running."""
    kernel = request.kernel
    session = await kernel.sessions.get(key, owner=request.owner)
    start = after if last_event_id is None else last_event_id

    async def stream() -> AsyncIterator[ServerSentEvent]:
        with request.app_state.metrics.clients.labels("sse").track_inprogress():
            try:
                async with aclosing(session_events(kernel, session, start)) as events:
                    async for wire_event in events:
                        yield ServerSentEvent(
                            data=json_text(wire_event), event=wire_event["type"], id=str(wire_event["seq"])
                        )
            except NotFound:  # the session was deleted
                return

    return EventStream(stream())


class Subscribe(Body):
    type: str = Field(pattern="^subscribe$")
    session: common.Key | Annotated[str, Field(pattern=r"^\*$")]
    after: int | None = Field(None, ge=0, le=LARGEST_SEQ)


class Unsubscribe(Body):
    type: str = Field(pattern="^unsubscribe$")
    session: common.Key | Annotated[str, Field(pattern=r"^\*$")]


class SendMessage(Sent):
    type: str = Field(pattern="^message$")
    session: common.Key
    id: str | None = Field(None, min_length=1, max_length=200)
    when_busy: common.Busy | None = None
    reply_to: common.MessageId | None = Field(None, description="The message that this one answers.")
    timezone: str | None = Field(
        None, max_length=MAX_NAME, description="The user's time zone, used if the session has none yet."
    )


class Stop(Body):
    type: str = Field(pattern="^stop$")
    session: common.Key


class Visible(Body):
    """Whether the page is visible on a device that has a push subscription: it is not notified meanwhile."""

    type: str = Field(pattern="^visible$")
    device: DeviceId
    visible: bool


_COMMANDS: dict[str, TypeAdapter[Any]] = {
    "subscribe": TypeAdapter(Subscribe),
    "unsubscribe": TypeAdapter(Unsubscribe),
    "message": TypeAdapter(SendMessage),
    "stop": TypeAdapter(Stop),
    "visible": TypeAdapter(Visible),
}


@router.websocket("/ws")
async def websocket(socket: WebSocket) -> None:
    try:
        state = app_state(socket)
        caller = await state.caller(socket)
        asker = asker_of(caller, socket)
    except (Refused, SegueError) as refusal:
        headers = refusal.headers if isinstance(refusal, Refused) else None
        await socket.send_denial_response(problem_response(problem_of(refusal), headers))
        return
    await socket.accept()
    with state.metrics.clients.labels("websocket").track_inprogress():
        try:
            async with asyncio.TaskGroup() as tasks:
                connection = LiveConnection(socket, state.kernel, caller, asker, tasks)
                try:
                    await connection.serve()
                finally:
                    await connection.hide()
        except* WebSocketDisconnect:
            pass


class LiveConnection:
    """One WebSocket connection: executes its commands and streams the sessions that it follows."""

    def __init__(
        self, socket: WebSocket, kernel: Kernel, caller: Caller, owner: Asker, tasks: asyncio.TaskGroup
    ) -> None:
        self._socket = socket
        self._kernel = kernel
        self._caller = caller
        self._owner = owner
        self._tasks = tasks
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._awaited_sessions: dict[str, int | None] = {}
        """Subscriptions to sessions that do not exist yet, with their `after`. A message from this client
        creates the session and starts the subscription."""
        self._visible_on: str | None = None
        """The device on which the page is visible."""

    async def serve(self) -> None:
        """Serve the client until it disconnects. Raises WebSocketDisconnect, which ends its streams."""
        while True:
            text = await self._socket.receive_text()
            fields: dict[str, Any] = {}
            try:
                fields, command = _parse(text)
                await self._execute(command)
            except (SegueError, Refused, ValidationError) as error:
                await self._send_error(error, fields)

    async def hide(self) -> None:
        """A page whose connection is lost is not visible any more."""
        device, self._visible_on = self._visible_on, None
        if device is not None:
            with suppress(SegueError):  # then it ends by itself, in minutes
                await self._kernel.push.show(device, False, owner=self._owner)

    async def _execute(self, command: Subscribe | Unsubscribe | SendMessage | Stop | Visible) -> None:
        match command:
            case Subscribe():
                await self._subscribe(command.session, command.after)
            case Unsubscribe():
                self._unfollow(command.session)
            case SendMessage():
                await self._receive_message(command)
            case Stop():
                await self._kernel.turns.stop(command.session, owner=self._owner)
            case Visible():
                self._visible_on = command.device if command.visible else None
                await self._kernel.push.show(command.device, command.visible, owner=self._owner)

    async def _subscribe(self, key: str, after: int | None) -> None:
        if key == EVERYTHING:
            self._follow(key, summaries(self._kernel, self._owner))
            return
        if len(self._streams) >= MOST_FOLLOWED:
            raise Refused(409, "too_many", f"one connection follows at most {MOST_FOLLOWED:,} sessions")
        try:
            session = await self._kernel.sessions.get(key, owner=self._owner)
        except NotFound:
            self._awaited_sessions[key] = after
            raise
        self._follow(key, session_events(self._kernel, session, after))

    async def _receive_message(self, message: SendMessage) -> None:
        await check_may_open(self._kernel, self._caller, self._owner, message.session)
        request = None
        if message.id is not None:
            named = [message.replaces] if message.replaces else []
            told = "\n".join([f"message {message.session}", message.content, *message.file_ids, *named])
            told += f"\nreply to {message.reply_to}" if message.reply_to else ""
            digest = sha256(told.encode()).hexdigest()
            request = idempotency.Request(
                owner=self._owner.own, name=f"{message.session} {message.id}", digest=digest
            )
        # A browser may send a zone that this machine does not know. The message is accepted anyway.
        if message.timezone is not None and zone_named(message.timezone) is not None:
            await self._kernel.sessions.suggest_zone(message.session, message.timezone, owner=self._owner)
        taken = await self._kernel.replies.take(
            message.session,
            message.content,
            parts=message.file_ids,
            reply_to=message.reply_to,
            owner=self._owner,
            when_busy=message.when_busy,
            replaces=message.replaces,
            request=request,
        )
        if isinstance(taken, Acted):
            result = views.control(taken).model_dump()
        else:
            result = {"turn_id": taken.turn_id, "state": "queued", "position": taken.position}
        await self._send({"type": "accepted", "session": message.session, "id": message.id, **result})
        if message.session in self._awaited_sessions:
            await self._subscribe(message.session, self._awaited_sessions.pop(message.session) or 0)

    def _follow(self, key: str, events: AsyncIterator[WireEvent]) -> None:
        self._unfollow(key)
        self._streams[key] = self._tasks.create_task(self._forward(key, events))

    def _unfollow(self, key: str) -> None:
        if task := self._streams.pop(key, None):
            task.cancel()

    async def _forward(self, key: str, events: AsyncIterator[WireEvent]) -> None:
        try:
            async for wire_event in events:
                await self._send(wire_event)
        except SegueError as error:  # session deleted or database unavailable: the client may subscribe again
            self._streams.pop(key, None)
            await self._send_error(error, {"session": key})

    async def _send_error(self, error: Exception, fields: dict[str, Any]) -> None:
        if isinstance(error, ValidationError):
            problem = validation_problem(error.errors(include_url=False)[0], "the message")
        else:
            problem = problem_of(error)
        ids = {name: fields[name] for name in ("session", "id") if isinstance(fields.get(name), str)}
        await self._send({**problem.model_dump(exclude_none=True), "type": "error", **ids})

    async def _send(self, wire_event: WireEvent) -> None:
        try:
            await self._socket.send_text(json_text(wire_event))
        except RuntimeError:  # the socket is already closed
            raise WebSocketDisconnect(1006) from None


def _parse(text: str) -> tuple[dict[str, Any], Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(422, "invalid", "a message on this socket is a JSON object") from None
    kind = fields.get("type") if isinstance(fields, dict) else None
    if not isinstance(kind, str) or kind not in _COMMANDS:
        raise Refused(422, "invalid", f"type: it is one of {', '.join(_COMMANDS)}")
    return fields, _COMMANDS[kind].validate_python(fields)
