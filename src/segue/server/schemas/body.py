"""Request bodies: the base class, which refuses unknown fields."""

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
