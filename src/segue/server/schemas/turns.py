"""Schemas of turns, and of replies that were done at once."""

from typing import Literal

from pydantic import BaseModel, Field, JsonValue

from segue.server.schemas.common import Moment, SourceOut
from segue.server.schemas.files import PartOut


class TurnAccepted(BaseModel):
    turn_id: str
    state: Literal["queued"]
    position: int = Field(description="Number of turns before it in the queue.")


class TurnOut(BaseModel):
    turn_id: str
    session_key: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    outcome: str | None
    content: str
    parts: list[PartOut]
    reply: str | None = Field(description="The agent's own text, if any.")
    error: str | None
    usage: dict[str, JsonValue] | None
    source: SourceOut | None
    attempt: int
    joined_into: str | None = Field(description="The turn that included this message (`when_busy: inject`).")
    replaces: str | None = Field(description="The turn that it replaces.")
    replaced_by: str | None = Field(description="The turn that has replaced it.")
    queued_at: Moment
    started_at: Moment | None
    finished_at: Moment | None


class TurnsOut(BaseModel):
    turns: list[TurnOut]
    next_cursor: str | None


class ControlOut(BaseModel):
    action: Literal["stop", "go_on", "skip", "snooze", "make", "why", "done", "yes", "undo", "which"] = Field(
        description="`which`: two jobs spoke and none was quoted, so nothing was done."
    )
    job_id: str | None
    undo: str | None = Field(description="The reply that undoes it, if one does.", examples=["go on"])


class ControlDone(BaseModel):
    """A reply to a job was done at once, without a turn."""

    turn_id: None = None
    state: Literal["done"] = "done"
    reply: str = Field(description="What was done, as the session now shows it.")
    control: ControlOut


class Stopped(BaseModel):
    stopped: bool
    turn_id: str | None
