"""`segue mcp`: the official client starts it as a process, and its standard output is the protocol alone."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from segue import Kernel
from segue.testing import ScriptedAgent
from tests.cli.process import Segue
from tests.docs.pages import ROOT, blocks
from tests.eventually import eventually
from tests.wires.mcp_clients import REVISIONS, SECONDS, Mode, call, connected, refused, resource

INITIALIZE = (
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
    '"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n'
    '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)
LIST = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'


@pytest.fixture
def segue(tmp_path: Path) -> Segue:
    return Segue(tmp_path)


@asynccontextmanager
async def started(segue: Segue, *arguments: str, mode: Mode = "auto") -> AsyncIterator[Client]:
    command = segue.command("mcp", *arguments)
    program = StdioServerParameters(
        command=sys.executable, args=command[1:], env=segue.environment(), cwd=segue.folder
    )
    async with Client(program, mode=mode, read_timeout_seconds=SECONDS) as client:
        yield client


@pytest.mark.parametrize("mode", REVISIONS)
async def test_a_reminder_arrives_while_the_client_is_open(
    segue: Segue, database_url: str, mode: Mode
) -> None:
    options = "--session", "mcp:work", "--database", database_url
    async with started(segue, *options, mode=mode) as client:
        assert client.session.protocol_version == REVISIONS[mode]
        await call(client, "schedule_private_message", send_at="in 1 second", message_text="Stand up")

        async def arrived() -> bool:
            return "assistant: Stand up" in await call(client, "read_messages")

        await eventually(arrived, "the message was sent", every=0.2)
        assert "Stand up" in await resource(client, "segue://sessions/mcp:work/messages")
        assert "Hello" in await call(client, "send_turn", text="hello")


async def test_another_process_runs_what_the_client_has_scheduled(segue: Segue, database_url: str) -> None:
    async with started(segue, "--session", "mcp:work", "--database", database_url) as client:
        await call(client, "cron", action="add", message="Check the build", at="in 5 seconds")
    agent = ScriptedAgent()
    agent.script("The build is green.")
    async with Kernel(database_url, agent=agent) as kernel, asyncio.TaskGroup() as tasks:
        workers = tasks.create_task(kernel.run())

        async def ran() -> bool:
            return "The build is green." in [each.content for each in await kernel.messages("mcp:work")]

        await eventually(ran, "the job has run in this process", every=0.1)
        workers.cancel()
        assert not await kernel.audit()


async def test_a_server_and_a_client_on_one_machine_share_the_conversation(segue: Segue) -> None:
    async with (
        segue.serving() as served,
        started(segue, "--session", "mcp:work") as local,
        connected(str(served.client.base_url).rstrip("/"), "mcp:work") as remote,
    ):
        await call(local, "cron", action="add", message="Report", every_seconds=3600)
        assert "Report" in await call(remote, "cron", action="list")
        await call(remote, "send_turn", text="hello")
        assert "user: hello" in await call(local, "read_messages")


async def test_the_zone_of_the_machine_is_the_zone_of_a_new_session(segue: Segue) -> None:
    segue.env |= {"SEGUE_TIMEZONE": "", "TZ": "Asia/Tokyo"}
    async with started(segue, "--session", "mcp:work") as client:
        added = await call(client, "cron", action="add", message="Report", cron_expr="0 9 * * *")
    assert "Asia/Tokyo" in added


async def test_the_configuration_in_the_guide_starts_it(segue: Segue) -> None:
    guide = ROOT / "docs" / "guides" / "mcp.md"
    first = next(block for block in blocks(guide) if block.language == "json")
    configured = json.loads(first.text)["mcpServers"]["segue"]
    program = StdioServerParameters(
        command=str(Path(sys.executable).with_name(configured["command"])),
        args=configured["args"],
        env=segue.environment(),
        cwd=segue.folder,
    )
    async with Client(program, read_timeout_seconds=SECONDS) as client:
        assert "Added" in await call(client, "cron", action="add", message="Report", every_seconds=3600)


async def test_without_a_session_a_tool_says_how_to_bind_one(segue: Segue) -> None:
    async with started(segue) as client:
        assert "segue mcp --session KEY" in await refused(client, "cron", action="list")


async def test_with_a_user_other_users_sessions_are_not_found(segue: Segue, database_url: str) -> None:
    async with Kernel(database_url, agent=ScriptedAgent()) as kernel:
        await kernel.log.write_all("mcp:work", [("user", "the default user's")])
    options = "--session", "mcp:work", "--database", database_url
    async with started(segue, *options, "--user", "ada") as ada, started(segue, *options) as operator:
        assert "does not exist yet" in await refused(ada, "read_messages")
        assert (await ada.list_resources()).resources == []
        assert "the default user's" in await call(operator, "read_messages")


@asynccontextmanager
async def by_hand(segue: Segue) -> AsyncIterator[asyncio.subprocess.Process]:
    """The process itself; it is killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        *segue.command("mcp", "--session", "mcp:work"),
        cwd=segue.folder,
        env=segue.environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(SECONDS):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def answer(process: asyncio.subprocess.Process, request: str) -> Any:
    """Send lines, and return the next line that the process writes."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request.encode())
    return json.loads(await process.stdout.readline())


async def test_only_the_protocol_is_written_and_it_ends_with_its_input(segue: Segue) -> None:
    segue.env["SEGUE_UNKNOWN_SETTING"] = "1"  # a warning
    async with by_hand(segue) as process:
        assert (await answer(process, INITIALIZE))["id"] == 1
        assert (await answer(process, f"no JSON\n{LIST}"))["result"]["tools"]
        out, err = await process.communicate(b"")
    assert (process.returncode, out) == (0, b"")
    assert b"SEGUE_UNKNOWN_SETTING" in err
    assert b"Traceback" not in err


async def test_a_signal_ends_it_while_the_client_is_connected(segue: Segue) -> None:
    async with by_hand(segue) as process:
        assert (await answer(process, INITIALIZE))["id"] == 1
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
        assert process.stderr is not None
        assert b"Traceback" not in await process.stderr.read()


async def test_a_key_that_is_none_is_wrong_use(segue: Segue) -> None:
    ended = await segue.process("mcp", "--session", "nonsense")
    assert (ended.code, ended.out) == (2, "")
    assert "channel:chat_id" in ended.err
