"""Cells: each account lives in one of two databases. Run it: `CELLS="URL URL" uvicorn examples.cells:app`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.types import Receive, Scope, Send

from segue import Kernel, OpenTurn, Owner
from segue.server import Caller, create_app

PLACED = {"acme": 0, "globex": 1}  # keep it with your accounts; a new one goes to the newest cell
LOGINS = {"token-of-anna": Owner("acme", "anna"), "token-of-hank": Owner("globex", "hank")}


async def agent(turn: OpenTurn) -> str:  # call a model here
    return f"You said: {turn.text}"


async def caller(connection: HTTPConnection) -> Caller | None:
    return Caller(user) if (user := LOGINS.get(connection.cookies.get("login", ""))) else None


async def route(scope: Scope, receive: Receive, send: Send) -> None:
    who = await caller(HTTPConnection(scope))
    await cells[PLACED[who.owner.account] if who else 0](scope, receive, send)  # a cell refuses strangers


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    first, second = cells
    async with first.router.lifespan_context(first), second.router.lifespan_context(second):
        yield


cells = [create_app(Kernel(url, agent=agent), caller=caller) for url in os.environ["CELLS"].split()]
app = Starlette(lifespan=lifespan)
app.mount("/", route)
