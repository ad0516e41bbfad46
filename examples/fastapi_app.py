"""Segue in a FastAPI application, with the application's own login: `uvicorn examples.fastapi_app:app`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.requests import HTTPConnection

from segue import At, Kernel, OpenTurn, Owner, Say
from segue.server import Caller, mount

ANNA, BEN = Owner("shop", "anna"), Owner("shop", "ben")
LOGINS = {"token-of-anna": ANNA, "token-of-ben": BEN}


async def agent(turn: OpenTurn) -> str:  # call a model here
    return f"You said: {turn.text}"


async def caller(connection: HTTPConnection) -> Caller | None:
    user = LOGINS.get(connection.cookies.get("login", ""))
    return Caller(user) if user else None


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    await kernel.sessions.open("web:news", owner=ANNA, title="News")  # the kernel is open here
    yield


kernel = Kernel(os.environ.get("DATABASE_URL", "sqlite:///agent.db"), agent=agent)
app = FastAPI(lifespan=lifespan)
mount(app, kernel, caller=caller, allowed_origins=["http://localhost:5173"])


@app.post("/orders/{number}/ship")
async def ship(number: int) -> dict[str, str]:
    text = Say(f"Order {number} is on its way.")
    return {"job": (await kernel.schedule("web:news", At("in 1 second"), text, owner=ANNA)).id}
