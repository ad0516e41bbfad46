"""A run in sentences."""

from collections.abc import Iterator
from datetime import timedelta

from segue.cli.output import local_time
from segue.model import Job, Run
from segue.states import JobState
from segue.wording import spoken


def explained(run: Run, job: Job, zone: str) -> Iterator[str]:
    """What is known: what it was for, when it was taken up, how it ended, what comes next."""
    yield f"Job {job.id} ({job.name}) was due at {local_time(run.slot, zone)} ({zone})."
    yield from _beginning(run, zone)
    yield from _ending(run, zone)
    yield _future(job, zone)


def _beginning(run: Run, zone: str) -> Iterator[str]:
    if run.missed_count:
        yield f"It also stands for {run.missed_count} earlier moments that nobody was there for."
    if run.started_at is not None:
        late = spoken(timedelta(milliseconds=run.lateness_ms), units=2)
        yield f"It was taken up at {local_time(run.started_at, zone)}, {late} late."
    elif run.outcome is None:
        yield f"It waits in its session since {local_time(run.queued_at, zone)}: one turn runs at a time."
    if run.attempt > 1:
        yield f"This was attempt {run.attempt}."


def _ending(run: Run, zone: str) -> Iterator[str]:
    if run.outcome is None:
        if run.state == "running":
            yield "It is running."
        return
    because = f", because {run.reason}" if run.reason else ""
    yield f"It ended at {local_time(run.finished_at, zone)} as {run.outcome}{because}."
    if run.error:
        yield f"The error was: {run.error.strip().splitlines()[-1]}"


def _future(job: Job, zone: str) -> str:
    if job.state is not JobState.ACTIVE or job.slot is None:
        return f"The job is {job.state}{f', because {job.state_reason}' if job.state_reason else ''}."
    return f"Next, it is due at {local_time(job.slot, zone)}."
