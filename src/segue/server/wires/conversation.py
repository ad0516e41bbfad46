"""Conversations of wires: which session a foreign request means, how its message is admitted, how it waits.

Invariants
  - the session and the owner come from headers, paths and ids of the client, never from a model
  - a closed connection does not stop a turn, unless the request says so
"""

import asyncio
import string
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from hashlib import sha256
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote, unquote

from fastapi import Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sse_starlette import ServerSentEvent
from starlette.exceptions import HTTPException
from starlette.types import Message

from segue.errors import BadText, NotFound, SegueError
from segue.kernel.kernel import Kernel
from segue.kernel.transactions import idempotency
from segue.kernel.transactions.lane import QueuedTurn
from segue.model.records import Session
from segue.model.text_checks import MAX_NAME, check_key, check_text
from segue.record import record
from segue.server.error_responses import Refused, log_failure, problem_of
from segue.server.event_stream import SEPARATOR, EventStream
from segue.server.json_text import json_text
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute, IdempotencyKey
from segue.server.routes.turns import LONGEST_WAIT
from segue.server.schemas.common import Problem
from segue.server.wires.content import GivenContent
from segue.server.wires.turn_steps import TurnOver, TurnStep, steps_of

SESSION_HEADER = "X-Segue-Session"
_CHANNEL = "websocket"
_IN_HEADERS = string.punctuation.replace("%", "")

SessionName: TypeAlias = Annotated[
    str | None,
    Header(alias=SESSION_HEADER, max_length=200, description="The session's key. Default: a new session."),
]
OnDisconnect: TypeAlias = Annotated[
    Literal["continue", "stop"],
    Header(
        alias="X-Segue-On-Disconnect",
        description="What happens to the turn when the client closes the connection.",
    ),
]


@record
class Exchange:
    """A message that was admitted: the session's key and the turn that answers."""

    key: str
    turn: QueuedTurn

    @property
    def headers(self) -> dict[str, str]:
        return session_header(self.key)


