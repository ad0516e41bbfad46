"""The last reply to a job that did something: stored with the job, for explanations and conditions."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from segue.record import record


@record
class LastReply:
    """What a user last ordered in reply to a message of the job."""

    action: str
    words: str
    """The user's text."""
    at: int
    snoozed_to: int | None = None
    """When the job runs once more, apart from its schedule; None: it is not snoozed."""
    done_at: int | None = None
    """When a user last said that what the job asked for is done."""

    def to_json(self) -> dict[str, Any]:
        fields = {"action": self.action, "words": self.words, "at": self.at}
        times = {"snoozed_to": self.snoozed_to, "done_at": self.done_at}
        return fields | {name: at for name, at in times.items() if at is not None}


def last_reply_from_json(data: Mapping[str, Any]) -> LastReply:
    return LastReply(**data)


def awake(reply: LastReply | None) -> LastReply | None:
    """The reply without its snooze."""
    return reply if reply is None or reply.snoozed_to is None else replace(reply, snoozed_to=None)
