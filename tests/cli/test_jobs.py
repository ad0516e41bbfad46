"""`segue jobs`, without a running server."""

import json

import pytest

from segue import Ask, Every, Kernel, OpenTurn
from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")

WEEKDAYS = ("--schedule", "every weekday at 9")


async def answer(turn: OpenTurn) -> str:
    return f"You said {turn.text!r}."


async def add(segue: Segue, *options: str) -> str:
    """The id of a new job."""
    given = options if "--schedule" in options else (*options, *WEEKDAYS)
    made = await segue("jobs", "add", "web:1", "What is new?", *given, "--json")
    assert made.code == 0, made.err
    return str(json.loads(made.out)["id"])


async def test_a_job_is_added_listed_and_shown(segue: Segue) -> None:
    job_id = await add(segue, "--name", "report")
    listed = await segue("jobs", "list", "web:1")
    assert f"{job_id}  report  active  at 09:00 on Monday through Friday, Europe/Berlin" in listed.out
    shown = await segue("jobs", "show", job_id)
    assert "message    What is new?" in shown.out
    [next_runs] = [line for line in shown.out.splitlines() if line.startswith("next runs")]
    assert next_runs.count(" 09:00:00") == 3
    assert next_runs.endswith(" Europe/Berlin"), "in the zone of the settings"


async def test_json_is_what_the_api_would_answer(segue: Segue) -> None:
    job_id = await add(segue)
    listed = json.loads((await segue("jobs", "list", "web:1", "--json")).out)
    shown = json.loads((await segue("jobs", "show", job_id, "--json")).out)
    runs = json.loads((await segue("jobs", "runs", job_id, "--json")).out)
    told = json.loads((await segue("jobs", "explain", job_id, "--json")).out)
    async with segue.serving() as server:
        get = server.client.get
        assert (await get("/sessions/web:1/automations")).json()["jobs"] == listed["jobs"] == [shown]
        assert (await get(f"/automations/{job_id}")).json() == shown
        assert (await get(f"/automations/{job_id}/runs")).json()["runs"] == runs["runs"] == []
        assert (await get(f"/automations/{job_id}/explain")).json() == told


async def test_a_job_is_edited(segue: Segue) -> None:
    job_id = await add(segue, "--policy", "late=skip", "--policy", "retries=2")
    edited = await segue(
        *("jobs", "edit", job_id, "--message", "And now?", "--schedule", "every 2h"),
        *("--mode", "check", "--view", "tail", "--policy", "retries=1", "--json"),
    )
    job = json.loads(edited.out)
    assert (job["message"], job["mode"], job["view"]) == ("And now?", "check", "tail")
    assert job["schedule"] == {"kind": "every", "every_seconds": 7200}
    assert (job["policy"]["late"], job["policy"]["retries"]) == ("skip", 1)


async def test_a_job_shows_its_view(segue: Segue) -> None:
    job_id = await add(segue, "--view", "since_last_run")
    assert "view       since_last_run" in (await segue("jobs", "show", job_id)).out
    renamed = json.loads((await segue("jobs", "edit", job_id, "--name", "report", "--json")).out)
    assert renamed["view"] == "since_last_run"
    refused = await segue("jobs", "edit", job_id, "--view", "everything")
    assert (refused.code, "since_last_run" in refused.err) == (2, True)


async def test_a_job_is_paused_resumed_skipped_and_removed(segue: Segue) -> None:
    job_id = await add(segue)
    paused = await segue("jobs", "pause", job_id)
    assert "reason    paused by the user" in paused.out
    assert (await segue("jobs", "pause", job_id)).code == 1
    assert "state      active" in (await segue("jobs", "resume", job_id)).out
    await segue("jobs", "skip", job_id)
    assert "skipped by request" in (await segue("jobs", "runs", job_id)).out
    assert (await segue("jobs", "remove", job_id)).out == f"Job {job_id} (What is new?) was removed.\n"
    assert (await segue("jobs", "list", "web:1")).out == "Nothing is scheduled in web:1.\n"
    assert (await segue("jobs", "show", job_id)).code == 1


