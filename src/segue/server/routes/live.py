"""Live events: one stream for each session that a client follows, by WebSocket or server-sent events.

Both are folds over `kernel.follow`. Each client has its own place in the log: one that reads slowly falls
behind by itself and reads on from the log; nobody waits for it. That a client leaves ends its following and
nothing else.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, WebSocket, WebSocketDisconnect
from pydantic import Field, TypeAdapter, ValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Message, Receive, Scope, Send

from segue.errors import NotFound, SegueError
from segue.kernel.kernel import Kernel
from segue.kernel.live.hub import EVERYTHING, Lagged, LiveText
from segue.kernel.transactions import idempotency
from segue.kernel.transactions.lane import queue_update
from segue.model.records import Asker, Event, Overview, Session
from segue.model.text_checks import MAX_NAME
from segue.server.auth import Caller
from segue.server.error_responses import Refused, answer, problem_of, responses
from segue.server.paging import LARGEST_SEQ
from segue.server.request_context import AuthenticatedRequest, Guarded, app_state, asker_of, check_may_open
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import common
from segue.server.schemas import events as wire
from segue.server.schemas.events import Wired
from segue.times.cron_line import zone_named

router = APIRouter(route_class=Guarded, tags=["Live"])

MOST_FOLLOWED = 1000
"""Sessions by one connection."""
MOST_LISTED = 500
_PING_SECONDS = 15
_NO_NEWS = frozenset({"tool_started", "tool_call", "stream_end"})
"""What leaves a session's summary as it was; the end of a turn is followed by one."""


async def events(kernel: Kernel, session: Session, after: int | None) -> AsyncGenerator[Wired, None]:
    """A session's events as they go over the wire; what was there before the client came is a replay."""
    overview = await kernel.overview_of(session.id)
    there_before = overview.session.last_seq
    some_wait = overview.queued > 0
    follow = kernel.follow(session.key, owner=session.owner, after=after, came_at=there_before)
    async with aclosing(follow) as following:
        async for heard in following:
            if isinstance(heard, LiveText):
                yield wire.live(session, heard, kernel.clock.ms())
            elif isinstance(heard, Event):
                replay = heard.seq <= there_before
                if replay:
                    yield await wire.event(kernel, session, heard, overview=overview) | {"replay": True}
                else:
                    # The same for all who follow the session, and looked up once.
                    show = partial(wire.event, kernel, session, heard, overview=None)
                    yield await kernel.hub.shared.once((session.id, heard.seq), show)
                if heard.type == "queue_update":
                    some_wait = heard.body["queued"] > 0
                if replay:
                    continue
                if update := wire.of_its_job(heard):
                    yield await wire.event(kernel, session, update, overview=None)
                if heard.type == "stream_start" and some_wait:
                    # A turn has left the queue that this client was told of.
                    left = await kernel.hub.shared.once(
                        ("queue", session.id, heard.seq), partial(_queue, kernel, session, heard)
                    )
                    some_wait = left.body["queued"] > 0
                    yield await wire.event(kernel, session, left, overview=None)


async def _queue(kernel: Kernel, session: Session, started: Event) -> Event:
    """The queue of the session as it is now. It is no row of the log, and has the number of the start."""
    lane = await kernel.lane_of(session)
    queued = await kernel.store.queued_turns(lane.id)
    return replace(queue_update(session, queued, started.at), seq=started.seq)


async def summaries(kernel: Kernel, owner: Asker) -> AsyncIterator[Wired]:
    """Each session that the caller reaches, whenever something has happened in it."""
    known: dict[str, Session] = {}
    with kernel.hub.listen(EVERYTHING) as listener:
        for overview in await kernel.overviews(owner=owner, limit=MOST_LISTED):
            known[overview.session.id] = overview.session
        while True:
            heard = await listener.next()
            if isinstance(heard, Event) and heard.type not in _NO_NEWS:
                changed = await _changed(kernel, owner, heard)
                for overview in changed:
                    known[overview.session.id] = overview.session
                    yield wire.summary(overview, kernel.clock.ms())
            elif isinstance(heard, Lagged):
                async for wired in _compared(kernel, owner, known, heard.look):
                    yield wired


async def _changed(kernel: Kernel, owner: Asker, happened: Event) -> list[Overview]:
    look_up = partial(kernel.overview_of, happened.session_id)
    try:
        overview = await kernel.hub.shared.once(("overview", happened.session_id, happened.seq), look_up)
    except NotFound:
        return []
    return [overview] if owner.reaches(overview.session.owner) else []


