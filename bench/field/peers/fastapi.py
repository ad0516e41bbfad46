# /// script
# dependencies = ["fastapi==0.162.7", "uvicorn[standard]==0.54.0"]
#
# [tool.field]
# title = "Bare FastAPI"
# packages = ["fastapi", "uvicorn"]
# stores = ["none"]
# documentation = "https://fastapi.tiangolo.com/advanced/custom-response/"
# only = ["streaming"]
# ///
"""A bare FastAPI stream: the same words in the same frames, and nothing is stored."""

import json
from collections.abc import AsyncIterator

import uvloop
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from bench.field.http_server import listening
from bench.field.program import Program, serve, tokens


class BareFastAPI(Program):
    async def listen(self) -> int:
        app = FastAPI()
        app.post("/v1/chat/completions")(_answer)
        return await listening(app)


async def _answer() -> StreamingResponse:
    return StreamingResponse(_frames(), media_type="text/event-stream")


async def _frames() -> AsyncIterator[str]:
    async for word in tokens():
        chunk = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": word}}]}
        yield f"data: {json.dumps(chunk)}\n\n"
    yield "data: [DONE]\n\n"


if __name__ == "__main__":
    serve(BareFastAPI(), uvloop.new_event_loop)
