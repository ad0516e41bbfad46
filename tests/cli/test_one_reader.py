"""One reader: a phrase has the same verdict and the same times wherever people and models write it.

Every phrase goes through `GET /when`, the API of jobs, the offline model, the `cron` tool and the command
line. The phrases do not depend on the hour at which the test runs.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from segue import JobKind, Kernel, OpenTurn, Settings
from segue.agents.offline import OfflineAgent
from segue.agents.tools.cron import cron_tool
from segue.agents.tools.registry import Registry
from segue.testing import quiet
from segue.times.clock import to_moment
from tests.cli.process import Segue
from tests.server.conftest import reach, running

New = Callable[[str], str]
ZONE = "Europe/Berlin"
REQUESTS = {
    "en": "remind me {} to stretch",
    "de": "erinnere mich {} an die Katze",
    "fr": "rappelle-moi {} de boire",
    "es": "recuérdame {} beber agua",
    "ru": "напомни мне {} про кота",
    "zh": "{}提醒我喝水",
}
READ = {
    "en": (
        "on 3 March 2031 at 9am",
        "2031-03-03 09:00",
        "march 3rd 2031 at half past ten in the morning",
        "every weekday at 9",
        "every other friday at 9",
        "the last day of every month at 6pm",
    ),
    "de": ("am 3. März 2031 um 9 Uhr", "jeden Werktag um 9 Uhr", "jeden ersten Montag im Monat um 9 Uhr"),
    "fr": ("le 3 mars 2031 à 9h", "tous les lundis à 9h", "tous les jours à 18h30"),
    "es": ("el 3 de marzo de 2031 a las 9", "todos los lunes a las 9", "los viernes a las 18:30"),
    "ru": ("3 марта 2031 в 9:00", "каждый понедельник в 9:00", "по будням в 18:30"),
    "zh": ("2031年3月3日上午9点", "每周一上午9点", "每个工作日晚上6点半"),
}
AMBIGUOUS = {
    "en": ("03/04/2031 at 9am", "1 March 2031 at 9am CST"),
    "de": ("am 03/04/2031 um 9 Uhr",),
    "fr": ("20 heures",),
    "es": ("20 horas",),
    "ru": ("20 часов",),
    "zh": ("2031年10月26日凌晨2点30分",),
}
NOT_READ = {
    "en": ("every day at 9 starting monday", "around 9am tomorrow", "on 31 february 2031 at 9am"),
    "de": ("gegen 9 Uhr morgen", "jeden Tag um 9 bis Freitag"),
    "fr": ("vers 9h demain", "tous les jours à 9h sauf lundi prochain"),
    "es": ("sobre las 9 de mañana", "todos los días a las 9 hasta el viernes"),
    "ru": ("около 9 утра завтра",),
    "zh": ("明天上午9点左右", "每天9点直到周五"),
}
PHRASES = [
    (verdict, language, phrase)
    for verdict, table in (("read", READ), ("ambiguous", AMBIGUOUS), ("not_read", NOT_READ))
    for language, phrases in table.items()
    for phrase in phrases
]


async def tool_user(turn: OpenTurn) -> str:
    """An agent that gives the words it gets to the `cron` tool."""
    box = await turn.tools("cron")
    return await box.call("cron", {"action": "add", "message": "Go.", "at": turn.prompt}, call_id="c-1")


@pytest_asyncio.fixture
async def http(new_sqlite: New) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server in this process."""
    async with (
        Kernel(new_sqlite("server.db"), agent=tool_user, settings=Settings(timezone=ZONE)) as kernel,
        running(kernel) as app,
        reach(app) as client,
    ):
        yield client


def first(times: Sequence[str]) -> datetime:
    return datetime.fromisoformat(times[0]).astimezone(UTC)


async def by_api(http: httpx2.AsyncClient, phrase: str) -> datetime | None:
    made = await http.post("/sessions/web:1/automations", json={"message": "Go.", "schedule": phrase})
    assert made.status_code in (201, 422), made.text
    return first(made.json()["next_runs"]) if made.status_code == 201 else None


async def by_command(segue: Segue, phrase: str) -> datetime | None:
    made = await segue("jobs", "add", "web:1", "Go.", "--schedule", phrase, "--json")
    assert made.code in (0, 2), made.err
    return first(json.loads(made.out)["next_runs"]) if made.code == 0 else None


async def by_chat(database: str, agent: Any, text: str) -> datetime | None:
    """The next time of the job that the agent made, if it made one."""
    async with Kernel(database, agent=agent, settings=Settings(timezone=ZONE)) as kernel:
        await kernel.receive("web:1", text)
        await quiet(kernel)
        jobs = await kernel.jobs.list("web:1", kind=JobKind.CRON)
        return to_moment(jobs[0].next_at) if jobs and jobs[0].next_at is not None else None


def test_there_are_forty_phrases() -> None:
    assert len(PHRASES) >= 40


@pytest.mark.parametrize(("verdict", "language", "phrase"), PHRASES)
async def test_a_phrase_is_the_same_everywhere(
    http: httpx2.AsyncClient, segue: Segue, new_sqlite: New, verdict: str, language: str, phrase: str
) -> None:
    found = (await http.get("/when", params={"text": phrase})).json()
    assert found["verdict"] == verdict
    assert bool(found["readings"]) == (verdict == "ambiguous")
    expected = first(found["when"]["next"]) if verdict == "read" else None
    repeats = verdict == "read" and found["when"]["repeats"]

    new_sqlite("data/segue.db")  # of the command
    answers = {
        "the API": await by_api(http, phrase),
        "the command line": await by_command(segue, phrase),
        "the offline model": await by_chat(
            new_sqlite("offline.db"), OfflineAgent(Registry([cron_tool()])), REQUESTS[language].format(phrase)
        ),
    }
    if not repeats:  # the tool has other fields for what repeats
        answers["the cron tool"] = await by_chat(new_sqlite("tool.db"), tool_user, phrase)
    assert answers == dict.fromkeys(answers, expected)
