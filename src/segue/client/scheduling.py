"""Jobs, runs, recalls and scheduled messages of a client, with the verbs of the kernel's parts."""

from datetime import datetime

from segue.client import parse
from segue.client.records import (
    RemoteExplanation,
    RemoteForecast,
    RemoteJob,
    RemoteMessageScheduled,
    RemotePreview,
    RemoteRun,
    RemoteScheduledMessage,
    RemoteUsage,
)
from segue.client.schedules import automation
from segue.client.transport import Transport
from segue.errors import EmptyText
from segue.kernel.transactions.recalls import call_type_of
from segue.model.action import Action
from segue.model.policy import Policy
from segue.model.records import Recall
from segue.model.states import CallType, MessageStatus
from segue.model.text_checks import MAX_NAME, check_key, check_text
from segue.times.trigger import Trigger


class ClientJobs:
    """Cron jobs of a session, which the HTTP API calls automations: `client.jobs`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def add(
        self,
        key: str,
        trigger: Trigger,
        action: Action,
        *,
        name: str | None = None,
        policy: Policy | None = None,
        idempotency_key: str | None = None,
    ) -> RemoteJob:
        """Makes a job in a session, and returns it. A missing session is made.

        The action is an `Ask`, the trigger `At`, `Every`, `Cron` or `RRule`. The server's limits for users
        apply. Raises what `kernel.jobs.add` raises with `limits=True`.
        """
        if name is not None:
            check_text(name, "the name of a job", longest=MAX_NAME)
        answer = await self._transport.create(
            *("sessions", check_key(key), "automations"),
            body=automation(trigger, action, name, policy),
            idempotency_key=idempotency_key,
        )
        return answer.read(parse.job)

    async def preview(
        self,
        key: str,
        trigger: Trigger,
        action: Action,
        *,
        name: str | None = None,
        policy: Policy | None = None,
    ) -> RemotePreview:
        """Returns what `add` would make: its next runs, and the tokens of its prompt and context now."""
        answer = await self._transport.post(
            *("sessions", check_key(key), "automations"),
            body=automation(trigger, action, name, policy),
            dry_run="true",
        )
        return answer.read(parse.preview)

    async def forecast(self, key: str, *, days: int = 30) -> RemoteForecast:
        """Returns what the session's active jobs will do in the next days, and what that costs."""
        answer = await self._transport.get("sessions", check_key(key), "forecast", days=days)
        return answer.read(parse.forecast)

    async def get(self, job_id: str) -> RemoteJob:
        """Returns a job. Raises `NotFound`, also for a removed job."""
        return (await self._transport.get("automations", job_id)).read(parse.job)

    async def update(
        self,
        job_id: str,
        *,
        name: str | None = None,
        trigger: Trigger | None = None,
        action: Action | None = None,
        policy: Policy | None = None,
    ) -> RemoteJob:
        """Changes the given fields of a job, and returns it. A new trigger counts from now."""
        if name is not None:
            check_text(name, "the name of a job", longest=MAX_NAME)
        body = automation(trigger, action, name, policy)
        return (await self._transport.patch("automations", job_id, body=body)).read(parse.job)

    async def pause(self, job_id: str) -> RemoteJob:
        """Pauses a job: it has no slot until it is resumed. Raises `Conflict` when it is not active."""
        return (await self._transport.post("automations", job_id, "pause")).read(parse.job)

    async def resume(self, job_id: str) -> RemoteJob:
        """Resumes a paused job from now on. Raises `Conflict` when it is not paused."""
        return (await self._transport.post("automations", job_id, "resume")).read(parse.job)

    async def skip(self, job_id: str) -> RemoteJob:
        """Skips the job's next slot, which is recorded as skipped. Raises `Conflict` when there is none."""
        return (await self._transport.post("automations", job_id, "skip")).read(parse.job)

    async def delete(self, job_id: str) -> None:
        """Deletes a job: no run of it starts after this returns. Raises `Conflict` for a protected job."""
        await self._transport.delete("automations", job_id)

    async def explain(self, job_id: str, *, slot: datetime | None = None) -> RemoteExplanation:
        """Returns why a slot ran, waited, was skipped or missed; without a slot, the state of the job."""
        at = None if slot is None else slot.isoformat()
        return (await self._transport.get("automations", job_id, "explain", slot=at)).read(parse.explanation)

    async def raise_budget(self, job_id: str) -> RemoteJob:
        """Gives a job's budget as much again until its period ends. Raises `Conflict` if it has none."""
        job = await self.get(job_id)
        path = ("sessions", job.session_key, "budget", "raise")
        await self._transport.post(*path, body={"job_id": job_id})
        return job

    async def list(self, key: str, *, ended: bool = False, limit: int = 100) -> list[RemoteJob]:
        """Returns a session's active and paused jobs, newest first; with `ended`, the ended ones too."""
        return await self._transport.pages(
            "jobs",
            *("sessions", check_key(key), "automations"),
            limit=limit,
            read=parse.job,
            include="ended" if ended else None,
        )


