"""An application with a mounted kernel, as a user writes it: made at module level, run by uvicorn.

The header `X-User` names the caller. An agent's first attempt at `wait` does not end.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.requests import HTTPConnection

from segue import Delta, Kernel, OpenTurn, Owner, Settings
from segue.server import Caller, mount

FRONT_END = "http://localhost:5173"


class Patient:
    reports_tools = True

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        if turn.text == "wait" and turn.attempt == 1:
            await asyncio.Event().wait()
        yield f"attempt {turn.attempt} in process {os.getpid()}"


async def caller(connection: HTTPConnection) -> Caller | None:
    name = connection.headers.get("x-user")
    return Caller(Owner("acme", name)) if name else None


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    assert kernel.is_open
    yield


kernel = Kernel(os.environ["SEGUE_TEST_DATABASE"], agent=Patient(), settings=Settings(lease_seconds=0.9))
app = FastAPI(lifespan=lifespan)
mount(app, kernel, caller=caller, allowed_origins=[FRONT_END])
