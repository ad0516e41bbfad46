"""States and outcomes, and the state machine of a turn.

            admit             lease               settle
    (new) ────────► queued ────────► running ────────────► done      ok · empty · asked
                      │ ▲               │ │
               cancel │ └───────────────┘ ├──────────────► failed    error · interrupted
                      ▼   crash or retry  └──────────────► cancelled stopped
                  cancelled

Transitions, and the transactions that make them
  admit     a message or a due slot enters the lane                      lane.admit
  lease     a worker leases the lane and starts its first turn           lease.lease
  settle    the worker writes the end, under its fence                   settle.settle
  retry     a failed turn is requeued, as its policy allows              settle.retry
  crash     the lease expired before the turn started a tool             settle.reclaim, settle.give_up
  cancel    a queued turn leaves the lane                                lane.cancel

Invariants
  - at most one turn of a session is running (index `turns_running`)
  - a running turn ends only under the fence that it was started with
  - a final state never changes
"""

from enum import StrEnum

from segue.record import positional

MAX_CRASHES = 3
"""A turn whose worker was lost this often in a row is parked and not tried again."""


class TurnState(StrEnum):
    """The state of a turn. The last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class UnifiedOwner(StrEnum):
    """The session that owns a cron job that is made while all chats of a user share one conversation."""

    CHAT = "chat"
    """The chat it was made in: it lists and delivers the job, and is not deleted without a warning."""
    UNIFIED = "unified"
    """The common session: every chat lists the job, and it outlives the chats."""


class Outcome(StrEnum):
    """How a slot or a turn ended: `docs/lifecycle.md`."""

    OK = "ok"
    """The agent answered."""
    EMPTY = "empty"
    """The agent ended without text."""
    ASKED = "asked"
    """The agent asked the user a question and waits for the answer."""
    ERROR = "error"
    """The agent failed, or ran out of time."""
    STOPPED = "stopped"
    """A user or an operator stopped it."""
    SKIPPED = "skipped"
    """Its policy said not to run (busy, overlap), or a skip was requested."""
    MISSED = "missed"
    """It did not run in time: no worker was running, or its session was busy for too long."""
    INTERRUPTED = "interrupted"
    """Its worker was lost after it may have acted, so it is not run again."""
    CANCELLED = "cancelled"
    """Taken out of the lane before it started."""


FAILURES = frozenset({Outcome.ERROR, Outcome.INTERRUPTED})
"""The outcomes that count towards pausing a job."""


class JobState(StrEnum):
    """The state of a job. An `ended` job does not fire again; a `removed` one is no longer listed."""

    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"
    REMOVED = "removed"


class JobKind(StrEnum):
    """What users see a job as. By default `schedule` derives it from the action."""

    CRON = "cron"
    """Asks the agent; the default for `Ask`."""
    RECALL = "recall"
    """An agent calls itself back; made by `set_recall`."""
    MESSAGE = "message"
    """Sends a text; the default for `Say`."""
    SYSTEM = "system"
    """Calls a function; the default for `Call`."""
    LEGACY = "legacy"
    """Imported from another scheduler; it runs in a session of its own."""


class CallType(StrEnum):
    """When a recall fires."""

    ONCE = "once"
    """At a moment."""
    RECURRING = "recurring"
    """From a moment on, each time an interval after the last."""
    IMMEDIATE = "immediate"
    """As soon as the conversation is free."""


class RecallStatus(StrEnum):
    """The status of a recall. The last two are final."""

    PENDING = "pending"
    """Its turn has not started: its time has not come, or its session is busy."""
    RUNNING = "running"
    """Its turn has started and has not ended."""
    FIRED = "fired"
    """Its turn has ended well, or was stopped."""
    CANCELLED = "cancelled"
    """It was cancelled, or it failed."""


class MessageStatus(StrEnum):
    """The status of a scheduled message. The last three are final."""

    PENDING = "pending"
    SENT = "sent"
    CANCELLED = "cancelled"
    """Cancelled, or replaced by another message."""
    FAILED = "failed"
    """It could not be sent, or it is unknown whether it was."""


EVALUATED = frozenset({JobKind.SYSTEM, JobKind.LEGACY})
"""The kinds of jobs whose answers are sent only if `evaluate_response` returns True."""


class DeliveryState(StrEnum):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WhenBusy(StrEnum):
    """What a user's message does when its session is busy."""

    ENQUEUE = "enqueue"
    """Wait for its turn."""
    INJECT = "inject"
    """Join the user's turn under way at its next model step; behind a scheduled turn, wait."""
    INTERRUPT = "interrupt"
    """Stop what runs and be next."""
    REJECT = "reject"
    """Refuse the message with `SessionBusy`."""


def recall_status(state: JobState, turn_state: str | None, outcome: Outcome | None) -> RecallStatus:
    """The status of a recall, from the states of its job and unfinished turn and its newest run's outcome.

    `turn_state` is `queued` until the turn starts for the first time, then `running`.
    """
    if state in (JobState.ACTIVE, JobState.ENDED) and turn_state == TurnState.RUNNING:
        return RecallStatus.RUNNING
    if state is JobState.ACTIVE or (state is JobState.ENDED and turn_state is not None):
        return RecallStatus.PENDING
    fired = outcome in (None, Outcome.OK, Outcome.EMPTY, Outcome.ASKED, Outcome.STOPPED)
    return RecallStatus.FIRED if state is JobState.ENDED and fired else RecallStatus.CANCELLED


def message_status(state: JobState, fired: bool, outcome: Outcome | None) -> MessageStatus:
    """The status of a scheduled message, from the state of its job and the outcome of its run, if any."""
    if not fired:
        waits = state in (JobState.ACTIVE, JobState.PAUSED)
        return MessageStatus.PENDING if waits else MessageStatus.CANCELLED
    match outcome:
        case None:
            return MessageStatus.PENDING
        case Outcome.OK:
            return MessageStatus.SENT
        case Outcome.CANCELLED | Outcome.SKIPPED:
            return MessageStatus.CANCELLED
        case _:
            return MessageStatus.FAILED


@positional
class Rerun:
    """The turn goes back to the lane for another attempt."""


@positional
class Close:
    """The turn ends as interrupted, for this reason."""

    reason: str


def after_crash(*, crash: str, acted: bool, crashes: int) -> Rerun | Close:
    """Decides about a turn whose worker was lost; `crashes` includes this loss."""
    if crashes >= MAX_CRASHES:
        return Close(f"parked: its worker was lost {crashes} times in a row")
    if crash == "close":
        return Close("its worker was lost, and its policy says not to run it again")
    if acted and crash != "rerun":
        return Close("its worker was lost after it may have acted")
    return Rerun()
