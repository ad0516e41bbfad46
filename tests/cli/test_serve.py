"""`segue serve` as a real process: start, stop and kill."""

import asyncio
import json
import signal
import socket
from pathlib import Path

import httpx2

from segue import Kernel, Outcome, Turn, TurnState
from segue.testing.scripted_provider import Fails, ScriptedProvider
from tests.cli.conftest import KEY_OF_THE_PROVIDER
from tests.cli.gate import Gate
from tests.cli.process import Segue, Serving
from tests.cli.test_configuration import KUBERNETES
from tests.eventually import eventually

_TIMEOUT_SECONDS = 60


async def say(server: Serving, text: str) -> str:
    answer = await server.client.post("/sessions/web:1/turns", json={"content": text})
    assert answer.status_code == 202, answer.text
    turn_id: str = answer.json()["turn_id"]
    return turn_id


async def start_turn_at_gate(server: Serving, gate: Gate, script: str) -> str:
    """Start a turn and wait until its agent is at the gate. Returns the turn's id."""
    turn_id = await say(server, script)
    await gate.wait_for_agent()
    return turn_id


async def stored_turn(segue: Segue, turn_id: str) -> Turn:
    """The turn as stored, read without workers."""
    async with Kernel(segue.database, agent=_no_agent) as kernel:
        assert not await kernel.audit()
        return await kernel.turns.get(turn_id)


async def wait_for_turn(segue: Segue, turn_id: str) -> Turn:
    """The turn after its end in another process."""
    async with Kernel(segue.database, agent=_no_agent) as kernel, asyncio.timeout(_TIMEOUT_SECONDS):
        return await kernel.wait(turn_id)


async def _no_agent(turn: object) -> str:
    raise AssertionError("this process must run no turn")


async def test_it_serves_the_offline_model_until_a_stop_signal(segue: Segue) -> None:
    segue.forked = False
    async with segue.serving() as server:
        answer = await server.client.post("/sessions/web:1/turns?wait=30", json={"content": "hello"})
        assert "offline" in answer.json()["reply"]
        server.process.tell(signal.SIGTERM)
        assert await server.process.end() == 0
        lines = [json.loads(line) for line in server.process.log.splitlines()]
        assert {"stopped"} <= {line["message"] for line in lines}
    assert (segue.data / "segue.db").exists()


async def test_a_running_turn_ends_before_the_server(segue: Segue, gate: Gate) -> None:
    async with segue.serving() as server:
        turn_id = await start_turn_at_gate(server, gate, "Half|<wait>| and whole.")
        server.process.tell(signal.SIGTERM)
        await server.process.logged("stopping: no new turns start, 1 turns are running")
        late = await say(server, "Too late?")
        gate.open()
        assert await server.process.end() == 0
    done = await stored_turn(segue, turn_id)
    assert (done.outcome, done.reply, done.attempt) == (Outcome.OK, "Half and whole.", 1)
    assert (await stored_turn(segue, late)).state is TurnState.QUEUED, "kept for the next worker"


async def test_a_turn_longer_than_the_grace_period_is_queued_again(segue: Segue, gate: Gate) -> None:
    segue.env["SEGUE_SHUTDOWN_GRACE_SECONDS"] = "0.1"
    async with segue.serving() as server:
        turn_id = await start_turn_at_gate(server, gate, "Half|<wait>| and whole.")
        server.process.tell(signal.SIGTERM)
        assert await server.process.end() == 0
    assert (await stored_turn(segue, turn_id)).state is TurnState.QUEUED
    gate.open()
    async with segue.serving():
        again = await wait_for_turn(segue, turn_id)
    assert (again.outcome, again.reply, again.attempt) == (Outcome.OK, "Half and whole.", 2)


async def test_callers_that_wait_get_the_id_of_their_turn_when_the_server_stops(
    segue: Segue, gate: Gate
) -> None:
    """Some turns run and hang, others are queued: all of their callers get 202."""
    callers = 50
    segue.env["SEGUE_SHUTDOWN_GRACE_SECONDS"] = "0.1"
    async with segue.serving() as server, asyncio.TaskGroup() as group:

        async def call(number: int) -> httpx2.Response:
            path = f"/sessions/web:{number}/turns?wait=600"
            return await server.client.post(path, json={"content": f"{number}|<wait>"})

        calls = [group.create_task(call(number)) for number in range(callers)]
        await sessions_stored(segue, callers)
        await gate.wait_for_agent()
        server.process.tell(signal.SIGTERM)
        answers = [await call for call in calls]
        assert await server.process.end() == 0
    assert [answer.status_code for answer in answers] == [202] * callers
    assert {answer.json()["state"] for answer in answers} == {"queued"}
    turns = [await stored_turn(segue, answer.json()["turn_id"]) for answer in answers]
    assert {turn.content.partition("|")[0] for turn in turns} == {str(number) for number in range(callers)}
    assert {turn.state for turn in turns} == {TurnState.QUEUED}


