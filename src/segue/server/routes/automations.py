"""Automations: the cron jobs of a session, what became of their runs, and why."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Query

from segue.kernel.kernel import Kernel
from segue.model.action import View
from segue.model.policy import Policy
from segue.model.prompts import Mode
from segue.model.records import Asker, Job, Place
from segue.server.error_responses import Refused, responses
from segue.server.idempotency import IdempotencyKey, named
from segue.server.paging import Cursor, Limit, cursor_of, cursor_of_seq, place_of, seq_of
from segue.server.request_context import AuthenticatedRequest, Guarded
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import automations as shapes
from segue.server.schemas import common, views
from segue.times.clock import to_moment
from segue.times.trigger import Trigger

router = APIRouter(route_class=Guarded, tags=["Automations"], responses=responses(400, 401, 403, 404, 422))

JobId: TypeAlias = Annotated[
    str, Path(description="The job's id.", min_length=1, max_length=200, pattern=r"^[^\x00]+$")
]
Include: TypeAlias = Annotated[
    list[Literal["system", "ended"]],
    Query(description="`system` adds the protected ones, `ended` those that are over."),
]


@router.get("/sessions/{key}/automations", summary="List automations")
async def list_automations(
    key: KeyInPath,
    asked: AuthenticatedRequest,
    include: Include = [],  # noqa: B006 — FastAPI reads it as the default, and nobody writes to it
    limit: Limit = 100,
    cursor: Cursor = None,
) -> shapes.JobsOut:
    """The session's own cron jobs, paused ones too, the newest first."""
    found = await asked.kernel.automations(
        key, owner=asked.owner, limit=limit + 1, before=place_of(cursor), ended="ended" in include
    )
    shown = found[:limit]
    more = cursor_of(Place(shown[-1].created_at, shown[-1].id)) if len(found) > limit else None
    if "system" in include and cursor is None:
        shown += await asked.kernel.protected(owner=asked.owner)
    return shapes.JobsOut(jobs=await shapes.shown(asked.kernel, shown), next_cursor=more)


