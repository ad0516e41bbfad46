"""The states and outcomes, and the one state machine of the house.

            admit             lease               settle
    (new) ────────► queued ────────► running ────────────► done      ok · empty
                      │ ▲               │ │
               cancel │ └───────────────┘ ├──────────────► failed    error · interrupted
                      ▼   crash or retry  └──────────────► cancelled stopped
                  cancelled

Moves and who makes them
  admit     a message or a due slot enters the lane               lane.admit
  lease     the lane's owner takes the first turn in rank         leasing.lease
  begin     both at once: a due slot, an empty lane, a free seat  leasing.begin
  settle    the owner, under its fence, writes the end            settle.settle
  retry     a failed turn whose policy allows another try         settle.retry
  crash     the lease ran out before any tool was started         settle.take_back, settle.hand_back
  cancel    a queued turn is taken out                            lane.cancel

Invariants
  - at most one turn of a session is running (index `turns_running`)
  - a running turn ends only under the fence it was started with
  - a state that ended never changes again
"""

from enum import StrEnum

from segue.record import positional

MAX_CRASHES = 3
"""A turn that took its worker down this often in a row is parked, not tried again."""


class TurnState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class UnifiedOwner(StrEnum):
    """Who owns a cron job that is made while all chats of a user share one conversation."""

    CHAT = "chat"
    """The chat it was made in: that one lists it, delivers it, and does not go without a word."""
    UNIFIED = "unified"
    """The common session: every chat lists it, and it outlives them."""


class Outcome(StrEnum):
    OK = "ok"
    """The agent answered."""
    EMPTY = "empty"
    """The agent ended without a word."""
    ERROR = "error"
    """The agent failed, or ran out of time."""
    STOPPED = "stopped"
    """Somebody stopped it."""
    SKIPPED = "skipped"
    """Its policy said not to run: busy, overlap, or a skip that was asked for."""
    MISSED = "missed"
    """It did not run in time: no worker looked, or its session was busy for too long."""
    INTERRUPTED = "interrupted"
    """Its worker was lost after it may have acted, so it is not run again."""
    CANCELLED = "cancelled"
    """Taken out of the lane before it started."""


FAILURES = frozenset({Outcome.ERROR, Outcome.INTERRUPTED})
"""The outcomes that count towards pausing a job."""


class JobState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"
    REMOVED = "removed"


class JobKind(StrEnum):
    CRON = "cron"
    RECALL = "recall"
    MESSAGE = "message"
    SYSTEM = "system"
    LEGACY = "legacy"


class CallType(StrEnum):
    """When a recall calls its agent back."""

    ONCE = "once"
    """At a moment."""
    RECURRING = "recurring"
    """From a moment on, each time an interval after the last."""
    IMMEDIATE = "immediate"
    """As soon as the conversation is free."""


class RecallStatus(StrEnum):
    PENDING = "pending"
    """Its moment is to come, or has come while its session is busy: its turn has not started."""
    RUNNING = "running"
    """Its turn has started and has not ended."""
    FIRED = "fired"
    """Its turn has ended well, or was stopped."""
    CANCELLED = "cancelled"
    """Somebody took it back, or it failed."""


class MessageStatus(StrEnum):
    """What became of a scheduled message. The last three are ends."""

    PENDING = "pending"
    SENT = "sent"
    CANCELLED = "cancelled"
    """Taken back, or replaced by another."""
    FAILED = "failed"
    """It could not be sent, or nobody knows whether it was."""


EVALUATED = frozenset({JobKind.SYSTEM, JobKind.LEGACY})
"""The jobs whose answers go out only if `evaluate_response` says so."""


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
    """By the state of its job, that of its unfinished turn, and the outcome of its newest run.

    `turn_state` is `queued` until the turn starts for the first time, then `running`.
    """
    if state in (JobState.ACTIVE, JobState.ENDED) and turn_state == TurnState.RUNNING:
        return RecallStatus.RUNNING
    if state is JobState.ACTIVE or (state is JobState.ENDED and turn_state is not None):
        return RecallStatus.PENDING
    fired = outcome in (None, Outcome.OK, Outcome.EMPTY, Outcome.STOPPED)
    return RecallStatus.FIRED if state is JobState.ENDED and fired else RecallStatus.CANCELLED


def message_status(state: JobState, fired: bool, outcome: Outcome | None) -> MessageStatus:
    """By the state of its job and, once that has fired, by the outcome of its run, if that has ended."""
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
    """What becomes of a turn whose worker was lost; `crashes` counts this one."""
    if crashes >= MAX_CRASHES:
        return Close(f"parked: its worker was lost {crashes} times in a row")
    if crash == "close":
        return Close("its worker was lost, and its policy says not to run it again")
    if acted and crash != "rerun":
        return Close("its worker was lost after it may have acted")
    return Rerun()
