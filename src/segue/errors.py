"""All errors, grouped by what the caller can do about them.

SegueError
├── Invalid              the input is wrong: change it and call again
│   ├── BadKey           a session key
│   ├── BadText          a message, a prompt, a name
│   │   └── EmptyText    a message without a word
│   ├── BadTime          a human time
│   │   └── ZoneNeeded   a time on the clock, and no time zone to read it in
│   ├── BadTrigger       a schedule
│   │   └── UnknownDays  a set of working days that does not exist
│   ├── BadDays          a set of working days: its name or its calendar file
│   │   └── NeverWorks   a set without a working day in the next year
│   ├── BadCalendar      a calendar file whose events cannot be read
│   ├── UnknownModel     a model that no setting names
│   ├── BadPolicy        a policy
│   │   └── NotHere      a condition on a job that is not one of the same session
│   ├── BadRecall        a recall: its type, its interval, its instruction
│   ├── BadSetting       a setting of the kernel
│   │   └── ModelKeyMissing the configured model's provider needs a key, and none is set
│   ├── BadMount         a mount of the server: too late, twice, or below a path that cannot be used
│   ├── BadFile          a file: empty, too large, or too many of them in a message
│   ├── UnknownMessage   a message to answer that the session does not have
│   ├── NotJson          a framework's state that cannot be stored as a JSON object
│   ├── MissingPackage   a part of Segue whose extra is not installed
│   └── UnknownVersion   a framework in a version that its adapter does not know
├── NotFound             nothing of that name exists for this caller
├── Conflict             it exists, but not in the state that the call needs
│   ├── NotOpen          the kernel has not been opened, or has been closed
│   ├── AlreadyOpen      the kernel is open; it cannot be opened twice
│   ├── AlreadyRunning   the kernel's workers run; they cannot run twice
│   ├── WouldDeadlock    a blocking kernel was called by code of its own event loop
│   ├── ChangedMeanwhile it was changed between the read and the write: read it again
│   ├── DuplicateId      the id is taken
│   ├── AmbiguousKey     several users of the account have a session of that key
│   ├── NameTaken        the idempotency key belongs to another request
│   ├── SessionBusy      a turn is running, and the caller asked not to wait
│   ├── TooManyJobs      the session has as many automations as it may have
│   ├── TooManyFiles     the session has no room for the file
│   ├── RecallPending    the session has a recall already
│   ├── NotRecurring     only a recurring recall can be skipped
│   ├── TooManyRecalls   too many recalls in a row were set by recalls
│   ├── NotPrivateChat   messages are scheduled in chats with one person only
│   ├── SessionHasJobs   the session still owns jobs; they are in `.jobs`
│   ├── DaysInUse        jobs use the set of working days; their ids are in `.jobs`
│   ├── CannotReplace    the turn cannot be replaced by another one
│   │   ├── TurnNotEnded   it waits or runs
│   │   ├── TurnScheduled  a job started it
│   │   ├── TurnReplaced   another turn replaces it already
│   │   └── TurnArchived   it is in an archive, whose summary a model is given
│   ├── TurnEnded        too late to tell: the turn has ended
│   ├── NotInTurn        the caller is not an agent, nor a task that one started
│   └── AlreadyStarted   too late to cancel: it is running, or it has ended
├── LeaseLost            another worker holds the lane now: drop the work
├── AgentFailed          the agent could not answer; `.shown` is its text for the user
├── NotAllowed           the server does not accept the client's key, or not for this
├── WrongServer          no Segue answers at this address, or one of a version that the client does not know
├── ServerUnreachable    the server did not answer; a request that may be repeated was repeated
└── StoreError           the database could not do it
    ├── StoreUnusable    Segue cannot write to this file or server
    │   └── DatabaseGone the file was deleted or replaced while it was in use; the process must end
    ├── SchemaTooNew     a newer Segue wrote this database
    └── StoreUnavailable it did not answer in time; nothing was done, try again
        ├── Undecided    the connection was lost during COMMIT: check whether it was done before you retry
        └── NotStored    a scheduled message was not stored, so it will not be sent

Every error is a sentence that says what was wanted, what was found and what to do.
`code` is a stable word for programs. HTTP codes live in the server.
"""

from collections.abc import Sequence


class SegueError(Exception):
    code = "error"


class Invalid(SegueError):
    code = "invalid"
    field: str | None = None
    """The field of the request that has the wrong value, if the server knows it."""


class BadKey(Invalid):
    code = "bad_key"


class BadText(Invalid):
    code = "bad_text"


class EmptyText(BadText):
    code = "empty_text"


class BadTime(Invalid):
    code = "invalid_time"


class ZoneNeeded(BadTime):
    code = "zone_needed"


class BadTrigger(Invalid):
    code = "bad_trigger"


class UnknownDays(BadTrigger):
    """A schedule names a set of working days that does not exist."""

    code = "unknown_days"


