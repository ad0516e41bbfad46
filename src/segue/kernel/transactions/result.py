"""Results of transactions: what was written, the events to publish, and the workers to wake."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

from segue.model.records import Event
from segue.record import record

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Name(StrEnum):
    """The workers of a process, by what wakes them."""

    TIMER = "timer"
    """A job was created, changed or taken."""
    USER = "user"
    """A lane in which a user waits became ready."""
    SCHEDULE = "schedule"
    """A lane in which only scheduled turns wait became ready."""
    COURIER = "courier"
    """A delivery was written."""
    KEEPER = "keeper"
    """A turn was asked to stop."""
    ARCHIVIST = "archivist"
    """A session may be due for archiving, or a task waits."""
    INDEXER = "indexer"
    """Messages may have been added to a log."""
    PUSHER = "pusher"
    """Something was said to an owner, whose devices may have to be told."""
    REAPER = "reaper"
    PRUNER = "pruner"
    DAYS = "days"


@record
class Result(Generic[T_co]):
    """Publish `events` and wake `wake` when the transaction is committed (`WorkerContext.announce`)."""

    value: T_co
    events: Sequence[Event] = ()
    wake: frozenset[Name] = frozenset()
    ready_at: int | None = None
    """When the next turn of the lane became due, or will, if one waits."""


def combined(value: T, results: Iterable[Result[None]]) -> Result[T]:
    """The value, with the events and wakes of several results."""
    several = list(results)
    ready = [result.ready_at for result in several if result.ready_at is not None]
    return Result(
        value=value,
        events=[event for result in several for event in result.events],
        wake=frozenset().union(*(result.wake for result in several)),
        ready_at=min(ready, default=None),
    )
