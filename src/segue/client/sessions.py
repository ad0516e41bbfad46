"""Sessions of a client, with the verbs of `kernel.sessions`."""

from collections.abc import Mapping
from typing import Any, Unpack

from segue.client import parse
from segue.client.records import BlockingAutomation, RemoteOverview, RemoteSession, RemoteSessionOpened
from segue.client.transport import Transport
from segue.errors import NotFound, SessionHasJobs
from segue.kernel.api.cost.budgets import SessionBudget
from segue.kernel.api.quiet import GivenDigest, GivenQuiet
from segue.kernel.api.sessions import About
from segue.kernel.transactions.sessions import UNSET, MaybeBudget, MaybeDays, MaybePolicy, Unset
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.cost.budget import Budget
from segue.model.quiet.digest import Digest
from segue.model.quiet.hours import QuietHours
from segue.model.text_checks import check_key


class ClientSessions:
    """Conversations, by their key: `client.sessions`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def open(
        self,
        key: str,
        *,
        chat_type: str = "private",
        auto_commit_policy: MaybePolicy = UNSET,
        idempotency_key: str | None = None,
        **about: Unpack[About],
    ) -> RemoteSessionOpened:
        """Returns the session of a key, and makes it if it is missing, as `kernel.sessions.open` does."""
        body = {"key": check_key(key), "chat_type": chat_type, **about, **policy_body(auto_commit_policy)}
        answer = await self._transport.create("sessions", body=body, idempotency_key=idempotency_key)
        return RemoteSessionOpened(answer.read(parse.session), answer.status == 201)

    async def get(self, key: str) -> RemoteSession:
        """Returns the session of a key. Raises `NotFound`; `AmbiguousKey` when several users have one."""
        return (await self._transport.get("sessions", check_key(key))).read(parse.session)

    async def find(self, key: str) -> RemoteSession | None:
        """Returns the session of a key, or None if there is none."""
        try:
            return await self.get(key)
        except NotFound:
            return None

    async def overview(self, key: str) -> RemoteOverview:
        """Returns a session with its counts. Raises `NotFound`."""
        return (await self._transport.get("sessions", check_key(key))).read(parse.overview)

    async def overviews(self, *, limit: int = 100, pending_recall: bool = False) -> list[RemoteOverview]:
        """Returns the caller's sessions with their counts, the one with the newest message first."""
        return await self._transport.pages(
            "sessions", "sessions", limit=limit, read=parse.overview, pending_recall=pending_recall or None
        )

    async def list(self, *, limit: int = 100) -> list[RemoteSession]:
        """Returns the caller's sessions, the one with the newest message first."""
        return [overview.session for overview in await self.overviews(limit=limit)]

    async def update(
        self,
        key: str,
        *,
        auto_commit_policy: MaybePolicy | Mapping[str, Any] = UNSET,
        days: MaybeDays = UNSET,
        quiet: GivenQuiet | Unset = UNSET,
        digest: GivenDigest | Unset = UNSET,
        budget: MaybeBudget = UNSET,
        **about: Unpack[About],
    ) -> RemoteSession:
        """Changes fields of a session as `kernel.sessions.update` does; None clears a field."""
        given = {"days": days, "quiet": quiet, "digest": digest, "budget": budget}
        body = {**about, **policy_body(auto_commit_policy)}
        body |= {name: _json(value) for name, value in given.items() if value is not UNSET}
        return (await self._transport.patch("sessions", check_key(key), body=body)).read(parse.session)

    async def send_held(self, key: str) -> int:
        """Sends the answers that wait in a session now. Returns how many there are. Raises `NotFound`."""
        answer = await self._transport.post("sessions", check_key(key), "held", "send")
        return int(answer.data["sent"])

    async def budget(self, key: str) -> SessionBudget:
        """Returns what the session and those of its jobs that have a budget have left. Raises `NotFound`."""
        return (await self._transport.get("sessions", check_key(key), "budget")).read(parse.session_budget)

    async def raise_budget(self, key: str) -> SessionBudget:
        """Gives the session's budget as much again until its period ends. Raises `Conflict` without one."""
        answer = await self._transport.post("sessions", check_key(key), "budget", "raise", body={})
        return answer.read(parse.session_budget)

    async def mark_read(self, key: str, seq: int) -> int:
        """Marks the messages up to the number `seq` as read, on all devices of the session's owner.

        Returns how many are unread. Raises `NotFound`.
        """
        answer = await self._transport.post("sessions", check_key(key), "read", body={"seq": seq})
        return int(answer.data["unread"])

    async def delete(self, key: str, *, with_jobs: bool = False) -> None:
        """Deletes a session with everything in it. Raises `SessionHasJobs` unless `with_jobs` is set."""
        answer = await self._transport.delete(
            "sessions", check_key(key), delete_automations=with_jobs or None
        )
        if not answer.data["deleted"]:
            jobs = [BlockingAutomation(**each) for each in answer.data["automations"]]
            names = ", ".join(job.name for job in jobs)
            raise SessionHasJobs(f"{key} still has {len(jobs)} automations: {names}", jobs)


def _json(value: Any) -> Any:
    return value.to_json() if isinstance(value, Budget | QuietHours | Digest) else value


def policy_body(given: MaybePolicy | Mapping[str, Any]) -> dict[str, Any]:
    if given is UNSET:
        return {}
    return {"auto_commit_policy": given.to_json() if isinstance(given, AutoCommitPolicy) else given}
