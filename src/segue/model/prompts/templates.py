"""The published prompt templates. A published text never changes: to edit one, add a version."""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache

from segue.model.states import JobKind
from segue.record import positional


class Mode(StrEnum):
    """What is expected of a scheduled turn."""

    TURN = "turn"
    """An answer, every time."""
    CHECK = "check"
    """An answer when there is something to say; otherwise one quiet line, and nothing to the channel."""
    SAY = "say"
    """The message itself, word for word, without the agent."""


@positional
class Template:
    id: str
    version: int
    text: str

    def fill(self, words: Mapping[str, object]) -> str:
        return _as_format(self.text) % words


@cache
def _as_format(text: str) -> str:
    """Every scheduled turn fills one, and `%` formatting takes a tenth of the time of `string.Template`."""
    return re.sub(r"\$(\w+)", r"%(\1)s", text.replace("%", "%%"))


QUIET = "NOTHING_TO_REPORT"
"""What a check, a heartbeat or a legacy job answers when there is nothing to say."""

_FACTS = """\
Scheduled for: $scheduled_for
Now: $now
Zone: $zone
Lateness: $lateness
Missed before it: $missed_count
The run before it: $previous_outcome"""

_REMINDER = f"""\
This is a scheduled turn of this conversation. Nobody wrote just now: the job “$job” has come due.

{_FACTS}

Do now what the job's message below asks, with all that was said in this conversation in mind. Your answer is
shown in this conversation. """

TEMPLATES = (
    Template(
        "cron.agent_turn.reminder",
        1,
        f"{_REMINDER}The job repeats by itself: do not schedule it again.\n\n$message",
    ),
    Template(
        "cron.agent_turn.reminder",
        2,  # also true of a job that runs once
        f"{_REMINDER}Segue keeps the schedule of the job: do not schedule it again.\n\n$message",
    ),
    Template(
        "cron.agent_turn.check",
        1,
        f"""\
This is a scheduled check of this conversation. Nobody wrote just now: the job “$job” has come due.

{_FACTS}

Look into what the job's message below asks, with all that was said in this conversation in mind. If there is
something the people here should know, tell them. If there is not, answer {QUIET} and nothing else. The job
repeats by itself: do not schedule it again.

$message""",
    ),
    Template(
        "cron.agent_turn.legacy",
        1,
        f"""\
This is a run of the scheduled job “$job”. No user wrote just now.

{_FACTS}

Do now what the job's message below asks. Your answer is sent to the people that the job reports to. If there
is nothing that they should know, answer {QUIET} and nothing else: then nothing is sent. The job repeats by
itself: do not schedule it again.

$message""",
    ),
    Template(
        "recall.agent_turn",
        1,
        f"""\
This is a recall: you asked to be called back in this conversation about “$job”. Nobody wrote just now.

{_FACTS}

Follow the instruction below that you left for yourself, with all that was said since in mind.

$message""",
    ),
    Template(
        "heartbeat.agent_turn",
        1,
        f"""\
This is a heartbeat. Nobody wrote just now: these are the tasks that the workspace lists as active.

Now: $now

See to those that can be seen to now. Your answer is told to the user: say what they should know, and nothing
about tasks that have nothing new. If there is nothing to tell, answer {QUIET} and nothing else.

$message""",
    ),
)

_NO_PROMPT = Template("", 0, "")
"""For a turn that says its text, or calls a function: it is published nowhere, so nothing is rendered."""

_BY_NAME = {(template.id, template.version): template for template in TEMPLATES}
_NEWEST = {template.id: template for template in sorted(TEMPLATES, key=lambda one: one.version)}


def template_for(kind: JobKind, mode: Mode) -> Template:
    """The newest template for a job of this kind and mode."""
    if mode is Mode.SAY:
        return _NO_PROMPT
    if kind is JobKind.RECALL:
        return _NEWEST["recall.agent_turn"]
    if kind is JobKind.LEGACY:
        return _NEWEST["cron.agent_turn.legacy"]
    return _NEWEST["cron.agent_turn.check" if mode is Mode.CHECK else "cron.agent_turn.reminder"]


def newest(template_id: str) -> Template:
    return _NEWEST[template_id]


def published(template_id: str, version: int) -> Template | None:
    """The template of that version, or the newest if this worker does not have it; None: an unknown id."""
    return _BY_NAME.get((template_id, version)) or _NEWEST.get(template_id)