class ClientRuns:
    """The slots of jobs and what became of them: `client.runs`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, run_id: str) -> RemoteRun:
        """Returns a run. Raises `NotFound`."""
        return (await self._transport.get("runs", run_id)).read(parse.run)

    async def list(
        self, session: str | None = None, *, job: str | None = None, limit: int = 100
    ) -> list[RemoteRun]:
        """Returns the runs of a session or of a job, newest first. Raises `NotFound`."""
        if job is None and session is None:
            raise TypeError("runs.list takes a session's key, or job=")
        path = ("automations", job) if job is not None else ("sessions", check_key(session))
        return await self._transport.pages("runs", *path, "runs", limit=limit, read=parse.run)

    async def usage(self, session: str, *, days: int = 30, timezone: str | None = None) -> RemoteUsage:
        """Returns what was used on each of the last days, by job. Raises `NotFound`."""
        answer = await self._transport.get(
            "sessions", check_key(session), "usage", days=days, timezone=timezone
        )
        return answer.read(parse.usage)


class ClientRecalls:
    """Jobs by which an agent calls itself back into a conversation: `client.recalls`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def get(self, key: str) -> Recall | None:
        """Returns the session's pending recall, else the running one, else None. Raises `NotFound`."""
        answer = await self._transport.get("sessions", check_key(key), "recall")
        return None if answer.data["recall"] is None else answer.read(_recall)

    async def add(
        self,
        key: str,
        instruction: str,
        *,
        call_type: CallType | str = CallType.ONCE,
        when: str | None = None,
        timezone: str | None = None,
        timezone_offset: str | None = None,
        interval_seconds: float | None = None,
        comment: str | None = None,
        idempotency_key: str | None = None,
    ) -> Recall:
        """Schedules a recall, as `kernel.recalls.add` does.

        Raises `BadRecall`, `BadTime`, `BadText`, `RecallPending`, `TooManyRecalls`, `NotFound`.
        """
        check_text(instruction, "the instruction of a recall")
        body = {
            "call_type": str(call_type_of(call_type)),
            "when": when,
            "timezone": timezone,
            "timezone_offset": timezone_offset,
            "interval_seconds": interval_seconds,
            "internal_comment": comment,
            "additional_context_message": instruction,
        }
        given = {name: value for name, value in body.items() if value is not None}
        answer = await self._transport.create(
            "sessions", check_key(key), "recall", body=given, idempotency_key=idempotency_key
        )
        return answer.read(parse.recall)

    async def cancel(self, key: str) -> None:
        """Cancels the session's pending recall. Raises `NotFound`."""
        await self._transport.delete("sessions", check_key(key), "recall")

    async def skip(self, key: str) -> Recall:
        """Skips the next time of a recurring recall, and returns it. Raises `NotRecurring`, `NotFound`."""
        return (await self._transport.post("sessions", check_key(key), "recall", "skip")).read(_recall)

    async def list(self, key: str, *, limit: int = 100) -> list[Recall]:
        """Returns all recalls that were set in the session, newest first. Raises `NotFound`."""
        return await self._transport.pages(
            "recalls", "sessions", check_key(key), "recalls", limit=limit, read=parse.recall
        )


class ClientScheduledMessages:
    """Texts that are written now and sent later: `client.scheduled_messages`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def add(
        self,
        key: str,
        send_at: str,
        text: str,
        *,
        timezone: str | None = None,
        replace_existing: bool = False,
        idempotency_key: str | None = None,
    ) -> RemoteMessageScheduled:
        """Schedules a text to be sent in a private chat, as `kernel.scheduled_messages.add` does."""
        if not text.strip():
            raise EmptyText("the message is empty; write the words that are to be sent")
        check_text(text, "the message")
        body = {"send_at": send_at, "message_text": text, "replace_existing": replace_existing}
        answer = await self._transport.create(
            *("sessions", check_key(key), "scheduled-messages"),
            body=body if timezone is None else {**body, "timezone": timezone},
            idempotency_key=idempotency_key,
        )
        message = await self.get(answer.data["task_id"])
        return RemoteMessageScheduled(message=message, cancelled=tuple(answer.data["cancelled"]))

    async def get(self, message_id: str) -> RemoteScheduledMessage:
        """Returns a scheduled message. Raises `NotFound`."""
        return (await self._transport.get("scheduled-messages", message_id)).read(parse.scheduled_message)

    async def cancel(self, message_id: str) -> RemoteScheduledMessage:
        """Cancels a scheduled message. Raises `AlreadyStarted` when it is being sent or has ended."""
        return (await self._transport.delete("scheduled-messages", message_id)).read(parse.scheduled_message)

    async def list(
        self, key: str, *, status: MessageStatus | None = None, limit: int = 100
    ) -> list[RemoteScheduledMessage]:
        """Returns a session's scheduled messages, newest first, of any status or of one."""
        return await self._transport.pages(
            "messages",
            *("sessions", check_key(key), "scheduled-messages"),
            limit=limit,
            read=parse.scheduled_message,
            status=None if status is None else str(status),
        )


def _recall(data: parse.JSON) -> Recall:
    return parse.recall(data["recall"])
