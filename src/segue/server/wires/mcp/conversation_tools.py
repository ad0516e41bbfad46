"""Conversation tools of the MCP wire: explain a job, read the transcript, send the agent a message.

An agent inside the conversation needs none of them: it sees the transcript, and its turn is one already.
"""

import asyncio
from datetime import datetime
from itertools import accumulate

from segue.agents.tools.arguments import flat
from segue.agents.tools.registry import LONGEST_RESULT, Tool, ToolContext, ToolRefused
from segue.errors import NotFound
from segue.kernel.api.jobs import OwnedJob
from segue.model.records import Turn
from segue.model.schedule import local
from segue.model.states import Outcome
from segue.times.clock import to_moment
from segue.times.format import quoted

_MOST_MESSAGES = 100
_USUAL_MESSAGES = 20
_LONGEST_WAIT = 600
_USUAL_WAIT = 60
_ANSWERED = (Outcome.OK, Outcome.EMPTY)


def conversation_tools() -> list[Tool]:
    return [
        Tool(
            name="explain_job",
            description=(
                "Why a job of the bound conversation ran, is late, was skipped or failed, and when it runs "
                "next. Without `slot` it explains the job's state and its newest run."
            ),
            parameters=flat(
                {
                    "job_id": {"type": "string", "description": "which job, as cron's `list` shows it"},
                    "slot": {
                        "type": "string",
                        "description": "one planned time of the job, with its offset: "
                        "'2026-11-16T09:00:00+01:00'",
                    },
                },
                required=("job_id",),
            ),
            run=_explain,
        ),
        Tool(
            name="read_messages",
            description=(
                "The newest messages of the bound conversation, oldest first: what the user and the agent "
                "said, and what scheduled jobs answered."
            ),
            parameters=flat(
                {
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "description": f"how many, up to {_MOST_MESSAGES}; {_USUAL_MESSAGES} if unset",
                    }
                }
            ),
            run=_read,
        ),
        Tool(
            name="send_turn",
            description=(
                "Send a message to Segue's agent in the bound conversation, as its user, and wait for the "
                "answer. If it does not come in time, the turn goes on; read_messages shows the answer later."
            ),
            parameters=flat(
                {
                    "text": {"type": "string", "description": "the message"},
                    "wait_seconds": {
                        "type": "number",
                        "minimum": 0,
                        "description": f"how long to wait, up to {_LONGEST_WAIT}; {_USUAL_WAIT} if unset",
                    },
                },
                required=("text",),
            ),
            run=_send,
            timeout_seconds=_LONGEST_WAIT + 30,
        ),
    ]


async def _explain(context: ToolContext, *, job_id: str, slot: str = "") -> str:
    found = await _job(context, job_id)
    explanation = await context.kernel.jobs.explain(found, slot=_moment(slot) if slot else None)
    coming = [local(each.at, context.zone).isoformat(timespec="seconds") for each in explanation.next]
    following = f"\nNext: {', '.join(coming)}." if coming else ""
    return f"{explanation.verdict}: {explanation.text}{following}"


async def _job(context: ToolContext, job_id: str) -> OwnedJob:
    """The job, also a removed one, if it is this conversation's. Raises `ToolRefused`."""
    jobs = context.kernel.jobs
    try:
        found = await jobs.load(job_id, removed=True, owner=context.owner)
        if found.job.protected or await jobs.is_listed_in(found, context.here.key, owner=context.owner):
            return found
    except NotFound:
        pass
    raise ToolRefused(f"job {quoted(job_id)} is not found here; cron's `list` shows what there is")


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ToolRefused(
            f"`slot` is RFC 3339 with an offset, such as 2026-11-16T09:00:00+01:00, got {quoted(text)}"
        )
    return moment


async def _read(context: ToolContext, *, limit: int = _USUAL_MESSAGES) -> str:
    messages = await context.kernel.log.newest(
        context.here.key, owner=context.owner, limit=min(limit, _MOST_MESSAGES)
    )
    if not messages:
        return "Nothing was said here yet."
    lines = [
        f"[{local(to_moment(message.at), context.zone):%Y-%m-%d %H:%M %z}] {message.role}: {message.content}"
        for message in messages
    ]
    lengths = accumulate(len(line) + 2 for line in reversed(lines))
    fitting = max(1, sum(length <= LONGEST_RESULT for length in lengths))
    return "\n\n".join(lines[-fitting:])


async def _send(context: ToolContext, *, text: str, wait_seconds: float = _USUAL_WAIT) -> str:
    kernel = context.kernel
    queued = await kernel.receive(context.here.key, text, owner=context.owner)
    try:
        async with asyncio.timeout(min(wait_seconds, _LONGEST_WAIT)):
            return _answer(await kernel.wait(queued))
    except TimeoutError:
        return (
            f"Turn {queued.turn_id} has not ended yet. It goes on; read_messages shows the answer when it is "
            "there."
        )


def _answer(turn: Turn) -> str:
    if turn.outcome in _ANSWERED:
        return turn.reply or "(The agent answered nothing.)"
    raise ToolRefused(f"turn {turn.id} ended as {turn.outcome}: {turn.error or 'read_messages shows more'}")
