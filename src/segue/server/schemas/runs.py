"""Schemas of runs."""

from typing import Literal

from pydantic import BaseModel, Field, JsonValue

from segue.server.schemas.common import Moment


class PromptRefOut(BaseModel):
    id: str
    version: int
    sha256: str = Field(description="Hash of the rendered prompt.")


class RunOut(BaseModel):
    run_id: str
    job_id: str
    session_key: str
    turn_id: str | None
    state: Literal["queued", "running"] | None = Field(description="Null once the run has an outcome.")
    slot: Moment = Field(description="The time at which the run was due.")
    queued_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    outcome: str | None
    reason: str | None
    lateness_ms: int
    attempt: int
    missed_count: int
    prompt_ref: PromptRefOut | None
    prompt_vars: dict[str, JsonValue] | None
    rendered_prompt: str | None
    error: str | None
    usage: dict[str, JsonValue] | None
    delivery: Literal["sent", "failed", "unknown"] | None = Field(
        description="Delivery of its answer through a channel; null until decided, or if none is needed."
    )
    delivery_error: str | None = Field(description="Why the answer could not be delivered.")


class RunsOut(BaseModel):
    runs: list[RunOut]
    next_cursor: str | None
