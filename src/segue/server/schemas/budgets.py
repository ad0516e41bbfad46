"""Bodies of requests about budgets."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from segue.server.schemas.body import Body

Dollars: TypeAlias = Annotated[float, Field(strict=True)]
Count: TypeAlias = Annotated[int, Field(strict=True)]


class BudgetIn(Body):
    """At most so much in each period: one of `usd`, `tokens` and `runs`. Only scheduled runs draw on it."""

    usd: Dollars | None = None
    tokens: Count | None = None
    runs: Count | None = None
    per: Literal["day", "week", "month"]
    over: Literal["skip", "pause", "ask"] = "skip"

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class RaiseBudget(Body):
    job_id: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="The job whose budget is raised. Default: the session's.",
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"job_id": None}]})
