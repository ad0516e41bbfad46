"""MCP tools, with a real server on standard streams and over HTTP."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from segue.agents.tools.mcp import McpTools
from segue.agents.tools.mcp_connection import McpEndpoint
from segue.agents.tools.registry import Registry, ToolContext
from segue.errors import BadSetting
from segue.model.agent import ToolCalled
from segue.testing import ManualClock

HERE = Path(__file__).parent


def desk() -> McpEndpoint:
    program = str(HERE / "stdio_server.py")
    return McpEndpoint(name="desk", command=sys.executable, args=[program], env={"GIVEN": "yes"})


@asynccontextmanager
async def offering(*servers: McpEndpoint) -> AsyncIterator[Registry]:
    async with Registry(suppliers=[McpTools(server) for server in servers]) as registry:
        yield registry


async def call(context: ToolContext, registry: Registry, name: str, **arguments: object) -> ToolCalled:
    box = await registry.open(context)
    return await box.prepare("c-1", name, arguments).run()


async def test_a_programs_tools_are_offered_and_called(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    async with offering(desk()) as registry:
        box = await registry.open(context)
        assert set(box.tools) == {"desk_add", "desk_surroundings", "desk_count", "desk_leave"}
        assert box.tools["desk_add"].description == "Add two numbers."
        added = await call(context, registry, "desk_add", first=2, second=3)
        assert (added.result, added.error) == ("5", None)
        assert "<outside" in box.marked(added)
        # A server gets the variables that its settings name, not the keys of this process.
        assert (await call(context, registry, "desk_surroundings")).result == "GIVEN"


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_calls_share_a_connection_that_is_closed_at_the_end(context: ToolContext) -> None:
    """Issue 3: one program for all calls, also for those that are made side by side."""
    async with offering(desk()) as registry:
        told = await asyncio.gather(*(call(context, registry, "desk_count") for _ in range(5)))
        counted = sorted(str(each.result).split() for each in told)
        pid = counted[0][1]
        assert counted == [[str(number), pid] for number in range(1, 6)]
        assert is_running(int(pid))
    assert not is_running(int(pid))


async def test_a_server_that_dies_in_a_call_is_a_sentence_and_comes_back_with_the_next(
    context: ToolContext,
) -> None:
    async with offering(desk()) as registry:
        left = await call(context, registry, "desk_leave")
        assert left.error is not None
        assert left.error.startswith("the MCP server desk could not do it")
        assert (await call(context, registry, "desk_add", first=2, second=3)).result == "5"


async def test_a_server_that_died_between_two_calls_is_not_noticed(context: ToolContext) -> None:
    async with offering(desk()) as registry:
        first = str((await call(context, registry, "desk_count")).result).split()
        os.kill(int(first[1]), signal.SIGKILL)
        count, pid = str((await call(context, registry, "desk_count")).result).split()
        assert (count, pid != first[1]) == ("1", True)


async def test_a_cancelled_call_does_not_close_the_connection_for_others(context: ToolContext) -> None:
    async with offering(desk()) as registry:
        async with asyncio.TaskGroup() as both:
            hasty = both.create_task(call(context, registry, "desk_count"))
            patient = both.create_task(call(context, registry, "desk_count"))
            await asyncio.sleep(0)
            hasty.cancel()
        assert patient.result().error is None


async def test_tools_used_outside_async_with_are_reported(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await Registry(suppliers=[McpTools(desk())]).open(context)).tools == {}
    assert "outside of `async with`" in caplog.text


async def test_a_server_that_cannot_be_started_leaves_the_other_tools(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    async with offering(McpEndpoint(name="gone", command="/nowhere/at-all")) as registry:
        assert (await registry.open(context)).tools == {}
    assert "MCP tools not listed by server gone" in caplog.text


@contextmanager
def listening() -> Iterator[str]:
    """Start the HTTP server; yield its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [sys.executable, str(HERE / "http_server.py"), str(port)]
    with subprocess.Popen(program, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while b"running on" not in process.stderr.readline():
            assert process.poll() is None
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with listening() as url:
        yield url


async def test_a_server_is_called_over_http(context: ToolContext, address: str) -> None:
    async with offering(McpEndpoint(name="far", url=address, headers={"X-Key": "1"})) as registry:
        assert (await call(context, registry, "far_add", first=2, second=3)).result == "5"


async def test_an_error_of_a_server_is_a_sentence(context: ToolContext, address: str) -> None:
    async with offering(McpEndpoint(name="far", url=address)) as registry:
        assert "the desk is locked" in str((await call(context, registry, "far_fail")).error)
        assert (await call(context, registry, "far_add", first="two")).error is not None


async def test_an_http_server_that_dies_in_a_call_is_a_sentence_too(context: ToolContext) -> None:
    with listening() as url:
        async with offering(McpEndpoint(name="far", url=url)) as registry:
            left = await call(context, registry, "far_leave")
            assert str(left.error).startswith("the MCP server far could not do it")
            gone = await call(context, registry, "far_add", first=2, second=3)
            assert str(gone.error).startswith("the MCP server far could not do it")


async def test_the_list_of_tools_is_cached(context: ToolContext, address: str) -> None:
    clock = context.kernel.clock
    assert isinstance(clock, ManualClock)
    async with McpTools(McpEndpoint(name="far", url=address)) as server:
        first = await server.tools(context)
        assert await server.tools(context) is first
        clock.advance(minutes=6)
        assert await server.tools(context) is not first


@pytest.mark.parametrize("wrong", [{}, {"command": "x", "url": "http://x"}])
def test_a_server_is_a_program_or_an_address(wrong: dict[str, str]) -> None:
    with pytest.raises(BadSetting, match="needs a command or a url"):
        McpEndpoint(name="desk", **wrong)  # type: ignore[arg-type]


def test_the_name_of_a_server_fits_before_a_tools_name() -> None:
    with pytest.raises(BadSetting, match="letters, digits"):
        McpEndpoint(name="my desk", command="x")
