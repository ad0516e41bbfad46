"""Schemas of the recall routes. `RecallOut` is in `common`, because a session includes its recall."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt

from segue.model.text_checks import MAX_NAME
from segue.server.schemas import common
from segue.server.schemas.body import Body


class SetRecall(Body):
    call_type: Literal["once", "recurring", "immediate"]
    when: str | None = Field(
        None,
        max_length=MAX_NAME,
        description="The (first) time of once and recurring: `30m`, `tomorrow at 09:00`, ISO 8601.",
    )
    timezone_offset: str | None = Field(
        None,
        max_length=MAX_NAME,
        description="`±HH:MM`, for a time without a zone; takes precedence over `timezone`.",
    )
    timezone: common.TimesZone = None
    interval_seconds: StrictInt | None = Field(None, description="The interval of recurring.")
    internal_comment: common.NonBlankText | None = Field(None, description="A note for users.")
    additional_context_message: common.NonBlankText = Field(description="The agent's instruction to itself.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "call_type": "once",
                    "when": "30m",
                    "additional_context_message": "Read build.log with read_file. Report errors.",
                }
            ]
        },
    )


class PendingRecall(BaseModel):
    recall: common.RecallOut | None


class RecallCancelled(BaseModel):
    cancelled: Literal[True]


class RecallsOut(BaseModel):
    recalls: list[common.RecallOut]
    next_cursor: str | None
