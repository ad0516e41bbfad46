"""Routes of automations: the cron jobs of a session, their runs, and explanations."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Query

from segue.kernel.kernel import Kernel
from segue.model.action import View
from segue.model.policy import Policy
from segue.model.prompts import Mode
from segue.model.records import Asker, Job, Place
from segue.server.error_responses import Refused, responses
from segue.server.idempotency import IdempotencyKey, idempotency_request
from segue.server.paging import Cursor, Limit, decode_cursor, decode_seq, encode_cursor, encode_seq
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import automations as schemas
from segue.server.schemas import common, views
from segue.times.clock import to_moment
from segue.times.trigger import Trigger

router = APIRouter(
    route_class=AuthenticatedRoute, tags=["Automations"], responses=responses(400, 401, 403, 404, 422)
)

JobId: TypeAlias = Annotated[
    str, Path(description="The job's id.", min_length=1, max_length=200, pattern=r"^[^\x00]+$")
]
Include: TypeAlias = Annotated[
    list[Literal["system", "ended"]],
    Query(description="`system` adds system jobs, `ended` adds jobs that have ended."),
]


@router.get("/sessions/{key}/automations", summary="List automations")
async def list_automations(
    key: KeyInPath,
    request: AuthenticatedRequest,
    include: Include = [],  # noqa: B006 — FastAPI reads it as the default; it is never changed
    limit: Limit = 100,
    cursor: Cursor = None,
) -> schemas.JobsOut:
    """List the cron jobs of the session, including paused ones, newest first."""
    found = await request.kernel.cron_jobs(
        key, owner=request.owner, limit=limit + 1, before=decode_cursor(cursor), ended="ended" in include
    )
    page = found[:limit]
    more = encode_cursor(Place(page[-1].created_at, page[-1].id)) if len(found) > limit else None
    if "system" in include and cursor is None:
        page += await request.kernel.protected(owner=request.owner)
    return schemas.JobsOut(jobs=await schemas.jobs_out(request.kernel, page), next_cursor=more)


@router.post(
    "/sessions/{key}/automations", summary="Add an automation", status_code=201, responses=responses(409, 413)
)
async def add_automation(
    key: KeyInPath,
    body: schemas.AddAutomation,
    request: AuthenticatedRequest,
    idempotency_key: IdempotencyKey = None,
) -> schemas.JobOut:
    """Schedule turns of the agent in this session. Creates the session if it does not exist."""
    await request.may_open(key)
    job = await request.kernel.add_cron_job(
        key,
        await _trigger(request.kernel, key, request.owner, body.schedule, body.timezone),
        body.message,
        name=body.name,
        policy=schemas.policy_in(body.policy, Policy()),
        mode=Mode(body.mode),
        view=View(body.view),
        owner=request.owner,
        request=await idempotency_request(request, idempotency_key),
    )
    return await _one(request.kernel, job)


@router.get("/automations/{job_id}", summary="Get an automation")
async def get_automation(job_id: JobId, request: AuthenticatedRequest) -> schemas.JobOut:
    return await _one(request.kernel, await request.kernel.cron_job(job_id, owner=request.owner))


@router.patch("/automations/{job_id}", summary="Change an automation", responses=responses(409, 413))
async def change_automation(
    job_id: JobId, body: schemas.ChangeAutomation, request: AuthenticatedRequest
) -> schemas.JobOut:
    """Change the given fields. A queued or running run is not affected."""
    job = await request.kernel.cron_job(job_id, owner=request.owner)
    if body.model_dump(exclude_none=True):
        session = await request.kernel.store.session_by_id(job.session_id)
        trigger = body.schedule and await _trigger(
            request.kernel, session.key, session.owner, body.schedule, body.timezone
        )
        job = await request.kernel.change_cron_job(
            job_id,
            name=body.name,
            message=body.message,
            trigger=trigger or None,
            mode=body.mode and Mode(body.mode),
            view=body.view and View(body.view),
            policy=schemas.policy_in(body.policy, job.policy),
            owner=request.owner,
        )
    return await _one(request.kernel, job)


@router.delete(
    "/automations/{job_id}",
    summary="Remove an automation",
    response_model_exclude_none=True,
    responses=responses(409),
)
async def remove_automation(job_id: JobId, request: AuthenticatedRequest) -> common.Deleted:
    """Remove the automation and cancel a queued run. A running turn continues to its end."""
    job = await request.kernel.cron_job(job_id, owner=request.owner)
    await request.kernel.remove(job.id, owner=request.owner)
    return common.Deleted(deleted=True)


@router.post("/automations/{job_id}/pause", summary="Pause an automation", responses=responses(409))
async def pause_automation(job_id: JobId, request: AuthenticatedRequest) -> schemas.JobOut:
    """Start no new runs until it is resumed. A queued or running run continues."""
    job = await request.kernel.cron_job(job_id, owner=request.owner)
    return await _one(
        request.kernel, await request.kernel.pause(job.id, reason="paused by the user", owner=request.owner)
    )


@router.post("/automations/{job_id}/resume", summary="Resume an automation", responses=responses(409))
async def resume_automation(job_id: JobId, request: AuthenticatedRequest) -> schemas.JobOut:
    """Continue with the next slot. Slots that passed during the pause do not run."""
    job = await request.kernel.cron_job(job_id, owner=request.owner)
    return await _one(request.kernel, await request.kernel.resume(job.id, owner=request.owner))


@router.post("/automations/{job_id}/skip", summary="Skip the next run", responses=responses(409))
async def skip_automation(job_id: JobId, request: AuthenticatedRequest) -> schemas.JobOut:
    """Skip the next slot. It is recorded as skipped."""
    job = await request.kernel.cron_job(job_id, owner=request.owner)
    return await _one(request.kernel, await request.kernel.skip(job.id, owner=request.owner))


@router.get("/automations/{job_id}/runs", summary="List an automation's runs")
async def list_runs(
    job_id: JobId, request: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> common.RunsOut:
    """List runs, newest first, including skipped and missed ones."""
    job = await request.kernel.cron_job(job_id, owner=request.owner)
    session = await request.kernel.store.session_by_id(job.session_id)
    found = await request.kernel.runs_of(
        job.id, owner=request.owner, limit=limit + 1, before=decode_seq(cursor, _AFTER_ALL)
    )
    page = found[:limit]
    return common.RunsOut(
        runs=[views.run(run, session.key) for run in page],
        next_cursor=encode_seq(page[-1].slot) if len(found) > limit else None,
    )


_AFTER_ALL = 1 << 53
"""Later than any slot."""


@router.get("/automations/{job_id}/explain", summary="Explain why an automation ran or did not run")
async def explain_automation(
    job_id: JobId,
    request: AuthenticatedRequest,
    slot: Annotated[
        str | None,
        Query(
            max_length=40,
            description="A slot of the job, RFC 3339. Default: the current state and the newest run.",
        ),
    ] = None,
) -> schemas.ExplanationOut:
    """Return the outcome of a slot, the reasons for it, and the next five slots."""
    job = await request.kernel.cron_job(job_id, owner=request.owner)
    _, explanation = await schemas.explain_job(
        request.kernel, job.id, slot=_moment(slot), owner=request.owner
    )
    return explanation


async def _one(kernel: Kernel, job: Job) -> schemas.JobOut:
    (job_out,) = await schemas.jobs_out(kernel, [job])
    return job_out


async def _trigger(
    kernel: Kernel, key: str, owner: Asker, schedule: schemas.Schedule, timezone: str | None
) -> Trigger:
    zone = kernel.zone_in(await kernel.find(key, owner=owner), timezone)
    return schemas.trigger_in(schedule, now=to_moment(kernel.clock.ms()), zone=zone)


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
            422, "invalid_time", "slot: give RFC 3339 with an offset, such as 2026-11-16T09:00:00+01:00"
        )
    return moment
