"""Request bodies: the base class, which refuses unknown fields, and the errors of rules about fields."""

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

UNION_TAG = "kind="
"""Begins the tag of each form that a field may have. Tags are not part of the field's name."""

BROKEN_RULE = "broken_rule"


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


def broken_rule(field: str, reason: str) -> PydanticCustomError:
    """The error of a rule about several fields, which the caller can follow by changing `field`."""
    return PydanticCustomError(BROKEN_RULE, "{reason}", {"field": field, "reason": reason})