async def _compared(
    kernel: Kernel, owner: Asker, known: dict[str, Session], look: int | None
) -> AsyncIterator[Wired]:
    """What another process has changed: those whose log has grown, and those that are gone."""
    look_up = partial(kernel.overviews, owner=owner, limit=MOST_LISTED)
    listed = await (look_up() if look is None else kernel.hub.shared.once((look, owner), look_up))
    for overview in listed:
        before = known.get(overview.session.id)
        if before is None or before.last_seq != overview.session.last_seq:
            known[overview.session.id] = overview.session
            yield wire.summary(overview, kernel.clock.ms())
    if len(listed) < MOST_LISTED:
        for session_id in known.keys() - {overview.session.id for overview in listed}:
            yield wire.deleted(known.pop(session_id), kernel.clock.ms())


@router.get(
    "/sessions/{key}/events",
    summary="Follow a session",
    response_class=EventSourceResponse,
    responses={
        200: {"description": "Events as they happen.", "content": {"text/event-stream": {}}},
        **responses(400, 401, 403, 404, 422),
    },
)
async def follow(
    key: KeyInPath,
    asked: AuthenticatedRequest,
    after: Annotated[
        int | None, Query(ge=0, le=LARGEST_SEQ, description="Only what has a higher seq.")
    ] = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=LARGEST_SEQ)] = None,
) -> EventSourceResponse:
    """The same events as over the WebSocket. Without `after` or `Last-Event-ID`, from the start of the turn
    under way, or from now on."""
    kernel = asked.kernel
    session = await kernel.session(key, owner=asked.owner)
    start = after if last_event_id is None else last_event_id

    async def stream() -> AsyncIterator[ServerSentEvent]:
        with asked.house.metrics.clients.labels("sse").track_inprogress():
            try:
                async with aclosing(events(kernel, session, start)) as happening:
                    async for wired in happening:
                        yield ServerSentEvent(data=_text(wired), event=wired["type"], id=str(wired["seq"]))
            except NotFound:  # the session was deleted
                return

    return Stream(stream(), ping=_PING_SECONDS)


