"""Runs: the slots of jobs and what became of them."""

from segue.kernel.api.context import OPERATOR, ApiContext, SessionRef
from segue.kernel.api.cost.usage import usage_of_session
from segue.kernel.api.jobs import JobRef, JobsApi
from segue.model.cost.usage_days import SessionUsage
from segue.model.records import NEWEST, Asker, PageStart, Run


class RunsApi:
    """The slots of jobs and what became of them: `kernel.runs`."""

    def __init__(self, context: ApiContext, jobs: JobsApi) -> None:
        self._context = context
        self._jobs = jobs

    async def get(self, run_id: str, *, owner: Asker = OPERATOR) -> Run:
        """Returns the `Run` of an id. Raises `NotFound`."""
        run = await self._context.store.run(run_id)
        await self._context.session_of(run.session_id, owner, f"run {run_id}")
        return run

    async def list(
        self,
        session: SessionRef | None = None,
        *,
        job: JobRef | None = None,
        owner: Asker = OPERATOR,
        limit: int = 100,
        before: PageStart = NEWEST,
    ) -> list[Run]:
        """Returns the runs of a session or of a job, newest first, also those of a removed job.

        `before` is the `page_start` of the last one of the previous page; of a job's runs, those of slots
        before `before.at`, in milliseconds. Raises `NotFound`.
        """
        if job is not None:
            found = await self._jobs.load(job, owner=owner, removed=True)
            return await self._context.store.runs_of_job(found.job.id, limit, before.at)
        if session is None:
            raise TypeError("runs.list takes a session's key, or job=")
        found_session = await self._context.session(session, owner)
        return await self._context.store.runs_of_session(found_session.id, limit, before)

    async def usage(
        self,
        session: SessionRef,
        *,
        days: int = 30,
        timezone: str | None = None,
        owner: Asker = OPERATOR,
    ) -> SessionUsage:
        """Returns what jobs and users' turns used on each of the last days, today among them.

        Days are those of `timezone`, by default of the session's zone. A price that is not known is counted
        in `without_price`, not guessed. Raises `NotFound`, `BadTime`, `BadSetting`.
        """
        found = await self._context.session(session, owner)
        return await usage_of_session(self._context, found, days, timezone)
