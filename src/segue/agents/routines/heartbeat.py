"""Heartbeat: every half hour, asks the agent about the active tasks of the workspace.

The tasks stand in `HEARTBEAT.md` under `## Active Tasks`. Without an active task no model is asked. Otherwise
the agent's answer goes to the private chat that was used last, if `evaluate_response` approves it.

The heartbeat is a protected job with a fixed id: its state and its runs survive restarts, and users cannot
change or remove it.
"""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

from segue.kernel.kernel import Kernel
from segue.kernel.transactions import unified
from segue.model.action import Call
from segue.model.agent import Agent, Delta, OpenTurn, Text
from segue.model.prompts import newest
from segue.model.records import Job, Owner, Session
from segue.times.clock import to_moment
from segue.times.reader.zones import find_zone
from segue.times.trigger import Every

FILE = "HEARTBEAT.md"
FUNCTION = "heartbeat"
JOB_ID = "heartbeat"
SESSION = "system:heartbeat"
INTERVAL_SECONDS = 1800

_LARGEST_FILE = 64 * 1024
_MOST_SESSIONS = 100

_SECTION = re.compile(
    r"^##[ \t]+active tasks[ \t]*$(.*?)(?=^##?[ \t]|\Z)", re.MULTILINE | re.DOTALL | re.IGNORECASE
)
_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_IDLE_LINE = re.compile(r"\s*([-*+]|\d+\.)?\s*(\[x\].*|\[ \])?\s*|\s*#.*", re.IGNORECASE)
"""A blank line, an empty bullet, a ticked or empty checkbox, a heading."""


def active_tasks(text: str) -> str:
    """Return the lines under `## Active Tasks` that are open tasks; an empty string if there are none."""
    section = _SECTION.search(_COMMENT.sub("", text))
    if section is None:
        return ""
    lines = [line.rstrip() for line in section[1].splitlines() if not _IDLE_LINE.fullmatch(line)]
    return "\n".join(lines)


class Heartbeat:
    """The function that the heartbeat job calls."""

    def __init__(self, workspace: Path, agent: Agent) -> None:
        self._workspace = workspace
        self._agent = agent

    async def __call__(self, turn: OpenTurn) -> str | None:
        """Return what was sent, for the run record; None if there was nothing to do or to send."""
        assert turn.source is not None  # only its job calls it
        kernel = turn.kernel
        tasks = active_tasks(await asyncio.to_thread(self._read))
        target = await _last_used(kernel, turn.session.owner) if tasks else None
        if target is None:
            return None
        answer = await self._ask(turn, tasks)
        # If the evaluation raises, the turn fails and nothing is sent.
        if not answer or await kernel.evaluate_response(turn, answer) is not True:
            return None
        await kernel.log.say(target.key, answer, source=turn.source, owner=target.owner)
        return answer

    def _read(self) -> str:
        file = self._workspace / FILE
        try:
            if not file.resolve().is_relative_to(self._workspace.resolve()):
                return ""
            with file.open("rb") as opened:
                return opened.read(_LARGEST_FILE).decode(errors="replace")
        except OSError:  # the file is missing or not readable
            return ""

    async def _ask(self, turn: OpenTurn, tasks: str) -> str:
        zone = find_zone(turn.kernel.settings.timezone or "UTC")
        local = to_moment(turn.started_at).astimezone(zone)
        now = local.isoformat(timespec="seconds")
        prompt = newest("heartbeat.agent_turn").fill({"now": now, "message": tasks})
        pieces: list[str] = []

        async def tell(piece: Delta | str) -> None:
            if isinstance(piece, str | Text):
                pieces.append(piece if isinstance(piece, str) else piece.text)

        request = replace(turn, text=tasks, prompt=prompt, role="user", _tell=tell)
        async for piece in self._agent.answer(request):
            await tell(piece)
        return "".join(pieces).strip()


async def install(kernel: Kernel, *, owner: Owner | None = None) -> Job:
    """Return the heartbeat job; create it if it is missing."""
    return await kernel.jobs.add(
        SESSION,
        Every(INTERVAL_SECONDS),
        Call(FUNCTION),
        job_id=JOB_ID,
        name="heartbeat",
        protected=True,
        owner=owner or Owner(),
    )


async def _last_used(kernel: Kernel, owner: Owner) -> Session | None:
    """Return the private chat that has the newest message."""
    for session in await kernel.sessions.list(owner=owner, limit=_MOST_SESSIONS):
        is_chat = session.last_message_at is not None and session.chat_type == "private"
        if is_chat and session.key != unified.KEY and session.channel not in unified.APART:
            return session
    return None
