"""MCP servers as further tools: a real one of ours, as a program and over HTTP."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.agent import ToolCalled
from segue.errors import BadSetting
from segue.testing import ManualClock
from segue.tools.mcp import McpTools, Server
from segue.tools.registry import Registry, ToolContext

HERE = Path(__file__).parent


def desk() -> Server:
    program = str(HERE / "stdio_server.py")
    return Server(name="desk", command=sys.executable, args=[program], env={"GIVEN": "yes"})


async def call(context: ToolContext, registry: Registry, name: str, **arguments: object) -> ToolCalled:
    box = await registry.open(context)
    return await box.prepare("c-1", name, arguments).run()


async def test_a_programs_tools_are_offered_and_called(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    registry = Registry(suppliers=[McpTools(desk())])
    box = await registry.open(context)
    assert set(box.tools) == {"desk_add", "desk_surroundings", "desk_leave"}
    assert box.tools["desk_add"].description == "Add two numbers."
    added = await call(context, registry, "desk_add", first=2, second=3)
    assert (added.result, added.error) == ("5", None)
    assert "<outside" in box.marked(added)
    # A server is given what its settings name, not the keys of this house.
    assert (await call(context, registry, "desk_surroundings")).result == "GIVEN"


async def test_a_server_that_dies_in_a_call_is_a_sentence(context: ToolContext) -> None:
    left = await call(context, Registry(suppliers=[McpTools(desk())]), "desk_leave")
    assert left.error is not None
    assert left.error.startswith("the MCP server desk could not do it")


async def test_a_server_that_cannot_be_started_leaves_the_other_tools(
    context: ToolContext, caplog: pytest.LogCaptureFixture
) -> None:
    server = McpTools(Server(name="gone", command="/nowhere/at-all"))
    box = await Registry(suppliers=[server]).open(context)
    assert box.tools == {}
    assert "the MCP server gone did not say what it offers" in caplog.text


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a server of ours listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    program = [sys.executable, str(HERE / "http_server.py"), str(port)]
    with subprocess.Popen(program, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        while b"running on" not in process.stderr.readline():
            assert process.poll() is None
        yield f"http://127.0.0.1:{port}/mcp"
        process.kill()


async def test_a_server_is_called_over_http(context: ToolContext, address: str) -> None:
    registry = Registry(suppliers=[McpTools(Server(name="far", url=address, headers={"X-Key": "1"}))])
    assert (await call(context, registry, "far_add", first=2, second=3)).result == "5"


async def test_what_goes_wrong_at_a_server_is_a_sentence(context: ToolContext, address: str) -> None:
    registry = Registry(suppliers=[McpTools(Server(name="far", url=address))])
    assert "the desk is locked" in str((await call(context, registry, "far_fail")).error)
    assert (await call(context, registry, "far_add", first="two")).error is not None


async def test_what_a_server_offers_is_remembered_for_a_while(context: ToolContext, address: str) -> None:
    clock = context.kernel.clock
    assert isinstance(clock, ManualClock)
    server = McpTools(Server(name="far", url=address))
    first = await server.tools(context)
    assert await server.tools(context) is first
    clock.advance(minutes=6)
    assert await server.tools(context) is not first


@pytest.mark.parametrize("wrong", [{}, {"command": "x", "url": "http://x"}])
def test_a_server_is_a_program_or_an_address(wrong: dict[str, str]) -> None:
    with pytest.raises(BadSetting, match="needs a command or a url"):
        Server(name="desk", **wrong)  # type: ignore[arg-type]


def test_the_name_of_a_server_fits_before_a_tools_name() -> None:
    with pytest.raises(BadSetting, match="letters, digits"):
        Server(name="my desk", command="x")