@router.post(
    "/sessions/{key}/automations", summary="Add an automation", status_code=201, responses=responses(409, 413)
)
async def add_automation(
    key: KeyInPath,
    body: shapes.AddAutomation,
    asked: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> shapes.JobOut:
    """At its times the agent gets a turn in this session. A missing session is made."""
    await asked.may_open(key)
    job = await asked.kernel.automate(
        key,
        await _trigger(asked.kernel, key, asked.owner, body.schedule, body.timezone),
        body.message,
        name=body.name,
        policy=shapes.policy_in(body.policy, Policy()),
        mode=Mode(body.mode),
        view=View(body.view),
        owner=asked.owner,
        request=await named(asked, idempotency_key),
    )
    return await _one(asked.kernel, job)


@router.get("/automations/{job_id}", summary="Look at an automation")
async def get_automation(job_id: JobId, asked: AuthenticatedRequest) -> shapes.JobOut:
    return await _one(asked.kernel, await asked.kernel.automation(job_id, owner=asked.owner))


@router.patch("/automations/{job_id}", summary="Change an automation", responses=responses(409, 413))
async def change_automation(
    job_id: JobId, body: shapes.ChangeAutomation, asked: AuthenticatedRequest
) -> shapes.JobOut:
    """What is given is changed; a run that waits or runs goes on as it was."""
    job = await asked.kernel.automation(job_id, owner=asked.owner)
    if body.model_dump(exclude_none=True):
        session = await asked.kernel.store.session_by_id(job.session_id)
        trigger = body.schedule and await _trigger(
            asked.kernel, session.key, session.owner, body.schedule, body.timezone
        )
        job = await asked.kernel.amend(
            job_id,
            name=body.name,
            message=body.message,
            trigger=trigger or None,
            mode=body.mode and Mode(body.mode),
            view=body.view and View(body.view),
            policy=shapes.policy_in(body.policy, job.policy),
            owner=asked.owner,
        )
    return await _one(asked.kernel, job)


@router.delete(
    "/automations/{job_id}",
    summary="Remove an automation",
    response_model_exclude_none=True,
    responses=responses(409),
)
async def remove_automation(job_id: JobId, asked: AuthenticatedRequest) -> common.Deleted:
    """No run starts after this. One that waits is withdrawn; one that has started goes on to its end."""
    job = await asked.kernel.automation(job_id, owner=asked.owner)
    await asked.kernel.remove(job.id, owner=asked.owner)
    return common.Deleted(deleted=True)


@router.post("/automations/{job_id}/pause", summary="Pause an automation", responses=responses(409))
async def pause_automation(job_id: JobId, asked: AuthenticatedRequest) -> shapes.JobOut:
    """No run until it is resumed. One that waits or runs goes on."""
    job = await asked.kernel.automation(job_id, owner=asked.owner)
    return await _one(
        asked.kernel, await asked.kernel.pause(job.id, reason="paused by the user", owner=asked.owner)
    )


@router.post("/automations/{job_id}/resume", summary="Resume an automation", responses=responses(409))
async def resume_automation(job_id: JobId, asked: AuthenticatedRequest) -> shapes.JobOut:
    """From its next moment on. What passed meanwhile does not run."""
    job = await asked.kernel.automation(job_id, owner=asked.owner)
    return await _one(asked.kernel, await asked.kernel.resume(job.id, owner=asked.owner))


@router.post("/automations/{job_id}/skip", summary="Skip the next run", responses=responses(409))
async def skip_automation(job_id: JobId, asked: AuthenticatedRequest) -> shapes.JobOut:
    """Let the next moment go by; it is recorded as skipped."""
    job = await asked.kernel.automation(job_id, owner=asked.owner)
    return await _one(asked.kernel, await asked.kernel.skip(job.id, owner=asked.owner))


@router.get("/automations/{job_id}/runs", summary="List an automation's runs")
async def list_runs(
    job_id: JobId, asked: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> common.RunsOut:
    """Newest first, those that were skipped or missed among them."""
    job = await asked.kernel.automation(job_id, owner=asked.owner)
    session = await asked.kernel.store.session_by_id(job.session_id)
    found = await asked.kernel.runs_of(
        job.id, owner=asked.owner, limit=limit + 1, before=seq_of(cursor, _AFTER_ALL)
    )
    shown = found[:limit]
    return common.RunsOut(
        runs=[views.run(run, session.key) for run in shown],
        next_cursor=cursor_of_seq(shown[-1].slot) if len(found) > limit else None,
    )


_AFTER_ALL = 1 << 53
"""Behind any slot."""


@router.get("/automations/{job_id}/explain", summary="Why did it run, or not?")
async def explain_automation(
    job_id: JobId,
    asked: AuthenticatedRequest,
    slot: Annotated[
        str | None,
        Query(
            max_length=40,
            description="A moment of the job, RFC 3339. Left out: how it stands, and its newest run.",
        ),
    ] = None,
) -> shapes.ExplanationOut:
    """What became of a moment, what decided it, and the next five."""
    job = await asked.kernel.automation(job_id, owner=asked.owner)
    _, told = await shapes.explained(asked.kernel, job.id, slot=_moment(slot), owner=asked.owner)
    return told


async def _one(kernel: Kernel, job: Job) -> shapes.JobOut:
    (shown,) = await shapes.shown(kernel, [job])
    return shown


async def _trigger(
    kernel: Kernel, key: str, owner: Asker, schedule: shapes.Schedule, timezone: str | None
) -> Trigger:
    zone = kernel.zone_in(await kernel.find(key, owner=owner), timezone)
    return shapes.trigger_in(schedule, now=to_moment(kernel.clock.ms()), zone=zone)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        # A plus sign that was not percent-encoded arrives as a space.
        moment = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise Refused(
            422, "invalid_time", "slot: a moment is RFC 3339 with an offset: 2026-11-16T09:00:00+01:00"
        )
    return moment