async def test_a_job_is_explained(segue: Segue) -> None:
    job_id = await add(segue)
    told = await segue("jobs", "explain", job_id)
    assert told.out.startswith("It runs next on:\n- ")
    assert told.out.count("09:00 (Europe/Berlin)") == 5
    asked = await segue("jobs", "explain", job_id, "--slot", "2020-01-01T09:00:00+01:00")
    assert "the job was not there yet" in asked.out
    wrong = await segue("jobs", "explain", job_id, "--slot", "yesterday")
    assert (wrong.code, "a slot is written as" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--schedule", "sometimes"), "could not read"),
        (("--schedule", "every 3 seconds"), "too often"),
        (("--schedule", "0 9 31 2 *"), "never fires"),
        ((*WEEKDAYS, "--policy", "late"), "name=value"),
        ((*WEEKDAYS, "--policy", "latte=skip"), "did you mean late?"),
        ((*WEEKDAYS, "--mode", "loud"), "is not one of 'turn', 'check'"),
    ],
)
async def test_an_invalid_job_is_refused(segue: Segue, options: tuple[str, ...], words: str) -> None:
    refused = await segue("jobs", "add", "web:1", "Go.", *options)
    assert refused.code == 2
    assert words in refused.err


async def test_a_job_that_is_no_automation_is_not_found(segue: Segue) -> None:
    await segue("sessions", "add-message", "web:1", "Hello.")
    ann = ("--account", "acme", "--user", "ann")
    await segue("sessions", "add-message", "web:1", "Hello.", *ann)
    job_id = await add(segue)
    for command in ("show", "pause", "resume", "skip", "remove", "edit", "runs", "explain"):
        assert (await segue("jobs", command, job_id, *ann)).code == 1, command
    assert (await segue("jobs", "list", "web:1", *ann)).out == "Nothing is scheduled in web:1.\n"


async def test_ended_and_system_jobs_are_listed_on_request(segue: Segue) -> None:
    async with Kernel(segue.database, agent=answer) as kernel:
        await kernel.schedule("system:beat", Every(1800), Ask("Beat."), name="beat", protected=True)
    job_id = await add(segue, "--schedule", "in 3 hours")
    await segue("jobs", "skip", job_id)
    assert (await segue("jobs", "list", "web:1")).out == "Nothing is scheduled in web:1.\n"
    assert "What is new?  ended" in (await segue("jobs", "list", "web:1", "--ended")).out
    assert "beat  active" in (await segue("jobs", "list", "web:1", "--system")).out


async def test_a_dry_run_and_a_forecast_store_nothing(segue: Segue) -> None:
    shown = await segue("jobs", "add", "web:1", "What is new?", *WEEKDAYS, "--dry-run")
    assert shown.code == 0, shown.err
    assert "Nothing was stored." in shown.out
    await add(segue, "--name", "report")
    told = await segue("jobs", "forecast", "web:1", "--days", "14")
    assert "14 days: 10 runs" in told.out
    found = json.loads((await segue("jobs", "forecast", "web:1", "--days", "14", "--json")).out)
    assert found["total"]["runs"] == 10
    refused = await segue("jobs", "forecast", "web:1", "--days", "400")
    assert refused.code == 2
    assert "1 to 366 days" in refused.err


async def test_usage_of_a_session_in_which_nothing_ran(segue: Segue) -> None:
    empty = await segue("runs", "usage", "web:1")
    assert empty.code == 1, "there is no session yet"
    await add(segue, "--name", "report")
    nothing = await segue("runs", "usage", "web:1")
    assert "Nothing ran in web:1 in the last 30 days." in nothing.out
    refused = await segue("runs", "usage", "web:1", "--days", "400")
    assert (refused.code, "1 to 366 days" in refused.err) == (2, True)
