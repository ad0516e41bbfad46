"""Schemas of automations (cron jobs), and conversions from jobs and explanations."""

from collections.abc import Collection
from datetime import date, datetime
from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag

from segue.kernel.api.jobs import OwnedJob
from segue.kernel.kernel import Kernel
from segue.model.action import Ask, Call, Say
from segue.model.explain import Explanation
from segue.model.policy import Policy
from segue.model.records import Job, Session
from segue.model.schedule import local, read_trigger, upcoming, zone_of
from segue.model.states import JobState
from segue.model.text_checks import MAX_NAME
from segue.server.schemas.body import UNION_TAG, Body
from segue.server.schemas.budgets import BudgetIn, Count
from segue.server.schemas.common import Moment, Name, NonBlankText, TimesZone
from segue.server.schemas.views import maybe_moment, moment
from segue.times.clock import to_moment
from segue.times.moment import in_seconds
from segue.times.trigger import At, Cron, Every, Trigger

_NEXT_RUNS = 3

Mode: TypeAlias = Literal["turn", "check", "say"]
ViewName: TypeAlias = Literal["full", "since_last_run", "tail", "summary"]
Seconds: TypeAlias = Annotated[float, Field(strict=True)]


class AtSchedule(Body):
    """Runs once."""

    kind: Literal["at"]
    at: str = Field(min_length=1, max_length=MAX_NAME, description="RFC 3339, or words: `tomorrow at 09:00`.")


class EverySchedule(Body):
    """Runs at a fixed interval."""

    kind: Literal["every"]
    every_seconds: Seconds = Field(gt=0)


class CronSchedule(Body):
    """Runs by a cron expression of five fields, in the local time of a zone."""

    kind: Literal["cron"]
    expr: str = Field(min_length=1, max_length=MAX_NAME, examples=["0 9 * * 1-5"])
    tz: str | None = Field(None, max_length=MAX_NAME, examples=["Europe/Berlin"])
    days: str | None = Field(
        None, max_length=MAX_NAME, examples=["CN"], description="A day set: only its working days count."
    )
    shift: Literal["none", "next", "previous"] | None = Field(
        None, description="With `days`: the working day that a run on a day off moves to. Default: `none`."
    )


class RRuleSchedule(Body):
    """Runs by a recurrence rule of RFC 5545, in the local time of a zone."""

    kind: Literal["rrule"]
    rrule: str = Field(min_length=1, max_length=MAX_NAME, examples=["FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"])
    start: str = Field(
        min_length=1, max_length=MAX_NAME, examples=["2026-11-20T09:00"], description="The first local time."
    )
    tz: str | None = Field(None, max_length=MAX_NAME, examples=["Europe/Berlin"])
    exdate: list[str] | None = Field(None, max_length=1_000, description="Local times that are left out.")
    rdate: list[str] | None = Field(None, max_length=1_000, description="Local times that are added.")


def _kind(given: Any) -> str:
    if isinstance(given, str):
        return f"{UNION_TAG}words"
    kind = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return f"{UNION_TAG}{kind}"


Schedule: TypeAlias = Annotated[
    Annotated[AtSchedule, Tag(f"{UNION_TAG}at")]
    | Annotated[EverySchedule, Tag(f"{UNION_TAG}every")]
    | Annotated[CronSchedule, Tag(f"{UNION_TAG}cron")]
    | Annotated[RRuleSchedule, Tag(f"{UNION_TAG}rrule")]
    | Annotated[Annotated[str, Field(min_length=1, max_length=MAX_NAME)], Tag(f"{UNION_TAG}words")],
    Discriminator(
        _kind,
        custom_error_type="schedule",
        custom_error_message="a schedule is an object whose kind is at, every, cron or rrule, or words like "
        "'every weekday at 9'",
    ),
]