def wire_route(respond: Callable[[Problem], Response]) -> type[AuthenticatedRoute]:
    """The route class of a wire: authenticates as every route does, and answers errors in its own shape."""

    class WireRoute(AuthenticatedRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def answer(request: Request) -> Response:
                try:
                    return await handle(request)
                except (SegueError, HTTPException, RequestValidationError) as error:
                    problem = problem_of(error)
                    log_failure(request, problem, error)
                    response = respond(problem)
                    response.headers.update(getattr(error, "headers", None) or {})
                    return response

            return answer

    return WireRoute


def session_header(key: str) -> dict[str, str]:
    """The header that names a session. Characters that a header cannot have are percent-encoded."""
    return {SESSION_HEADER: quote(key, safe=_IN_HEADERS)}


def key_in_header(value: str) -> str:
    """The session key of a header: the inverse of `session_header`. Raises `BadKey`."""
    return key_named(unquote(value))


def key_named(name: str) -> str:
    """The session key that a foreign id names: a key as it is, any other id as a chat of the page's channel.

    Raises `BadKey`.
    """
    return check_key(name if ":" in name else f"{_CHANNEL}:{name}")


def name_of(key: str) -> str:
    """The foreign id of a session: the inverse of `key_named`."""
    channel, _, chat = key.partition(":")
    return chat if channel == _CHANNEL and ":" not in chat else key


def last_user_message(messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The last message of the user: the history is the session's. Raises Refused."""
    for message in messages[::-1]:
        if message.get("role") == "user":
            return message
    raise Refused(422, "invalid", "messages: give at least one message of the role user")


def new_key(kernel: Kernel, once: idempotency.Request | None = None) -> str:
    """The key of a new session. A repeated request gets the same one, and so finds the files of the first."""
    if once is None:
        return f"{_CHANNEL}:{kernel.ids(kernel.clock.ms())}"
    return f"{_CHANNEL}:{sha256(f'{once.name} {once.digest}'.encode()).hexdigest()[:32]}"


async def admit(
    request: AuthenticatedRequest,
    key: str | None,
    content: GivenContent,
    idempotency_key: IdempotencyKey = None,
    *,
    when_busy: str | None = None,
) -> Exchange:
    """Admit a message to the session of a key; None makes a new session. Its files are stored first.

    Raises what `files.add` and `receive` raise.
    """
    kernel = request.kernel
    once = await request.idempotency(idempotency_key)
    key = new_key(kernel, once) if key is None else key
    await request.may_open(key)
    parts = [
        await kernel.files.add(
            key,
            file.name,
            file.data,
            owner=request.owner,
            request=once and replace(once, name=f"{once.name} file {number}"),
        )
        for number, file in enumerate(content.files)
    ]
    turn = await kernel.receive(
        key, content.text, parts=parts, owner=request.owner, when_busy=when_busy, request=once
    )
    if once is not None:  # a repeat may have found the session of the first request
        key = (await kernel.turns.load(turn.turn_id, owner=request.owner)).chat.key
    return Exchange(key=key, turn=turn)


async def result_of(
    request: AuthenticatedRequest, exchange: Exchange, on_disconnect: str
) -> tuple[list[TurnStep], TurnOver]:
    """All steps of a turn, and the last of them. Raises Refused (504) if the turn takes too long."""
    steps: list[TurnStep] = []
    failure: SegueError | None = None
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(_stop_when_gone(request, exchange, on_disconnect))
        try:
            async with (
                request.app_state.waiting(LONGEST_WAIT),
                aclosing(steps_of(request.kernel, exchange.turn)) as following,
            ):
                steps = [step async for step in following]
        except TimeoutError:
            pass
        except SegueError as error:  # raised below: a task group would wrap it
            failure = error
        finally:
            watching.cancel()
    if failure is not None:
        raise failure
    if not steps or not isinstance(steps[-1], TurnOver):
        raise Refused(
            504,
            "still_running",
            f"the turn has not ended; it goes on, and its answer will be in the session {exchange.key}",
            headers=exchange.headers,
        )
    return steps, steps[-1]


async def _stop_when_gone(request: AuthenticatedRequest, exchange: Exchange, on_disconnect: str) -> None:
    if on_disconnect == "stop":
        while (await request.receive())["type"] != "http.disconnect":
            pass
        await request.kernel.turns.stop_turn(exchange.turn.turn_id, owner=request.owner)


def stream(
    request: AuthenticatedRequest,
    exchange: Exchange,
    frames: AsyncIterator[ServerSentEvent],
    on_disconnect: str = "continue",
    *,
    failure: Callable[[Problem], ServerSentEvent],
    headers: Mapping[str, str] | None = None,
) -> EventStream:
    """Stream the frames of a turn. An error after the start is sent as the wire's own frame."""

    async def guarded() -> AsyncIterator[ServerSentEvent]:
        with request.app_state.metrics.clients.labels("sse").track_inprogress():
            try:
                async for frame in frames:
                    yield frame
            except SegueError as error:  # the session was deleted, or the database is not available
                yield failure(problem_of(error))

    async def stop(_: Message) -> None:
        await request.kernel.turns.stop_turn(exchange.turn.turn_id, owner=request.owner)

    return EventStream(
        guarded(),
        headers={**exchange.headers, **(headers or {})},
        on_disconnect=stop if on_disconnect == "stop" else None,
    )


def sse(data: object, event: str | None = None, id: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(json_text(data), event=event, id=id, sep=SEPARATOR)


DONE = ServerSentEvent("[DONE]", sep=SEPARATOR)
"""The last frame of some streams. It is not JSON."""


def check_id(id: str, what: str) -> str:
    """Returns an id that may exist. Raises `NotFound` for a text that no database stores."""
    try:
        return check_text(id, "an id", longest=MAX_NAME)
    except BadText:
        raise NotFound(f"there is no such {what}") from None


async def find_session(request: AuthenticatedRequest, name: str) -> Session:
    """The session of a foreign id. Raises `NotFound`, also for an id that cannot be one."""
    try:
        key = key_named(name)
    except SegueError:
        raise NotFound(f"there is no session {name}") from None
    return await request.kernel.sessions.get(key, owner=request.owner)
