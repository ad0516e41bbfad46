"""The heartbeat: every half hour, a look at what the workspace says is still to be done.

`HEARTBEAT.md` of the workspace holds the list; active is what stands under `## Active Tasks`. Without an
active task nothing happens and no model is asked. Otherwise the agent is asked about them, and what it
answers is said in the private chat that was used last, if `evaluate_response` lets it out.

It is a job of the system, made once under a fixed id: its state and its runs survive restarts, and nobody
can change or remove it.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from segue.kernel.kernel import Kernel
from segue.kernel.transactions import unified
from segue.model.action import Call
from segue.model.agent import Agent, OpenTurn, Text
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
"""Blank, an empty bullet, a box that is ticked or empty of words, a heading."""


def active_tasks(text: str) -> str:
    """The lines under `## Active Tasks` that ask for something; empty when none does."""
    section = _SECTION.search(_COMMENT.sub("", text))
    if section is None:
        return ""
    lines = [line.rstrip() for line in section[1].splitlines() if not _IDLE_LINE.fullmatch(line)]
    return "\n".join(lines)


class Heartbeat:
    """The function that its job calls."""

    def __init__(self, workspace: Path, agent: Agent, kernel_of: Callable[[], Kernel]) -> None:
        self._workspace = workspace
        self._agent = agent
        self._kernel_of = kernel_of

    async def __call__(self, turn: OpenTurn) -> str | None:
        """What was said, for the record; None when there was nothing to do or to say."""
        assert turn.source is not None  # it is called by its job
        kernel = self._kernel_of()
        tasks = active_tasks(await asyncio.to_thread(self._read))
        listener = await _used_last(kernel, turn.session.owner) if tasks else None
        if listener is None:
            return None
        answer = await self._ask(turn, tasks, kernel)
        # An error in it ends this turn as failed, and nothing is said.
        if not answer or await kernel.evaluate_response(turn, answer) is not True:
            return None
        await kernel.say(listener.key, answer, source=turn.source, owner=listener.owner)
        return answer

    def _read(self) -> str:
        file = self._workspace / FILE
        try:
            if not file.resolve().is_relative_to(self._workspace.resolve()):
                return ""
            with file.open("rb") as opened:
                return opened.read(_LARGEST_FILE).decode(errors="replace")
        except OSError:  # there is none, or it is not ours to read
            return ""

    async def _ask(self, turn: OpenTurn, tasks: str, kernel: Kernel) -> str:
        local = to_moment(turn.started_at).astimezone(find_zone(kernel.settings.timezone or "UTC"))
        now = local.isoformat(timespec="seconds")
        prompt = newest("heartbeat.agent_turn").fill({"now": now, "message": tasks})
        asked = replace(turn, text=tasks, prompt=prompt, role="user")
        said = [
            piece if isinstance(piece, str) else piece.text
            async for piece in self._agent.answer(asked)
            if isinstance(piece, str | Text)
        ]
        return "".join(said).strip()


async def install(kernel: Kernel, *, owner: Owner | None = None) -> Job:
    """Its job, made if it is missing."""
    return await kernel.keep(
        SESSION,
        Every(INTERVAL_SECONDS),
        Call(FUNCTION),
        job_id=JOB_ID,
        name="heartbeat",
        owner=owner or Owner(),
    )


async def _used_last(kernel: Kernel, owner: Owner) -> Session | None:
    """The newest private chat in which somebody has said something."""
    for session in await kernel.sessions(owner=owner, limit=_MOST_SESSIONS):
        talks = session.last_message_at is not None and session.chat_type == "private"
        if talks and session.key != unified.KEY and session.channel not in unified.APART:
            return session
    return None
