"""Schemas of quiet hours and digests. The model checks the values."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from segue.server.schemas.body import Body


class QuietIn(Body):
    """Quiet hours in the session's zone: from `from` until before `to`, perhaps on the next day."""

    from_: str = Field(alias="from", max_length=5, examples=["22:00"])
    to: str = Field(max_length=5, examples=["07:00"])
    days: str | list[str] = Field(
        "all",
        max_length=20,
        description="`all`, `weekdays` or a list such as `fri`, `sat`: the days on which they begin.",
    )


class QuietOut(BaseModel):
    # Also in events and on the command line, which are not serialised by FastAPI.
    model_config = ConfigDict(serialize_by_alias=True)

    from_: str = Field(alias="from")
    to: str
    days: str | list[str]


class DigestIn(Body):
    """Give one of the two."""

    at: str | None = Field(None, max_length=5, description="A time of the day.", examples=["08:00"])
    every_seconds: float | None = Field(None, description="Seconds after the first answer that waits.")


class DigestOut(BaseModel):
    at: str | None = None
    every_seconds: float | None = None


def given(changes: dict[str, Any]) -> dict[str, Any]:
    """The changes of a session with quiet hours and a digest as the kernel takes them."""
    quiet, digest = changes.get("quiet"), changes.get("digest")
    if quiet is not None:
        changes = {**changes, "quiet": {"days": "all", **quiet}}
    if digest is not None:
        changes = {**changes, "digest": {name: digest[name] for name in digest if digest[name] is not None}}
    return changes