class PolicyIn(Body):
    """An omitted field keeps its value, or has its default in a new automation."""

    late: Literal["run_once", "skip", "all"] = "run_once"
    grace_seconds: Seconds = 86_400
    busy: Literal["wait", "postpone", "skip"] = "wait"
    overlap: Literal["buffer_one", "skip", "buffer_all"] = "buffer_one"
    retries: Count = 0
    jitter_seconds: Seconds = 0
    max_runs: Count | None = None
    until: Annotated[str, Field(max_length=MAX_NAME)] | None = Field(
        None, description="RFC 3339. No run is due after it."
    )
    timeout_seconds: Seconds = 900
    crash: Literal["auto", "close", "rerun"] = "auto"
    catch_up: Count = 10
    budget: BudgetIn | None = Field(None, description="How much its runs may use in a period.")
    when: Annotated[list[dict[str, JsonValue]], Field(max_length=100)] | None = Field(
        None,
        description="Conditions on the conversation; a slot runs only if all of them hold.",
        examples=[[{"if": "unanswered", "since": "last_run"}]],
    )
    otherwise: Literal["skip", "end", "postpone"] | None = Field(
        None, description="What happens to a slot whose conditions do not hold. Default: `skip`."
    )
    renew_after: Count | None = Field(
        None, description="After this many runs without an answer, it asks whether to go on and is paused."
    )
    quiet: Literal["defer", "skip", "hold", "through"] | None = Field(
        None,
        description="In quiet hours: run once when they end, skip, hold the answer back, or run as always. "
        "Default: `skip` for mode `check`, `through` for a single moment, otherwise `defer`.",
    )
    tell: Literal["now", "digest"] | None = Field(
        None, description="When its answers are sent: at once, or with the digest of the session."
    )


class AddAutomation(Body):
    name: Name | None = Field(None, description="Default: the first line of the message.")
    message: NonBlankText = Field(description="The prompt for the agent at each run.")
    schedule: Schedule
    timezone: TimesZone = None
    mode: Mode = Field(
        "turn",
        description="`check` sends nothing if there is nothing to report. `say` sends the message itself.",
    )
    view: ViewName = Field("full", description="How much of the conversation the agent receives.")
    model: Name | None = Field(
        None, description="A name of `SEGUE_MODELS`. Default: that of the default model, as it is now."
    )
    look: Name | None = Field(None, description="With `check`: the name of a cheaper model that looks first.")
    policy: PolicyIn | None = None

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "morning report",
                    "message": "What changed since yesterday?",
                    "schedule": {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Berlin"},
                    "policy": {"late": "skip"},
                },
                {"message": "Is the build green?", "schedule": "every 2h", "mode": "check"},
            ]
        },
    )


class ChangeAutomation(Body):
    """Changes the given fields only. A new schedule counts from now."""

    name: Name | None = None
    message: NonBlankText | None = None
    schedule: Schedule | None = None
    timezone: TimesZone = None
    mode: Mode | None = None
    view: ViewName | None = None
    model: Name | None = Field(None, description="`null`: the default model, also when it changes.")
    look: Name | None = Field(None, description="`null`: no model looks first.")
    policy: PolicyIn | None = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"schedule": "every weekday at 8"}]}
    )


class JobStateOut(BaseModel):
    next_run_at: Moment | None
    last_run_at: Moment | None
    last_outcome: str | None
    last_error: str | None
    pending: bool = Field(description="A run is queued or running.")
    consecutive_failures: int
    unmet: str | None = Field(
        description="Why its conditions rule out the next slot if nothing more is said. It begins with "
        "`unless: ` if something was said or done, with `only if ` if something is missing."
    )


class JobOut(BaseModel):
    id: str
    name: str
    enabled: bool
    session_key: str
    schedule: dict[str, JsonValue] = Field(
        examples=[{"kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Berlin"}]
    )
    message: str
    mode: Mode
    policy: dict[str, JsonValue]
    protected: bool = Field(description="A system job; it cannot be changed.")
    created_at: Moment
    updated_at: Moment
    next_runs: list[Moment] = Field(description="The next three times.")
    state: JobStateOut
    view: ViewName = Field(description="How much of the conversation the agent receives.")
    days_known_until: date | None = Field(
        description="With `schedule.days`: the last day of that set. After it Monday to Friday count."
    )
    model: str | None = Field(description="The name of its model; null: the default model.")
    look: str | None = Field(description="The name of the model that looks first.")


class JobsOut(BaseModel):
    jobs: list[JobOut]
    next_cursor: str | None


class NextSlotOut(BaseModel):
    at: Moment
    note: str | None = Field(description="The effect of a daylight saving change on this time.")


class ExplanationOut(BaseModel):
    job_id: str
    session_key: str
    verdict: str = Field(
        description="`scheduled due postponed queued running paused ended unknown`, or a run's outcome."
    )
    text: str = Field(description="The explanation as text for users.")
    slot: Moment | None = Field(
        description="The slot that is explained; null for the current state of the job."
    )
    run_id: str | None
    facts: dict[str, JsonValue] = Field(description="The facts behind the verdict.")
    next: list[NextSlotOut] = Field(description="The next five slots.")


def trigger_in(schedule: Any, *, now: datetime, zone: str | None, days: str | None) -> Trigger:
    """The trigger of a body's schedule. `zone` is for times without a zone, `days` for working days."""
    given = schedule if isinstance(schedule, str) else schedule.model_dump(exclude_none=True)
    return read_trigger(given, now=now, zone=zone, days=days)


