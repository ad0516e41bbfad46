"""Routes of automations: the cron jobs of a session, their runs, and explanations."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from fastapi import APIRouter, Path, Query, Response

from segue import errors
from segue.kernel.api.jobs import OwnedJob
from segue.kernel.kernel import Kernel
from segue.model.action import Ask, View, changed_ask
from segue.model.policy import Policy
from segue.model.prompts import Mode
from segue.model.records import NEWEST, Job, PageStart, Session
from segue.model.states import JobKind
from segue.server.error_responses import Refused, naming, responses
from segue.server.paging import Cursor, Limit, decode_cursor, decode_seq, encode_cursor, encode_seq
from segue.server.request_context import AuthenticatedRequest, AuthenticatedRoute, IdempotencyKey
from segue.server.routes.sessions import KeyInPath
from segue.server.schemas import automations as schemas
from segue.server.schemas import common, views
from segue.server.schemas.forecasts import DryRunOut, dry_run_out
from segue.server.schemas.models import ModelsOut, models_out
from segue.server.schemas.runs import RunsOut
from segue.times.clock import to_moment
from segue.times.trigger import Cron, Trigger

_ANY_DAYS = "CN"

_NAMED = {
    errors.BadTrigger: "schedule",
    errors.BadTime: "schedule",
    errors.BadPolicy: "policy",
    errors.PriceUnknown: "policy.budget",
}

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


@router.get("/models", summary="List models")
async def list_models(request: AuthenticatedRequest) -> ModelsOut:
    """List the models that automations may name, with the price of each if it is known."""
    return models_out(request.kernel.settings)


@router.get("/sessions/{key}/automations", summary="List automations")
async def list_automations(
    key: KeyInPath,
    request: AuthenticatedRequest,
    include: Include = [],  # noqa: B006 — FastAPI reads it as the default; it is never changed
    limit: Limit = 100,
    cursor: Cursor = None,
) -> schemas.JobsOut:
    """List the cron jobs of the session, including paused ones, newest first."""
    kernel = request.kernel
    session = await kernel.sessions.get(key, owner=request.owner)
    found = await kernel.jobs.list(
        session,
        kind=JobKind.CRON,
        limit=limit + 1,
        before=decode_cursor(cursor),
        ended="ended" in include,
    )
    page = found[:limit]
    more = encode_cursor(page[-1].page_start) if len(found) > limit else None
    if "system" in include and cursor is None:
        page += await kernel.jobs.protected(owner=request.owner)
    return schemas.JobsOut(jobs=await schemas.jobs_out(kernel, page, session), next_cursor=more)


@router.post(
    "/sessions/{key}/automations",
    summary="Add an automation",
    status_code=201,
    responses={
        200: {"description": "With `dry_run`: what would be made.", "model": DryRunOut},
        **responses(409, 413),
    },
)
async def add_automation(
    key: KeyInPath,
    body: schemas.AddAutomation,
    request: AuthenticatedRequest,
    response: Response,
    dry_run: Annotated[bool, Query(description="Return what would be made, and store nothing.")] = False,
    idempotency_key: IdempotencyKey = None,
) -> schemas.JobOut | DryRunOut:
    """Schedule turns of the agent in this session. Creates the session if it does not exist."""
    await request.may_open(key)
    kernel = request.kernel
    session = await kernel.sessions.find(key, owner=request.owner)
    with naming(_NAMED):
        trigger = await _trigger(kernel, session, body.schedule, body.timezone)
        action = Ask(
            body.message, mode=Mode(body.mode), view=View(body.view), model=body.model, look=body.look
        )
        policy = schemas.policy_in(body.policy, Policy())
        if dry_run:
            response.status_code = 200
            found = await kernel.jobs.preview(
                session or key,
                trigger,
                action,
                name=body.name,
                policy=policy,
                limits=True,
                owner=request.owner,
            )
            return dry_run_out(found, kernel.sessions.zone_in(session))
        job = await kernel.jobs.add(
            session or key,
            trigger,
            action,
            name=body.name,
            policy=policy,
            limits=True,
            owner=request.owner,
            request=await request.idempotency(idempotency_key),
        )
    (job_out,) = await schemas.jobs_out(kernel, [job], *([session] if session else []))
    return job_out


@router.get("/automations/{job_id}", summary="Get an automation")
async def get_automation(job_id: JobId, request: AuthenticatedRequest) -> schemas.JobOut:
    found = await _load(request, job_id)
    return await _answer(request, found, found.job)


@router.patch("/automations/{job_id}", summary="Change an automation", responses=responses(409, 413))
async def change_automation(
    job_id: JobId, body: schemas.ChangeAutomation, request: AuthenticatedRequest
) -> schemas.JobOut:
    """Change the given fields. A queued or running run is not affected."""
    kernel = request.kernel
    found = await _load(request, job_id)
    job = found.job
    if body.model_fields_set:
        mode, view = body.mode and Mode(body.mode), body.view and View(body.view)
        models = {name: getattr(body, name) for name in ("model", "look") if name in body.model_fields_set}
        before = job.trigger.days if isinstance(job.trigger, Cron) else None
        with naming(_NAMED):
            trigger = (
                await _trigger(kernel, found.session, body.schedule, body.timezone, before)
                if body.schedule
                else None
            )
            job = await kernel.jobs.update(
                found,
                name=body.name,
                trigger=trigger,
                action=changed_ask(job.action, message=body.message, mode=mode, view=view, **models),
                policy=schemas.policy_in(body.policy, job.policy),
                limits=True,
            )
    return await _answer(request, found, job)


@router.delete(
    "/automations/{job_id}",
    summary="Remove an automation",
    response_model_exclude_none=True,
    responses=responses(409),
)
async def remove_automation(job_id: JobId, request: AuthenticatedRequest) -> common.Deleted:
    """Remove the automation and cancel a queued run. A running turn continues to its end."""
    await request.kernel.jobs.delete(await _load(request, job_id))
    return common.Deleted(deleted=True)


@router.post("/automations/{job_id}/pause", summary="Pause an automation", responses=responses(409))
async def pause_automation(job_id: JobId, request: AuthenticatedRequest) -> schemas.JobOut:
    """Start no new runs until it is resumed. A queued or running run continues."""
    found = await _load(request, job_id)
    return await _answer(request, found, await request.kernel.jobs.pause(found, reason="paused by the user"))


@router.post("/automations/{job_id}/resume", summary="Resume an automation", responses=responses(409))
async def resume_automation(job_id: JobId, request: AuthenticatedRequest) -> schemas.JobOut:
    """Continue with the next slot. Slots that passed during the pause do not run."""
    found = await _load(request, job_id)
    return await _answer(request, found, await request.kernel.jobs.resume(found))


@router.post("/automations/{job_id}/skip", summary="Skip the next run", responses=responses(409))
async def skip_automation(job_id: JobId, request: AuthenticatedRequest) -> schemas.JobOut:
    """Skip the next slot. It is recorded as skipped."""
    found = await _load(request, job_id)
    return await _answer(request, found, await request.kernel.jobs.skip(found))


@router.get("/automations/{job_id}/runs", summary="List an automation's runs")
async def list_automation_runs(
    job_id: JobId, request: AuthenticatedRequest, limit: Limit = 100, cursor: Cursor = None
) -> RunsOut:
    """List runs, newest first, including skipped and missed ones."""
    found = await _load(request, job_id)
    before = PageStart(decode_seq(cursor, NEWEST.at), "")
    runs = await request.kernel.runs.list(job=found, limit=limit + 1, before=before)
    page = runs[:limit]
    return RunsOut(
        runs=[views.run(run, found.session.key) for run in page],
        next_cursor=encode_seq(page[-1].slot) if len(runs) > limit else None,
    )


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
    at: Annotated[str | None, Query(max_length=40, description="The same as `slot`.")] = None,
) -> schemas.ExplanationOut:
    """Return the outcome of a slot, the reasons for it, and the next five slots."""
    asked = _moment(at if slot is None else slot)
    _, explanation = await schemas.explain_job(request.kernel, await _load(request, job_id), asked)
    return explanation


async def _load(request: AuthenticatedRequest, job_id: str) -> OwnedJob:
    return await request.kernel.jobs.load(job_id, kind=JobKind.CRON, owner=request.owner)


async def _answer(request: AuthenticatedRequest, found: OwnedJob, job: Job) -> schemas.JobOut:
    (job_out,) = await schemas.jobs_out(request.kernel, [job], found.session)
    return job_out


async def _trigger(
    kernel: Kernel,
    session: Session | None,
    schedule: schemas.Schedule,
    timezone: str | None,
    days: str | None = None,
) -> Trigger:
    """The trigger of a schedule. `days`: the set that words about working days mean; else the session's."""
    zone = kernel.sessions.zone_in(session, timezone)
    now = to_moment(kernel.clock.ms())
    if days is None and isinstance(schedule, str):
        # Read with any set first: few words mean working days, and only they need the session's set.
        trigger = schemas.trigger_in(schedule, now=now, zone=zone, days=_ANY_DAYS)
        if getattr(trigger, "days", None) != _ANY_DAYS:
            return trigger
        days = await kernel.days.of_session(session)
    return schemas.trigger_in(schedule, now=now, zone=zone, days=days)


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
