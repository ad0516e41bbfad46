"""`segue recalls`, without a running server, and beside one."""

import asyncio
import json
from datetime import datetime, timedelta

import pytest

from segue.config import Configuration
from segue.model.policy import Busy
from tests.cli.gate import Gate
from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")

CHECK = "Read build.log with read_file and report errors."


async def begin(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Watch the build.")


async def test_a_recall_is_set_shown_listed_and_cancelled(segue: Segue) -> None:
    await begin(segue)
    made = await segue("recalls", "set", "web:1", CHECK, "--when", "30m", "--comment", "the build", "--json")
    recall = json.loads(made.out)
    assert (made.code, recall["call_type"], recall["status"]) == (0, "once", "pending")
    shown = await segue("recalls", "show", "web:1")
    assert CHECK in shown.out
    assert json.loads((await segue("recalls", "show", "web:1", "--json")).out) == recall
    assert "the build" in (await segue("recalls", "list", "web:1")).out
    cancelled = await segue("recalls", "cancel", "web:1")
    assert (cancelled.code, cancelled.out) == (0, "The recall of web:1 was cancelled.\n")
    listed = json.loads((await segue("recalls", "list", "web:1", "--json")).out)["recalls"]
    assert [(one["id"], one["status"]) for one in listed] == [(recall["id"], "cancelled")]


async def test_the_type_follows_from_the_options(segue: Segue) -> None:
    for flags, expected in (
        ([], "immediate"),
        (["--when", "1h"], "once"),
        (["--when", "1h", "--interval-seconds", "300"], "recurring"),
    ):
        await begin(segue)
        made = await segue("recalls", "set", "web:1", CHECK, *flags, "--json")
        assert json.loads(made.out)["call_type"] == expected
        await segue("recalls", "cancel", "web:1")


async def test_a_clock_time_takes_the_offset_or_the_zone_of_the_settings(segue: Segue) -> None:
    await begin(segue)
    at = ("recalls", "set", "web:1", CHECK, "--when", "2030-01-02 09:00", "--json")
    berlin = json.loads((await segue(*at)).out)["trigger_at"]
    await segue("recalls", "cancel", "web:1")
    given = json.loads((await segue(*at, "--timezone-offset", "-05:00")).out)["trigger_at"]
    assert (berlin, given) == ("2030-01-02T08:00:00.000+00:00", "2030-01-02T14:00:00.000+00:00")


async def test_a_recurring_recall_is_skipped(segue: Segue) -> None:
    await begin(segue)
    flags = ("--when", "1h", "--interval-seconds", "300", "--json")
    made = json.loads((await segue("recalls", "set", "web:1", CHECK, *flags)).out)
    skipped = json.loads((await segue("recalls", "skip", "web:1", "--json")).out)
    gap = datetime.fromisoformat(skipped["trigger_at"]) - datetime.fromisoformat(made["trigger_at"])
    assert gap == timedelta(seconds=300)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("show", "web:1"), 1, "no recall is pending in web:1"),
        (("cancel", "web:1"), 1, "no recall is pending in web:1"),
        (("skip", "web:1"), 1, "no recall is pending in web:1"),
        (("list", "web:9"), 1, "there is no session web:9"),
        (("set", "nine", CHECK), 1, "no session is called 'nine'"),
        (("set", "web:1", CHECK, "--when", "soonish"), 2, "soonish"),
        (("set", "web:1", CHECK, "--interval-seconds", "300"), 2, "a recurring recall needs `when`"),
        (("set", "web:1", " "), 2, "the instruction of a recall is empty"),
    ],
)
async def test_wrong_use_and_failure_have_different_exit_codes(
    segue: Segue, arguments: tuple[str, ...], code: int, words: str
) -> None:
    await begin(segue)
    ended = await segue("recalls", *arguments)
    assert (ended.code, words in ended.err) == (code, True), ended.err


async def test_an_empty_list_says_so(segue: Segue) -> None:
    await begin(segue)
    assert (await segue("recalls", "list", "web:1")).out == "There are no recalls in web:1.\n"


async def test_the_settings_say_what_a_busy_session_does(segue: Segue) -> None:
    """`SEGUE_RECALL_ON_BUSY`."""
    configuration = Configuration.load(env={"SEGUE_RECALL_ON_BUSY": "postpone", "HOME": str(segue.folder)})
    assert configuration.kernel_settings().recall_on_busy is Busy.POSTPONE


async def test_a_running_server_runs_a_recall_that_a_command_sets(segue: Segue, gate: Gate) -> None:
    """C4.4: in a real process, whose timer sleeps."""
    gate.open()
    async with segue.serving() as serving:
        await serving.client.post("/sessions/web:1/messages", json={"role": "user", "content": "Hello."})
        made = await segue("recalls", "set", "web:1", "All is well.", "--when", "1s")
        assert made.code == 0, made.err
        stream = serving.client.stream("GET", "/sessions/web:1/events?after=0")
        async with asyncio.timeout(60), stream as response:
            async for line in response.aiter_lines():
                if line.startswith("event: session_sync"):
                    break
        [run] = (await serving.client.get("/sessions/web:1/runs")).json()["runs"]
        messages = (await serving.client.get("/sessions/web:1/messages")).json()["messages"]
    assert run["outcome"] == "ok"
    assert [message["content"] for message in messages][1:] == ["Recall: All is well.", "All is well."]