async def sessions_stored(segue: Segue, number: int) -> None:
    """Wait until the server has stored the messages of that many sessions."""
    async with Kernel(segue.database, agent=_no_agent) as kernel:

        async def are_stored() -> bool:
            return len(await kernel.sessions.list()) >= number

        await eventually(are_stored, f"{number} sessions")


async def test_a_second_signal_stops_without_waiting(segue: Segue, gate: Gate) -> None:
    segue.env["SEGUE_SHUTDOWN_GRACE_SECONDS"] = "100000"
    async with segue.serving() as server:
        turn_id = await start_turn_at_gate(server, gate, "Half|<wait>| and whole.")
        server.process.tell(signal.SIGINT)
        await server.process.logged("stopping")
        server.process.tell(signal.SIGINT)
        assert await server.process.end() == 0
    assert (await stored_turn(segue, turn_id)).state is TurnState.QUEUED


async def test_a_killed_server_loses_nothing(segue: Segue, gate: Gate) -> None:
    segue.env["SEGUE_LEASE_SECONDS"] = "5"
    async with segue.serving() as server:
        first = await start_turn_at_gate(server, gate, "Half|<wait>| and whole.")
        second = await say(server, "And then?")
        server.process.tell(signal.SIGKILL)
        assert await server.process.end() == -signal.SIGKILL
    gate.open()
    async with segue.serving():
        again, then = await wait_for_turn(segue, first), await wait_for_turn(segue, second)
    assert (again.outcome, again.reply, again.attempt) == (Outcome.OK, "Half and whole.", 2)
    assert (then.outcome, then.reply, then.attempt) == (Outcome.OK, "And then?", 1)
    assert not (await segue("doctor")).code


async def test_a_command_reaches_a_turn_of_the_running_server(segue: Segue, gate: Gate) -> None:
    async with segue.serving() as server:
        turn_id = await start_turn_at_gate(server, gate, "Half|<wait>| and whole.")
        stopped = await segue("sessions", "stop", "web:1", "--json")
        assert json.loads(stopped.out) == {"stopped": True, "turn_id": turn_id}
        turn = await wait_for_turn(segue, turn_id)
    assert (turn.outcome, turn.reply) == (Outcome.STOPPED, "Half")


async def test_a_taken_port_is_reported_in_a_sentence(segue: Segue) -> None:
    segue.forked = False
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = await segue.process("serve", "--port", str(port))
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f"Error: cannot listen on 127.0.0.1:{port}: address already in use; choose another --port\n"
    )
    assert not segue.data.exists()


async def test_it_starts_beside_a_kubernetes_service_of_its_name(segue: Segue) -> None:
    segue.env |= KUBERNETES | {"SEGUE_RUNERS": "3"}
    async with segue.serving() as server:
        assert (await server.client.get("/health")).status_code == 200
        server.process.tell(signal.SIGTERM)
        assert await server.process.end() == 0
        lines = [json.loads(line) for line in server.process.log.splitlines()]
    warned = [line["message"] for line in lines if line["level"] == "warning"]
    assert warned == [
        "the environment sets SEGUE_RUNERS, which is no setting and is not used; did you mean SEGUE_RUNNERS?"
    ]


async def test_no_secret_is_in_its_output(segue: Segue, provider: ScriptedProvider) -> None:
    keys = segue.folder / "keys.json"
    keys.write_text('[{"key": "open-sesame-open-1", "account": "acme", "user": "ann"}]')
    segue.env["SEGUE_API_KEYS"] = "@keys.json"
    provider.script(Fails(401, {"error": {"message": f"{KEY_OF_THE_PROVIDER} is not a key", "type": "x"}}))
    async with segue.serving() as server:
        for key in ("open-sesame-open-1", "open-sesame-open-2"):
            headers = {"Authorization": f"Bearer {key}"}
            await server.client.post("/sessions/web:1/turns?wait=30", json={"content": "Hi"}, headers=headers)
        server.process.tell(signal.SIGTERM)
        assert await server.process.end() == 0
        written = server.process.log
    assert "POST" in written
    for secret in ("open-sesame", KEY_OF_THE_PROVIDER):
        assert secret not in written
        assert secret not in everything_in(segue.data)


def everything_in(folder: Path) -> str:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return "".join(file.read_bytes().decode("utf-8", "replace") for file in files)