class Stream(EventSourceResponse):
    """One that ends in order when the server is told to stop: the client hears an end, not a torn line."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        ended = False

        async def noting(message: Message) -> None:
            nonlocal ended
            ended = message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        await super().__call__(scope, receive, noting)
        if not ended:
            await send({"type": "http.response.body", "body": b""})


class Subscribe(common.Body):
    type: str = Field(pattern="^subscribe$")
    session: common.Key | Annotated[str, Field(pattern=r"^\*$")]
    after: int | None = Field(None, ge=0, le=LARGEST_SEQ)


class Unsubscribe(common.Body):
    type: str = Field(pattern="^unsubscribe$")
    session: common.Key | Annotated[str, Field(pattern=r"^\*$")]


class Speak(common.Body):
    type: str = Field(pattern="^message$")
    session: common.Key
    content: common.Words
    id: str | None = Field(None, min_length=1, max_length=200)
    when_busy: common.Busy | None = None
    timezone: str | None = Field(
        None, max_length=MAX_NAME, description="The user's, for a session that has none yet."
    )


class Stop(common.Body):
    type: str = Field(pattern="^stop$")
    session: common.Key


_ASKED: dict[str, TypeAdapter[Any]] = {
    "subscribe": TypeAdapter(Subscribe),
    "unsubscribe": TypeAdapter(Unsubscribe),
    "message": TypeAdapter(Speak),
    "stop": TypeAdapter(Stop),
}


@router.websocket("/ws")
async def websocket(socket: WebSocket) -> None:
    house = app_state(socket)
    try:
        caller = house.caller(socket)
        asker = asker_of(caller, socket)
    except (Refused, SegueError) as refusal:
        headers = refusal.headers if isinstance(refusal, Refused) else None
        await socket.send_denial_response(answer(problem_of(refusal), headers))
        return
    await socket.accept()
    with house.metrics.clients.labels("websocket").track_inprogress():
        try:
            async with asyncio.TaskGroup() as tasks:
                await Client(socket, house.kernel, caller, asker, tasks).talk()
        except* WebSocketDisconnect:
            pass


class Client:
    """One WebSocket: what it asks, and the sessions it follows."""

    def __init__(
        self, socket: WebSocket, kernel: Kernel, caller: Caller, owner: Asker, tasks: asyncio.TaskGroup
    ) -> None:
        self._socket = socket
        self._kernel = kernel
        self._caller = caller
        self._owner = owner
        self._tasks = tasks
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._awaited: dict[str, int | None] = {}
        """Sessions that were asked for before they are there: a message from here makes them."""

    async def talk(self) -> None:
        """Until the client leaves; that it did is raised, and ends what it followed."""
        while True:
            asked = await self._socket.receive_text()
            known: dict[str, Any] = {}
            try:
                known, wanted = _read(asked)
                await self._do(wanted)
            except (SegueError, Refused, ValidationError) as error:
                await self._refuse(error, known)

    async def _do(self, wanted: Subscribe | Unsubscribe | Speak | Stop) -> None:
        match wanted:
            case Subscribe():
                await self._subscribe(wanted.session, wanted.after)
            case Unsubscribe():
                self._unfollow(wanted.session)
            case Speak():
                await self._speak(wanted)
            case Stop():
                await self._kernel.stop(wanted.session, owner=self._owner)

    async def _subscribe(self, key: str, after: int | None) -> None:
        if key == EVERYTHING:
            self._follow(key, summaries(self._kernel, self._owner))
            return
        if len(self._followed) >= MOST_FOLLOWED:
            raise Refused(409, "too_many", f"one connection follows at most {MOST_FOLLOWED:,} sessions")
        try:
            session = await self._kernel.session(key, owner=self._owner)
        except NotFound:
            self._awaited[key] = after
            raise
        self._follow(key, events(self._kernel, session, after))

    async def _speak(self, said: Speak) -> None:
        await check_may_open(self._kernel, self._caller, self._owner, said.session)
        request = None
        if said.id is not None:
            digest = sha256(f"message {said.session}\n{said.content}".encode()).hexdigest()
            request = idempotency.Request(
                owner=self._owner.own, name=f"{said.session} {said.id}", digest=digest
            )
        # A browser may know a zone that this machine does not; that must keep no message back.
        if said.timezone is not None and zone_named(said.timezone) is not None:
            await self._kernel.suggest_zone(said.session, said.timezone, owner=self._owner)
        admitted = await self._kernel.receive(
            said.session, said.content, owner=self._owner, when_busy=said.when_busy, request=request
        )
        await self._send(
            {
                "type": "accepted",
                "session": said.session,
                "id": said.id,
                "turn_id": admitted.turn_id,
                "state": "queued",
                "position": admitted.position,
            }
        )
        if said.session in self._awaited:
            await self._subscribe(said.session, self._awaited.pop(said.session) or 0)

    def _follow(self, key: str, happening: AsyncIterator[Wired]) -> None:
        self._unfollow(key)
        self._followed[key] = self._tasks.create_task(self._tell(key, happening))

    def _unfollow(self, key: str) -> None:
        if task := self._followed.pop(key, None):
            task.cancel()

    async def _tell(self, key: str, happening: AsyncIterator[Wired]) -> None:
        try:
            async for wired in happening:
                await self._send(wired)
        except SegueError as error:  # the session is gone, or the database: the client may ask again
            self._followed.pop(key, None)
            await self._refuse(error, {"session": key})

    async def _refuse(self, error: Exception, asked: dict[str, Any]) -> None:
        problem = problem_of(error if not isinstance(error, ValidationError) else _not_valid(error))
        which = {name: asked[name] for name in ("session", "id") if isinstance(asked.get(name), str)}
        await self._send({**problem.model_dump(exclude_none=True), "type": "error", **which})

    async def _send(self, wired: Wired) -> None:
        try:
            await self._socket.send_text(_text(wired))
        except RuntimeError:  # closed meanwhile
            raise WebSocketDisconnect(1006) from None


def _read(asked: str) -> tuple[dict[str, Any], Any]:
    try:
        known = json.loads(asked)
    except (ValueError, RecursionError):
        raise Refused(422, "invalid", "a message on this socket is a JSON object") from None
    kind = known.get("type") if isinstance(known, dict) else None
    if not isinstance(kind, str) or kind not in _ASKED:
        raise Refused(422, "invalid", f"type: it is one of {', '.join(_ASKED)}")
    return known, _ASKED[kind].validate_python(known)


def _not_valid(error: ValidationError) -> Refused:
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "the message"
    return Refused(422, "invalid", f"{field}: {first['msg'][:1].lower()}{first['msg'][1:]}")


def _text(wired: Wired) -> str:
    return json.dumps(wired, ensure_ascii=False, separators=(",", ":"))
