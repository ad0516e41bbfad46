"""Schemas of the server itself: its health, and who calls it."""

from typing import Literal

from pydantic import BaseModel, Field

from segue.server.schemas.body import Body


class Login(Body):
    key: str = Field(min_length=1, max_length=1000, description="An API key of this server.")


class SchedulerOut(BaseModel):
    alive: bool
    lag_ms: int = Field(description="Lateness of the most overdue job.")


HealthReason = Literal[
    "disk_full",
    "read_only",
    "disk_error",
    "no_memory",
    "locked",
    "too_many_connections",
    "unreachable",
    "damaged",
    "database_gone",
    "workers_stopped",
    "jobs_overdue",
]


class Health(BaseModel):
    status: Literal["ok", "degraded", "unavailable"]
    reason: HealthReason | None
    version: str
    database: Literal["sqlite", "postgres"]
    capabilities: list[str]
    scheduler: SchedulerOut


class CallerOut(BaseModel):
    account: str
    user: str
    role: Literal["user", "admin"]
    model: str | None
    """The name of the model that answers; `offline` for the rules, null for an application's own agent."""
