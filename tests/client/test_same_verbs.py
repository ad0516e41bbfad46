"""One suite over the kernel, both clients and plain HTTP: the same verbs do the same."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from segue import Ask, At, Budget, Cron, Every, Kernel, Policy, Say, errors
from segue.client import AsyncClient
from segue.client.records import RemoteScheduledMessage, RemoteSession, RemoteTurn
from segue.errors import SegueError
from segue.kernel.api.export import ExportFormat
from segue.testing import ScriptedAgent
from tests.client.faces import PlainHttp, Refusal
from tests.eventually import eventually

KEY = "websocket:home"
WINTER = """BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;VALUE=DATE:20901221
DTEND;VALUE=DATE:20910103
SUMMARY:Winter holidays
END:VEVENT
END:VCALENDAR
"""
NINE = Cron("0 9 * * 1-5", tz="Europe/Berlin")


async def test_a_message_becomes_a_turn_with_an_answer(
    face: Any, agent: ScriptedAgent, database_url: str
) -> None:
    agent.script("It is nine.")
    queued = await face.receive(KEY, "What time is it?")
    turn = await face.wait(queued)
    assert (turn.state, turn.outcome, turn.reply) == ("done", "ok", "It is nine.")
    assert (await face.turns.get(turn.id)).reply == "It is nine."
    assert await face.wait(turn.id) == turn or isinstance(turn, SimpleNamespace)
    messages = await face.messages(KEY)
    assert [(each.role, each.content) for each in messages] == [
        ("user", "What time is it?"),
        ("assistant", "It is nine."),
    ]
    assert await face.messages(KEY, after=messages[-1].seq) == []


async def test_a_turn_is_replaced_by_an_edit_or_a_retry(
    face: Any, agent: ScriptedAgent, database_url: str
) -> None:
    agent.script("Hello Ann", "Hello Anna", "Hi Anna")
    first = await face.wait(await face.receive(KEY, "I am Ann"))
    second = await face.wait(await face.receive(KEY, "I am Anna", replaces=first.id))
    third = await face.wait(await face.receive(KEY, "", replaces=second.id))
    assert (third.content, third.replaces, third.reply) == ("I am Anna", second.id, "Hi Anna")
    messages = await face.messages(KEY)
    assert [each.replaced_by for each in messages[::2]] == [second.id, third.id, None]
    with pytest.raises((errors.TurnReplaced, Refusal)) as refused:
        await face.receive(KEY, "I am Annie", replaces=first.id)
    error: Any = refused.value
    assert error.code == "turn_replaced"


async def test_a_session_is_opened_once_changed_listed_and_deleted(face: Any) -> None:
    opened = await face.sessions.open(KEY, title="Home", timezone="Europe/Berlin", metadata={"a": [1]})
    assert (opened.created, opened.session.title) == (True, "Home")
    again = await face.sessions.open(KEY, title="Other")
    assert (again.created, again.session.title) == (False, "Home")
    changed = await face.sessions.update(KEY, title="Desk", timezone=None)
    assert (changed.title, changed.timezone) == ("Desk", None)
    assert [session.key for session in await face.sessions.list()] == [KEY]
    assert (await face.sessions.get(KEY)).chat_type == "private"
    assert await face.sessions.find("websocket:none") is None
    overview = await face.sessions.overview(KEY)
    assert (overview.message_count, overview.cron_jobs, overview.session.key) == (0, 0, KEY)
    await face.sessions.delete(KEY)
    assert await face.sessions.find(KEY) is None


async def test_a_session_with_jobs_is_deleted_only_with_them(face: Any) -> None:
    await face.schedule(KEY, NINE, Ask("What is new?"), name="news")
    with pytest.raises((errors.SessionHasJobs, Refusal)) as refused:
        await face.sessions.delete(KEY)
    error: Any = refused.value
    assert [job.name for job in error.jobs] == ["news"]
    await face.sessions.delete(KEY, with_jobs=True)
    assert await face.sessions.find(KEY) is None


async def test_a_job_is_made_changed_paused_skipped_explained_and_deleted(
    face: Any, database_url: str
) -> None:
    job = await face.schedule(KEY, NINE, Ask("What is new?"), name="news")
    assert [each.id for each in await face.jobs.list(KEY)] == [job.id]
    assert (await face.jobs.get(job.id)).name == "news"
    changed = await face.jobs.update(job.id, name="report", trigger=Every(3600))
    assert changed.name == "report"
    await face.jobs.pause(job.id)
    assert (await face.jobs.explain(job.id)).verdict == "paused"
    await face.jobs.resume(job.id)
    await face.jobs.skip(job.id)
    (run,) = await face.runs.list(job=job.id)
    assert (run.outcome, run.job_id) == ("skipped", job.id)
    assert [each.id for each in await face.runs.list(KEY)] == [run.id]
    assert (await face.runs.get(run.id)).reason == run.reason
    explanation = await face.jobs.explain(job.id)
    assert explanation.verdict == "scheduled"
    assert len(explanation.next) == 5
    await face.jobs.delete(job.id)
    assert await face.jobs.list(KEY) == []


async def test_a_forecast_counts_the_runs_to_come(face: Any) -> None:
    await face.schedule(KEY, Every(3600), Ask("What is new?"), name="news")
    found = await face.jobs.forecast(KEY, days=2)
    assert (len(found.slots), found.listed, found.slots[0].verdict) == (48, True, "run")
    shown = await face.jobs.preview(KEY, NINE, Ask("What is new?"))
    assert (len(shown.next), shown.prompt_tokens > 0) == (5, True)
    assert len(await face.jobs.list(KEY)) == 1


async def test_usage_is_summed_by_day(face: Any, agent: ScriptedAgent) -> None:
    await face.wait(await face.receive(KEY, "hello"))
    found = await face.runs.usage(KEY, days=2)
    assert len(found.days) == 2
    assert (found.total.runs if hasattr(found.total, "runs") else found.total["runs"]) == 1


async def test_budgets_are_set_shown_raised_and_removed(face: Any) -> None:
    five = Policy(budget=Budget("tokens", 5_000, "day"))  # type: ignore[arg-type]
    job = await face.schedule(KEY, Every(3600), Ask("What is new?"), name="news", policy=five)
    assert (await face.sessions.budget(KEY)).own is None
    await face.sessions.update(KEY, budget=Budget("runs", 3, "month", "ask"))  # type: ignore[arg-type]
    found = await face.sessions.budget(KEY)
    assert (found.own.spent, found.own.reserved, found.own.left) == (0, 0, 3)
    assert found.own.resets_at.day == 1
    [of_job] = found.jobs
    assert (of_job.job_id, of_job.name, of_job.now.left) == (job.id, "news", 5_000)
    assert (await face.sessions.raise_budget(KEY)).own.left == 6
    assert (await face.jobs.raise_budget(job.id)).id == job.id
    assert (await face.sessions.budget(KEY)).jobs[0].now.left == 10_000
    await face.sessions.update(KEY, budget=None)
    assert (await face.sessions.budget(KEY)).own is None
    with pytest.raises(Exception, match="has no budget to raise"):
        await face.sessions.raise_budget(KEY)


async def test_messages_are_marked_as_read(face: Any) -> None:
    await face.wait(await face.receive(KEY, "Good morning"))
    before = await face.sessions.overview(KEY)
    newest = (await face.messages(KEY))[-1].seq
    assert before.unread > 0
    assert await face.sessions.mark_read(KEY, newest) == 0
    assert (await face.sessions.overview(KEY)).unread == 0


async def test_a_job_that_is_due_runs_in_its_session(face: Any, agent: ScriptedAgent) -> None:
    agent.script("Nothing new.")
    job = await face.schedule(KEY, At("in 1 second"), Ask("What is new?"), name="news")

    async def ended() -> Any:
        runs = await face.runs.list(job=job.id)
        return runs[0] if runs and runs[0].outcome else None

    run = await eventually(ended, "the run has ended")
    assert run.outcome == "ok"
    answer = (await face.messages(KEY))[-1]
    assert (answer.content, answer.source.label, answer.source.run_id) == ("Nothing new.", "news", run.id)


async def test_a_recall_is_set_skipped_listed_and_cancelled(face: Any) -> None:
    await face.sessions.open(KEY, timezone="UTC")
    assert await face.recalls.get(KEY) is None
    recall = await face.recalls.add(
        KEY, "Look again.", call_type="recurring", when="1h", interval_seconds=3600, comment="the build"
    )
    assert (recall.instruction, recall.comment, recall.status) == ("Look again.", "the build", "pending")
    assert (await face.recalls.get(KEY)).id == recall.id
    assert (await face.recalls.skip(KEY)).trigger_at > recall.trigger_at
    await face.recalls.cancel(KEY)
    assert await face.recalls.get(KEY) is None
    assert [each.status for each in await face.recalls.list(KEY)] == ["cancelled"]


async def test_a_message_is_scheduled_replaced_and_cancelled(face: Any) -> None:
    await face.sessions.open(KEY, timezone="UTC")
    first = await face.scheduled_messages.add(KEY, "tomorrow at 08:00", "Your flight leaves at noon.")
    assert (first.message.status, first.message.text) == ("pending", "Your flight leaves at noon.")
    second = await face.scheduled_messages.add(KEY, "tomorrow at 09:00", "At one.", replace_existing=True)
    assert second.cancelled == (first.message.id,)
    assert (await face.scheduled_messages.get(second.message.id)).send_at == second.message.send_at
    assert (await face.scheduled_messages.cancel(second.message.id)).status == "cancelled"
    assert [each.status for each in await face.scheduled_messages.list(KEY)] == ["cancelled", "cancelled"]


async def test_a_session_is_committed_and_its_memories_are_found(face: Any) -> None:
    stored = await face.log.write_all(KEY, [("user", "I live in Bern."), ("assistant", "Noted.")])
    assert (stored.added, stored.message_count) == (2, 2)
    made = await face.memory.commit(KEY)
    assert [archive.n for archive in await face.memory.archives(KEY)] == [int(made.archive_n)]
    archived = await face.memory.archived_messages(KEY, made.archive_n)
    assert [each.content for each in archived] == ["I live in Bern.", "Noted."]

    async def learned() -> Any:
        return (await face.memory.task(made.task_id)).state == "completed"

    await eventually(learned, "the task has ended")
    (memory,) = await face.memory.list()
    assert memory.content == "I live in Bern."
    assert memory.id in [each.memory.id for each in await face.memory.search("Bern")]
    await face.memory.update(memory.id, content="I live in Rome.")
    assert (await face.memory.get(memory.id)).content == "I live in Rome."
    assert (await face.memory.context(KEY)).left_out == 0
    await face.memory.delete(memory.id)
    assert await face.memory.list() == []
    assert (await face.memory.commit(KEY)).reason == "no_messages"


async def test_a_message_is_stored_without_the_agent_and_read_back(face: Any) -> None:
    written = await face.log.write(KEY, "user", "I live in Bern.", created_at="2026-01-02T03:04:05Z")
    assert (written.role, written.content) == ("user", "I live in Bern.")
    await face.log.write(KEY, "assistant", "Noted.")
    assert [each.content for each in await face.messages(KEY)] == ["I live in Bern.", "Noted."]
    assert [each.content for each in await face.log.newest(KEY, limit=1)] == ["Noted."]
    assert (await face.messages(KEY, after=written.seq - 1))[0].seq == written.seq


async def test_the_events_of_the_log_are_read_from_a_number_on(face: Any) -> None:
    turn = await face.wait(await face.receive(KEY, "What time is it?"))
    events = await face.log.events(KEY)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.turn_id for event in events if event.type == "stream_end"] == [turn.id]
    assert [event.seq for event in await face.log.events(KEY, after=1, limit=2)] == [2, 3]


async def test_messages_are_found_by_their_words(face: Any) -> None:
    await face.log.write_all(KEY, [("user", "The deploy failed."), ("assistant", "Roll it back.")])
    await face.log.write_all("websocket:other", [("user", "The deploy went well.")])

    async def found() -> Any:
        return len(await face.log.search("deploy")) == 2

    await eventually(found, "both messages are indexed")
    (in_one,) = await face.log.search("deploy", session=KEY)
    assert (in_one.session_key, in_one.excerpt) == (KEY, "The deploy failed.")
    assert len(await face.log.search("deploy", limit=1)) == 1


@pytest.mark.parametrize("format", list(ExportFormat))
async def test_a_conversation_is_exported(face: Any, kernel: Kernel, format: ExportFormat) -> None:
    await face.log.write_all(KEY, [("user", "I live in Bern: ü, 日本."), ("assistant", "Noted.")])
    exported = "".join([piece async for piece in face.log.export(KEY, format=format)])
    assert "I live in Bern: ü, 日本." in exported
    own = kernel.log.export(KEY, format=format)
    assert exported == "".join([piece async for piece in own])


async def test_a_file_is_stored_sent_with_a_message_and_read(face: Any) -> None:
    file = await face.files.add(KEY, "notes.txt", b"The build is green.")
    assert (file.name, file.media_type, file.size) == ("notes.txt", "text/plain", 19)
    turn = await face.wait(await face.receive(KEY, "Read this", parts=[file]))
    asked = (await face.messages(KEY))[0]
    assert [part.id for part in asked.parts] == [part.id for part in turn.parts] == [file.id]
    assert (await face.files.get(file.id)).name == "notes.txt"
    assert await face.files.read(file) == b"The build is green."
    written = await face.log.write(KEY, "user", "", parts=[file])
    assert (written.content, written.parts[0].id) == ("[notes.txt]", file.id)


async def test_a_set_of_days_is_imported_read_and_deleted(face: Any) -> None:
    assert "DE" in [each.name for each in await face.days.list()]
    added = await face.days.add("school", WINTER)
    assert added.name == "school"
    assert (await face.days.get("school")).off[date(2090, 12, 21)] == "Winter holidays"
    assert [each.name for each in await face.days.list()][-1] == "school"
    await face.days.delete("school")
    assert "school" not in [each.name for each in await face.days.list()]


async def test_a_calendar_is_shared_and_revoked_and_events_are_imported(face: Any) -> None:
    await face.sessions.open(KEY)
    assert await face.calendar.shared_at(KEY) is None
    address = await face.calendar.share(KEY)
    assert isinstance(face, Kernel) or address.endswith(".ics")
    assert await face.calendar.shared_at(KEY) > 0
    await face.calendar.revoke(KEY)
    assert await face.calendar.shared_at(KEY) is None
    dentist = WINTER.replace("DTSTART;VALUE=DATE:20901221", "DTSTART:20901221T090000Z")
    assert (await face.calendar.import_events(KEY, WINTER)).left_out[0].title == "Winter holidays"
    assert not (await face.calendar.import_events(KEY, dentist)).made
    made = await face.calendar.import_events(KEY, dentist, make=True)
    assert [job.id for job in made.jobs] == [job.id for job in await face.jobs.list(KEY)]


async def test_a_guest_is_bound_allowed_listed_and_removed(face: Any) -> None:
    bound = await face.guests.bind("matrix", "@ana/work:example.org", user="ana")
    assert (bound.user, bound.allowed) == ("ana", False)
    assert (await face.guests.allow(bound.code)).allowed
    assert [each.sender for each in await face.guests.list()] == ["@ana/work:example.org"]
    assert (await face.guests.delete("matrix", "@ana/work:example.org")).sender == "@ana/work:example.org"
    assert await face.guests.list() == []


async def test_turns_are_listed_and_one_is_followed_from_its_start_after_it_has_ended(face: Any) -> None:
    turns = [await face.wait(await face.receive(KEY, text)) for text in ("one", "two", "three")]
    assert [turn.id for turn in await face.turns.list(KEY)] == [turn.id for turn in turns[::-1]]
    assert [turn.id for turn in await face.turns.list(KEY, limit=1)] == [turns[2].id]
    items = [item async for item in face.turns.follow(turns[1].id)]
    assert {item.turn_id for item in items} == {turns[1].id}
    assert (items[0].type, items[0].content) == ("stream_start", "two")
    assert await face.turns.running(KEY) is None


async def test_one_turn_is_stopped_and_the_next_is_followed_to_its_end(
    face: Any, agent: ScriptedAgent
) -> None:
    agent.pause()
    running = await face.receive(KEY, "one")
    await agent.under_way()
    waiting = await face.receive(KEY, "two")
    assert (await face.turns.running(KEY)).id == running.turn_id
    assert await face.turns.stop_turn(running.turn_id)
    assert (await face.wait(running.turn_id)).outcome == "stopped"
    assert not await face.turns.stop_turn(running.turn_id)
    agent.go_on()
    items = [item async for item in face.turns.follow(waiting.turn_id)]
    assert items[-1].type == "session_sync"


async def test_a_follower_gets_each_event_once_and_in_order(
    face: Any, agent: ScriptedAgent, database_url: str
) -> None:
    agent.script(["It is ", "nine."], "It is ten.")
    await face.wait(await face.receive(KEY, "What time is it?"))
    seqs, types = [], []
    async with aclosing(face.follow(KEY)) as following:
        async for item in following:
            if not item.type.endswith("_delta"):
                seqs.append(item.seq)
                types.append(item.type)
            if types.count("session_sync") == 1 and len(types) == seqs[-1]:
                await face.receive(KEY, "And now?")
                types.append("")
            if types.count("session_sync") == 2:
                break
    assert seqs == list(range(1, seqs[-1] + 1))
    assert types.count("stream_start") == types.count("stream_end") == 2


async def test_asking_yields_the_events_and_the_text_of_that_turn_only(
    face: Any, agent: ScriptedAgent
) -> None:
    agent.script("First.", ["It is ", "nine."])
    await face.wait(await face.receive(KEY, "Something else"))
    items = [item async for item in face.ask(KEY, "What time is it?")]
    events = [item.type for item in items if not item.type.endswith("_delta")]
    assert events == ["stream_start", "stream_end", "session_sync"]
    assert "".join(item.text for item in items if item.type == "stream_delta") == "It is nine."
    assert items[0].content == "What time is it?"


async def test_a_running_turn_is_stopped_and_a_waiting_one_cancelled(face: Any, agent: ScriptedAgent) -> None:
    agent.pause()
    running = await face.receive(KEY, "one")
    await agent.under_way()
    waiting = await face.receive(KEY, "two")
    assert waiting.position == 1
    await face.turns.cancel(waiting.turn_id)
    assert (await face.wait(waiting.turn_id)).state == "cancelled"
    assert await face.turns.stop(KEY) == running.turn_id
    assert (await face.wait(running)).state == "cancelled"
    agent.go_on()
    assert await face.turns.stop(KEY) is None


ERRORS: list[tuple[Callable[[Any], Any], type[SegueError], str]] = [
    (lambda face: face.sessions.get("websocket:none"), errors.NotFound, "not_found"),
    (lambda face: face.turns.get("none"), errors.NotFound, "not_found"),
    (lambda face: face.jobs.get("none"), errors.NotFound, "not_found"),
    (lambda face: face.runs.get("none"), errors.NotFound, "not_found"),
    (lambda face: face.files.get("none"), errors.NotFound, "not_found"),
    (lambda face: face.days.get("none"), errors.NotFound, "not_found"),
    (lambda face: face.days.add("school", "none"), errors.BadDays, "bad_days"),
    (lambda face: face.guests.allow("NONE"), errors.NotFound, "not_found"),
    (lambda face: face.turns.stop_turn("none"), errors.NotFound, "not_found"),
    (lambda face: face.log.events("websocket:none"), errors.NotFound, "not_found"),
    (lambda face: face.log.search("!"), errors.BadText, "bad_text"),
    (lambda face: face.recalls.cancel(KEY), errors.NotFound, "not_found"),
    (lambda face: face.recalls.add(KEY, "x", when="soonish"), errors.BadTime, "invalid_time"),
    (lambda face: face.recalls.add(KEY, "x", when="at 9"), errors.ZoneNeeded, "zone_needed"),
    (lambda face: face.sessions.update(KEY, timezone="Mars/Sea"), errors.BadSetting, "bad_setting"),
    (
        lambda face: face.schedule(KEY, At(datetime(2001, 1, 1, tzinfo=UTC)), Ask("x")),
        errors.BadTrigger,
        "bad_trigger",
    ),
    (
        lambda face: face.scheduled_messages.add(KEY, "2001-01-01T00:00:00Z", "x"),
        errors.BadTime,
        "invalid_time",
    ),
    (
        lambda face: face.scheduled_messages.add("websocket:group", "1h", "x"),
        errors.NotPrivateChat,
        "not_private_chat",
    ),
]


async def test_an_error_has_the_same_type_and_code_everywhere(face: Any, subtests: pytest.Subtests) -> None:
    await face.sessions.open(KEY)
    await face.sessions.open("websocket:group", chat_type="group")
    for number, (call, kind, code) in enumerate(ERRORS):
        with subtests.test(f"call {number}"):
            with pytest.raises((SegueError, Refusal)) as refused:
                await call(face)
            error: Any = refused.value
            assert error.code == code
            assert isinstance(error, Refusal if isinstance(face, PlainHttp) else kind)
            assert str(refused.value)


async def test_a_conflict_has_the_same_type_and_code_everywhere(face: Any, agent: ScriptedAgent) -> None:
    await face.sessions.open(KEY, timezone="UTC")
    await face.recalls.add(KEY, "Look again.", when="1h")
    job = await face.schedule(KEY, NINE, Ask("x"))
    agent.pause()
    running = await face.receive(KEY, "one")
    await agent.under_way()
    for call, code in [
        (face.recalls.add(KEY, "Once more.", when="1h"), "recall_pending"),
        (face.recalls.skip(KEY), "not_recurring"),
        (face.jobs.resume(job.id), "conflict"),
        (face.receive(KEY, "two", when_busy="reject"), "session_busy"),
        (face.turns.cancel(running.turn_id), "already_started"),
    ]:
        with pytest.raises((errors.Conflict, Refusal)) as refused:
            await call
        error: Any = refused.value
        assert error.code == code
    agent.go_on()
    await face.wait(running)


BAD_INPUT: list[tuple[Callable[[Any], Any], type[SegueError]]] = [
    (lambda face: face.receive("no key", "x"), errors.BadKey),
    (lambda face: face.receive(KEY, "  "), errors.BadText),
    (lambda face: face.receive(KEY, "x", when_busy="now"), errors.BadSetting),
    (lambda face: face.log.write_all(KEY, [("user", "")]), errors.BadText),
    (lambda face: face.recalls.add(KEY, "x", call_type="often"), errors.BadRecall),
    (lambda face: face.scheduled_messages.add(KEY, "1h", ""), errors.EmptyText),
    (lambda face: face.schedule(KEY, NINE, Ask("x"), name=" "), errors.BadText),
    (lambda face: face.memory.search(""), errors.BadText),
]


async def test_bad_input_raises_the_same_error_in_the_kernel_and_in_a_client_and_is_a_422(
    face: Any, subtests: pytest.Subtests
) -> None:
    await face.sessions.open(KEY)
    for number, (call, kind) in enumerate(BAD_INPUT):
        with subtests.test(f"call {number}"):
            with pytest.raises(Refusal if isinstance(face, PlainHttp) else kind) as refused:
                await call(face)
            error: Any = refused.value
            if isinstance(face, PlainHttp):
                assert error.status == 422, error
            else:
                assert type(error) is kind


async def test_a_client_says_what_the_http_api_cannot_schedule(address: str) -> None:
    async with AsyncClient(address) as client:
        with pytest.raises(errors.Invalid, match="scheduled_messages"):
            await client.schedule(KEY, At("in 1h"), Say("Good morning"))


def assert_same(remote: Any, local: Any) -> None:
    """Each field that both records have is equal."""
    assert is_dataclass(remote)
    for field in fields(remote):
        if hasattr(local, field.name) and field.name not in ("trigger", "session"):
            assert getattr(remote, field.name) == getattr(local, field.name), field.name


async def test_a_clients_records_have_the_values_of_the_kernels(
    address: str, kernel: Kernel, agent: ScriptedAgent
) -> None:
    async with AsyncClient(address) as client:
        agent.script("It is nine.")
        turn = await client.wait(await client.receive(KEY, "What time is it?"))
        assert isinstance(turn, RemoteTurn)
        assert_same(turn, await kernel.turns.get(turn.id))
        job = await client.schedule(KEY, NINE, Ask("What is new?"))
        assert_same(job, await kernel.jobs.get(job.id))
        assert job.trigger == (await kernel.jobs.get(job.id)).trigger
        await client.jobs.skip(job.id)
        (run,) = await client.runs.list(KEY)
        assert_same(run, await kernel.runs.get(run.id))
        session = await client.sessions.get(KEY)
        assert isinstance(session, RemoteSession)
        assert_same(session, await kernel.sessions.get(KEY))
        assert_same(await client.sessions.overview(KEY), await kernel.sessions.overview(KEY))
        assert await client.recalls.add(KEY, "Look.", when="1h") == await kernel.recalls.get(KEY)
        scheduled = (await client.scheduled_messages.add(KEY, "in 1h", "Hello")).message
        assert isinstance(scheduled, RemoteScheduledMessage)
        assert_same(scheduled, await kernel.scheduled_messages.get(scheduled.id))
        assert await client.messages(KEY) == await kernel.messages(KEY)
        assert await client.log.newest(KEY) == await kernel.log.newest(KEY)
        assert_same(await client.memory.commit(KEY), SimpleNamespace(archive_n=1))
        assert_same(await client.memory.archive(KEY, 1), await kernel.memory.archive(KEY, 1))


async def test_a_clients_events_have_the_values_of_the_kernels(
    address: str, kernel: Kernel, agent: ScriptedAgent
) -> None:
    async with AsyncClient(address) as client:
        await client.wait(await client.receive(KEY, "What time is it?"))
        job = await client.schedule(KEY, At("in 1 second"), Ask("What is new?"))

        async def ran() -> bool:
            return bool(
                (await client.runs.list(job=job.id)) and (await client.runs.list(job=job.id))[0].outcome
            )

        await eventually(ran, "the job has run")
        stored = await kernel.log.events(KEY)
        followed = []
        async with aclosing(client.follow(KEY)) as following:
            async for item in following:
                if not item.type.endswith("_delta"):
                    followed.append(item)
                if item.seq == stored[-1].seq:
                    break
    for remote, local in zip(followed, stored, strict=True):
        for name in ("session_id", "seq", "type", "at", "turn_id", "role", "content"):
            assert getattr(remote, name) == getattr(local, name), (name, local)
        if local.type in ("stream_start", "message"):
            assert remote.source == local.source  # type: ignore[union-attr]
            assert remote.body["attempt"] == local.body["attempt"]  # type: ignore[union-attr]
