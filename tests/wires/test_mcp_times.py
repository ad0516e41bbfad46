"""MCP clients are asked which reading of an ambiguous time their user means."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import pytest_asyncio
from mcp.types import ElicitRequestFormParams, ElicitResult

from segue import At, Kernel
from segue.config import Configuration
from segue.server import create_app
from segue.testing import ManualClock, ScriptedAgent
from tests.wires.mcp_clients import REVISIONS, Mode, call, connected, listening, refused

TUESDAY = datetime(2026, 11, 17, 11, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
AMBIGUOUS = "next friday at 9"


class User:
    """Answers questions, and records them."""

    def __init__(self, action: Any = "accept", pick: int | None = None, write: str = "") -> None:
        self.asked: list[ElicitRequestFormParams] = []
        self._action, self._pick, self._write = action, pick, write

    async def answer(self, context: object, params: object) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params)
        if self._action != "accept":
            return ElicitResult(action=self._action)
        choices = params.requested_schema["properties"]["when"].get("enum")
        text = self._write if self._pick is None else choices[self._pick]
        return ElicitResult(action="accept", content={"when": text})


@pytest.fixture
def kernel(database_url: str) -> Kernel:
    return Kernel(database_url, agent=ScriptedAgent(), clock=ManualClock(TUESDAY))


@pytest_asyncio.fixture
async def address(kernel: Kernel) -> AsyncIterator[str]:
    async with listening(create_app(kernel, Configuration())) as address:
        await kernel.sessions.open("mcp:work", timezone="Europe/Berlin")
        yield address


async def moments(kernel: Kernel) -> list[str]:
    jobs = await kernel.jobs.list("mcp:work")
    moments = [job.trigger.moment for job in jobs if isinstance(job.trigger, At)]
    return [moment.astimezone(BERLIN).isoformat() for moment in moments]


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.parametrize(("pick", "day"), [(0, 20), (1, 27)])
async def test_the_user_chooses_one_of_two_readings(
    address: str, kernel: Kernel, mode: Mode, pick: int, day: int
) -> None:
    user = User(pick=pick)
    async with connected(address, "mcp:work", mode=mode, elicitation_callback=user.answer) as client:
        added = await call(client, "cron", action="add", message="Report", at=AMBIGUOUS)
    (question,) = user.asked
    assert AMBIGUOUS in question.message
    assert len(question.requested_schema["properties"]["when"]["enum"]) == 2
    assert f"2026-11-{day}T09:00:00+01:00" in added
    assert await moments(kernel) == [f"2026-11-{day}T09:00:00+01:00"]


@pytest.mark.parametrize("mode", REVISIONS)
async def test_messages_and_recalls_ask_too(address: str, mode: Mode) -> None:
    user = User(pick=1)
    async with connected(address, "mcp:work", mode=mode, elicitation_callback=user.answer) as client:
        message = await call(client, "schedule_private_message", send_at=AMBIGUOUS, message_text="Hello")
        recall = await call(
            client,
            "schedule_recall",
            call_type="once",
            when=AMBIGUOUS,
            additional_context_message="Read build.log and report whether the build is green",
        )
    assert "2026-11-27T09:00:00+01:00" in message
    assert "27 Nov" in recall
    assert len(user.asked) == 2


@pytest.mark.parametrize("mode", REVISIONS)
async def test_the_user_writes_a_time_whose_readings_are_not_complete(
    address: str, kernel: Kernel, mode: Mode
) -> None:
    user = User(write="2027-04-03 09:00")
    async with connected(address, "mcp:work", mode=mode, elicitation_callback=user.answer) as client:
        await call(client, "cron", action="add", message="Report", at="03/04/2027 09:00")
    assert "3 April 2027 or 4 March 2027" in user.asked[0].message
    assert await moments(kernel) == ["2027-04-03T09:00:00+02:00"]


@pytest.mark.parametrize("mode", REVISIONS)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_nothing_is_scheduled_if_the_user_does_not_choose(
    address: str, kernel: Kernel, mode: Mode, action: str
) -> None:
    user = User(action)
    async with connected(address, "mcp:work", mode=mode, elicitation_callback=user.answer) as client:
        sentence = await refused(client, "cron", action="add", message="Report", at=AMBIGUOUS)
    assert "nothing was scheduled" in sentence
    assert await moments(kernel) == []


@pytest.mark.parametrize("mode", REVISIONS)
async def test_a_client_that_cannot_ask_gets_a_text_that_asks(
    address: str, kernel: Kernel, mode: Mode
) -> None:
    async with connected(address, "mcp:work", mode=mode) as client:
        sentence = await refused(client, "cron", action="add", message="Report", at=AMBIGUOUS)
    assert "Fri 20 Nov 2026" in sentence
    assert "Fri 27 Nov 2026" in sentence
    assert "Ask the user which one they mean" in sentence
    assert await moments(kernel) == []


async def test_a_time_with_one_reading_is_not_asked_about(address: str, kernel: Kernel) -> None:
    user = User()
    async with connected(address, "mcp:work", elicitation_callback=user.answer) as client:
        await call(client, "cron", action="add", message="Report", at="tomorrow at 9")
        assert "could not read" in await refused(client, "cron", action="add", message="Report", at="blue")
        assert "time zone" in await refused(
            client, "cron", action="add", message="Report", at=AMBIGUOUS, tz="Mars/Olympus"
        )
    assert user.asked == []
    assert await moments(kernel) == ["2026-11-18T09:00:00+01:00"]


async def test_a_time_without_a_zone_asks_for_the_users_city(address: str, kernel: Kernel) -> None:
    await kernel.sessions.open("mcp:new")
    async with connected(address, "mcp:new") as client:
        sentence = await refused(client, "cron", action="add", message="Report", at="tomorrow at 9")
    assert "set_timezone" in sentence
