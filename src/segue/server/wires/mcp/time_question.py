"""Questions about ambiguous times: which of its readings the user meant, asked through the client.

`next friday at 9` can be two days. With revision 2026-07-28 the call returns `input_required`, and the client
repeats it with the answer; with earlier revisions the server asks during the call (elicitation). A client
that supports neither gets a text that names the readings and asks its model to ask the user.
"""

from collections.abc import Mapping
from typing import Any

from mcp.server import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import is_version_at_least

from segue.agents.tools.registry import ToolContext, ToolRefused
from segue.errors import SegueError
from segue.record import positional
from segue.times.clock import to_moment
from segue.times.reader.readers import read
from segue.times.reader.refusal import Refusal

FIELD = "when"
"""The name of the question, and of the field of its answer."""

_ARGUMENTS = {"cron": "at", "schedule_recall": "when", "schedule_private_message": "send_at"}
"""The argument of each tool that is a time in words."""
_ZONES = {"cron": "tz", "schedule_recall": "timezone_offset"}
_INPUT_REQUIRED_SINCE = "2026-07-28"


@positional
class TimeQuestion:
    """A time that has several readings."""

    argument: str
    text: str
    refusal: Refusal

    @property
    def message(self) -> str:
        return f"When is “{self.text}”? {self.refusal}"

    @property
    def for_the_model(self) -> str:
        """For a client that cannot ask its user by itself."""
        return f"{self.refusal}. Ask the user which one they mean, then call this again with it"

    @property
    def schema(self) -> dict[str, Any]:
        field: dict[str, Any] = {"type": "string", "title": "When"}
        if self.refusal.exact:
            field["enum"] = list(self.refusal.readings)
        return {"type": "object", "properties": {FIELD: field}, "required": [FIELD]}

    def answered(self, result: ElicitResult) -> str:
        """The time that the user chose or wrote. Raises `ToolRefused` if they did neither."""
        answer = (result.content or {}).get(FIELD)
        if result.action != "accept" or not isinstance(answer, str) or not answer.strip():
            raise ToolRefused(
                f"nothing was scheduled: “{self.text}” has several readings, and the user chose none of them"
            )
        return dict(zip(self.refusal.readings, self.refusal.exact, strict=False)).get(answer, answer)


def question_about(context: ToolContext, tool: str, arguments: Mapping[str, Any]) -> TimeQuestion | None:
    """The question to ask before a tool runs, or None if its time has one reading or cannot be read."""
    argument = _ARGUMENTS.get(tool)
    text = arguments.get(argument or "")
    if argument is None or not isinstance(text, str):
        return None
    zone = arguments.get(_ZONES.get(tool, "")) or context.zone
    try:
        read(text, now=to_moment(context.kernel.clock.ms()), zone=zone)
    except Refusal as refusal:
        return TimeQuestion(argument, text, refusal) if refusal.readings else None
    except (SegueError, TypeError):  # a wrong zone, which the tool refuses with a sentence
        return None
    return None


async def ask(
    context: ServerRequestContext[Any], params: CallToolRequestParams, question: TimeQuestion
) -> ElicitResult | InputRequiredResult | None:
    """Ask the user through the client: the answer, the request for one, or None if the client cannot ask."""
    given = (params.input_responses or {}).get(FIELD)
    if isinstance(given, ElicitResult):
        return given
    if not context.session.check_client_capability(ClientCapabilities(elicitation=ElicitationCapability())):
        return None
    if is_version_at_least(context.protocol_version, _INPUT_REQUIRED_SINCE):
        form = ElicitRequestFormParams(message=question.message, requested_schema=question.schema)
        return InputRequiredResult(input_requests={FIELD: ElicitRequest(params=form)})
    if not context.session.can_send_request:
        return None
    return await context.session.elicit_form(question.message, question.schema, context.request_id)