class BadDays(Invalid):
    """A set of working days that cannot be stored: its name or its calendar file is wrong."""

    code = "bad_days"


class NeverWorks(BadDays):
    """A set of working days that has none in the next year."""

    code = "never"


class BadCalendar(Invalid):
    """A calendar file whose events cannot be read as jobs."""

    code = "bad_calendar"


class UnknownModel(Invalid):
    """A job names a model that is not in `Settings.models`."""

    code = "unknown_model"


class BadPolicy(Invalid):
    code = "bad_policy"


class PriceUnknown(Invalid):
    """A budget in US dollars needs the price of the model."""

    code = "price_unknown"


class NotHere(BadPolicy):
    """A condition names a job of another session, a job that does not exist, or its own job."""

    code = "not_here"


class BadRecall(Invalid):
    code = "bad_recall"


class BadSetting(Invalid):
    code = "bad_setting"


class ModelKeyMissing(BadSetting):
    code = "model_key_missing"


class BadMount(Invalid):
    code = "bad_mount"


class BadFile(Invalid):
    code = "bad_file"


class UnknownMessage(Invalid):
    code = "unknown_message"


class NotJson(Invalid):
    code = "not_json"


class MissingPackage(Invalid, ImportError):
    code = "missing_package"


class UnknownVersion(Invalid):
    code = "unknown_version"


class NotFound(SegueError):
    code = "not_found"


class Conflict(SegueError):
    code = "conflict"


class NotOpen(Conflict):
    code = "not_open"


class AlreadyOpen(Conflict):
    code = "already_open"


class AlreadyRunning(Conflict):
    code = "already_running"


class WouldDeadlock(Conflict):
    code = "would_deadlock"


class ChangedMeanwhile(Conflict):
    """Has the code of `Conflict`, because a caller handles it as one."""


class DuplicateId(Conflict):
    code = "duplicate_id"


class AmbiguousKey(Conflict):
    code = "ambiguous_key"

    def __init__(self, key: str, users: Sequence[str]) -> None:
        super().__init__(
            f"several users have a session {key}: {', '.join(users)}; say whose you mean, by `?user=` over "
            "HTTP, by `--user` on the command line, or by `owner=` in Python"
        )


class NameTaken(Conflict):
    code = "idempotency_key_reused"


class SessionBusy(Conflict):
    code = "session_busy"


class RecallPending(Conflict):
    code = "recall_pending"


class NotRecurring(Conflict):
    code = "not_recurring"


class TooManyRecalls(Conflict):
    code = "too_many_recalls"


class NotPrivateChat(Conflict):
    code = "not_private_chat"


class SessionHasJobs(Conflict):
    code = "session_has_jobs"

    def __init__(self, message: str, jobs: Sequence[object]) -> None:
        super().__init__(message)
        self.jobs = jobs


class DaysInUse(Conflict):
    """Active or paused jobs use the set of working days that is to be deleted."""

    code = "in_use"

    def __init__(self, message: str, jobs: Sequence[str]) -> None:
        super().__init__(message)
        self.jobs = jobs


class TooManyJobs(Conflict):
    code = "too_many_jobs"


class TooManyFiles(Conflict):
    code = "too_many_files"


class CannotReplace(Conflict):
    """The turn cannot be replaced by another one."""

    code = "cannot_replace"


class TurnNotEnded(CannotReplace):
    code = "turn_not_ended"


class TurnScheduled(CannotReplace):
    code = "turn_scheduled"


class TurnReplaced(CannotReplace):
    code = "turn_replaced"


class TurnArchived(CannotReplace):
    code = "turn_archived"


class TurnEnded(Conflict):
    code = "turn_ended"


class NotInTurn(Conflict):
    code = "not_in_turn"


class AlreadyStarted(Conflict):
    code = "already_started"


class LeaseLost(SegueError):
    code = "lease_lost"


class AgentFailed(SegueError):
    """Raised by an agent. `shown` is for the conversation; the message is stored with the run.

    `code` tells programs the cause, so that a page can lead to what fixes it.
    """

    code = "agent_failed"

    def __init__(self, message: str, *, shown: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.shown = shown
        self.code = code or type(self).code


class NotAllowed(SegueError):
    code = "forbidden"


class WrongServer(SegueError):
    code = "wrong_server"


class ServerUnreachable(SegueError):
    code = "server_unreachable"


class StoreError(SegueError):
    code = "storage_failure"


class StoreUnusable(StoreError):
    code = "store_unusable"


class DatabaseGone(StoreUnusable):
    code = "database_gone"


class SchemaTooNew(StoreError):
    code = "schema_too_new"


class StoreUnavailable(StoreError):
    code = "store_unavailable"


class Undecided(StoreUnavailable):
    code = "undecided"


class NotStored(StoreUnavailable):
    code = "storage_failure"
