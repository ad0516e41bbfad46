"""Replies: takes users' messages that may order a job something, and does what they order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from segue.errors import ChangedMeanwhile, NotFound
from segue.kernel.api.context import OPERATOR, ApiContext
from segue.kernel.api.explain_facts import gather_facts
from segue.kernel.api.files import FileRef, FilesApi
from segue.kernel.api.turns import admission_of, queued_to_json
from segue.kernel.transactions import replies
from segue.kernel.transactions.idempotency import Request
from segue.kernel.transactions.lane import Admission, QueuedTurn
from segue.kernel.transactions.replies import Acted, Incoming, Quoted
from segue.kernel.transactions.result import Result
from segue.model.explain import explain
from segue.model.records import Asker
from segue.model.replies.acts import ReplyFacts
from segue.model.states import WhenBusy
from segue.store.database import Transaction

_MOST_READS = 10
"""How often a reply reads its job again because the job changed."""


class RepliesApi:
    """Users' messages that may order a job something: `kernel.replies`."""

    def __init__(self, context: ApiContext, files: FilesApi) -> None:
        self._context = context
        self._files = files

    async def take(
        self,
        key: str,
        text: str,
        *,
        parts: Sequence[FileRef] = (),
        reply_to: str | Quoted | None = None,
        tapped: bool = False,
        owner: Asker = OPERATOR,
        when_busy: WhenBusy | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        replaces: str | None = None,
        request: Request | None = None,
    ) -> QueuedTurn | Acted:
        """Does what a user's message orders a job, or else admits it as a turn, as `receive` does.

        A message that quotes a job's message (`reply_to`), or in a private chat follows one within ten
        minutes, and whose whole text is a control such as `stop` or `snooze 1h`, is done at once, without a
        turn: returns an `Acted` with the `line` that the session now shows. `tapped`: it stands for a tap of
        a button, and is never a turn. One that `replaces` a turn is never an order. Raises what `receive`
        raises.
        """
        admission = await admission_of(
            self._context,
            self._files,
            key,
            text,
            parts=parts,
            owner=owner,
            when_busy=when_busy,
            metadata=metadata,
            replaces=replaces,
        )
        quoted = Quoted(reply_to) if isinstance(reply_to, str) else reply_to
        mode = None if when_busy is None else WhenBusy(when_busy)
        incoming = self._incoming(text, admission.rank, quoted)
        incoming = replace(incoming, may_order=not (parts or replaces), tapped=tapped)
        for _ in range(_MOST_READS - 1):
            try:
                return await self._take(key, owner, admission, incoming, mode, request)
            except ChangedMeanwhile:  # the job fired in between, another one spoke, or `why?` is asked
                incoming = await self._explained(key, owner, incoming)
        return await self._take(key, owner, admission, incoming, mode, request)

    async def _take(
        self,
        key: str,
        owner: Asker,
        admission: Admission,
        incoming: Incoming,
        when_busy: WhenBusy | None,
        request: Request | None,
    ) -> QueuedTurn | Acted:
        context, now = self._context, admission.rank
        work = partial(
            replies.receive,
            context.address(key, owner, now),
            admission,
            now,
            incoming=incoming,
            when_busy=when_busy,
            default=context.settings.when_busy,
        )
        return context.announce(
            await context.commit_once(request, work, now, keep=_taken_to_json, again=_taken_from_json)
        )

    def _incoming(self, text: str, now: int, quoted: Quoted | None) -> Incoming:
        settings = self._context.settings
        facts = ReplyFacts(
            words=text.strip(),
            now=now,
            earliest=now,
            zone=settings.timezone,
            least=timedelta(seconds=settings.least_interval_seconds),
        )
        outbox = self._context.outbox(now)
        return Incoming(facts=facts, outbox=outbox, quoted=quoted)

    async def _explained(self, key: str, owner: Asker, incoming: Incoming) -> Incoming:
        """With the explanation of the job that the message answers."""
        context, now = self._context, incoming.facts.now
        address = context.address(key, owner, now)
        answered = await context.store.commit(replies.look_up, address, incoming.quoted, now)
        if answered is None or answered.others:
            return incoming
        try:
            job = await context.store.job(answered.job_id)
        except NotFound:
            return incoming
        session = await context.store.session_by_id(job.session_id)
        told = explain(await gather_facts(context, job, session, None))
        return replace(incoming, facts=replace(incoming.facts, why=told.text), explained=job.id)


# The result as it is stored under an idempotency key, and read back for a repeated request.


def _taken_to_json(taken: Result[QueuedTurn | Acted]) -> Mapping[str, Any]:
    done = taken.value
    if isinstance(done, QueuedTurn):
        return queued_to_json(Result(value=done))
    fields = ("session_id", "action", "job_id", "line", "undo")
    return {"acted": {name: getattr(done, name) for name in fields}}


def _taken_from_json(data: Mapping[str, Any]) -> Transaction[Result[QueuedTurn | Acted]]:
    yield from ()
    return Result(value=Acted(**data["acted"]) if "acted" in data else QueuedTurn(**data))