def policy_in(given: PolicyIn | None, before: Policy) -> Policy | None:
    """`before` with the given fields changed; None if none is given."""
    if given is None:
        return None
    fields = given.model_dump(exclude_unset=True)
    if given.budget is not None:
        fields["budget"] = given.budget.to_json()
    return before.changed(fields)


def schedule_out(trigger: Trigger) -> dict[str, JsonValue]:
    match trigger:
        case At():
            return {"kind": "at", "at": local(trigger.moment, trigger.tz).isoformat()}
        case Every():
            return {"kind": "every", "every_seconds": in_seconds(trigger.interval)}
        case _:
            return {**trigger.to_json()}


def job_out(job: Job, session_key: str, *, pending: bool, zone: str | None, unmet: str | None) -> JobOut:
    slots = upcoming(job, _NEXT_RUNS)
    display_zone = zone_of(job.trigger, zone)
    return JobOut(
        id=job.id,
        name=job.name,
        enabled=job.state is JobState.ACTIVE,
        session_key=session_key,
        schedule=schedule_out(job.trigger),
        message=_message(job),
        mode=cast(Any, str(job.action.mode)) if isinstance(job.action, Ask) else "turn",
        view=cast(Any, str(job.action.view)) if isinstance(job.action, Ask) else "full",
        model=job.action.model if isinstance(job.action, Ask) else None,
        look=job.action.look if isinstance(job.action, Ask) else None,
        policy=job.policy.to_json(),
        days_known_until=_known_until(job.trigger),
        protected=job.protected,
        created_at=moment(job.created_at),
        updated_at=moment(job.updated_at),
        next_runs=[local(slot, display_zone).isoformat() for slot in slots],
        state=JobStateOut(
            next_run_at=local(slots[0], display_zone).isoformat() if slots else None,
            last_run_at=maybe_moment(job.last_run_at),
            last_outcome=job.last_outcome,
            last_error=job.policy.unreadable or job.last_error,
            pending=pending,
            consecutive_failures=job.failures,
            unmet=unmet,
        ),
    )


def _known_until(trigger: Trigger) -> date | None:
    return trigger.day_set.known_until if isinstance(trigger, Cron) and trigger.days else None


def _message(job: Job) -> str:
    match job.action:
        case Ask(prompt=words) | Say(text=words):
            return words
        case Call(function=function):
            return function


async def jobs_out(kernel: Kernel, jobs: Collection[Job], *known: Session) -> list[JobOut]:
    """The response models of jobs, which may belong to several sessions. `known`: sessions already loaded."""
    sessions = {session.id: session for session in known}
    pending: set[str] = set()
    for session_id in {job.session_id: None for job in jobs}:
        if session_id not in sessions:
            sessions[session_id] = await kernel.sessions.by_id(session_id)
        pending |= await kernel.jobs.pending(sessions[session_id])
    return [
        job_out(
            job,
            sessions[job.session_id].key,
            pending=job.id in pending,
            zone=kernel.sessions.zone_in(sessions[job.session_id]),
            unmet=await kernel.jobs.unmet(job, sessions[job.session_id]),
        )
        for job in jobs
    ]


def explanation_out(job: Job, session_key: str, explanation: Explanation, zone: str | None) -> ExplanationOut:
    display_zone = zone_of(job.trigger, zone)
    return ExplanationOut(
        job_id=job.id,
        session_key=session_key,
        verdict=explanation.verdict,
        text=explanation.text,
        slot=None if explanation.slot is None else local(explanation.slot, display_zone).isoformat(),
        run_id=explanation.run_id,
        facts={name: _fact(name, value) for name, value in explanation.facts.items() if value is not None},
        next=[
            NextSlotOut(at=local(each.at, display_zone).isoformat(), note=each.note)
            for each in explanation.next
        ],
    )


_MOMENTS = frozenset({"slot", "next_slot", "next_look", "busy_since", "paused_at", "retry_at"})


def _fact(name: str, value: Any) -> JsonValue:
    return to_moment(value).isoformat(timespec="milliseconds") if name in _MOMENTS else value


async def explain_job(
    kernel: Kernel, found: OwnedJob, slot: datetime | None
) -> tuple[Explanation, ExplanationOut]:
    explanation = await kernel.jobs.explain(found, slot=slot)
    zone = kernel.sessions.zone_in(found.session)
    return explanation, explanation_out(found.job, found.session.key, explanation, zone)
