"""Prompts of the MCP wire: texts that users pick in a client, to schedule work or to review the jobs."""

from collections.abc import Callable, Mapping

from mcp import MCPError, types

from segue.record import positional


@positional
class PromptTemplate:
    prompt: types.Prompt
    text: Callable[[Mapping[str, str]], str]


def _schedule(given: Mapping[str, str]) -> str:
    when = f" When: {given['when']}." if given.get("when") else ""
    return (
        f"Schedule this in my Segue conversation: {given['what']}.{when}\n\n"
        "Choose the tool: schedule_private_message for a text that is to be sent word for word, cron for "
        "work that the agent does at a time or repeatedly, schedule_recall to go on with a task soon. If it "
        "is not clear when, or in which time zone, ask me first. Then tell me the next times in my time zone."
    )


def _review(given: Mapping[str, str]) -> str:
    return (
        "Review what is scheduled in my Segue conversation. List it with cron (action list), manage_recall "
        "(action list) and list_scheduled_private_messages. Use explain_job for each job that failed, is "
        "paused or is late. Then give me a table: what, when next, how the last run went, and whether you "
        "would keep, change, pause or remove it, with the reason. Change nothing before I agree."
    )


_TEMPLATES: Mapping[str, PromptTemplate] = {
    each.prompt.name: each
    for each in (
        PromptTemplate(
            types.Prompt(
                name="schedule",
                title="Schedule something",
                description="Schedule a message, a repeated task or a later turn in the bound conversation.",
                arguments=[
                    types.PromptArgument(name="what", description="What is to happen.", required=True),
                    types.PromptArgument(
                        name="when", description="When, in words: every weekday at 9.", required=False
                    ),
                ],
            ),
            _schedule,
        ),
        PromptTemplate(
            types.Prompt(
                name="review_automations",
                title="Review what is scheduled",
                description="Go through the jobs of the bound conversation: what runs, fails or can go.",
                arguments=[],
            ),
            _review,
        ),
    )
}


def list_prompts() -> list[types.Prompt]:
    return [each.prompt for each in _TEMPLATES.values()]


def get_prompt(name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
    """Raises MCPError for an unknown name and for a missing argument."""
    template = _TEMPLATES.get(name)
    if template is None:
        raise MCPError(
            types.INVALID_PARAMS, f"there is no prompt {name[:100]!r}; there are {', '.join(_TEMPLATES)}"
        )
    for argument in template.prompt.arguments or ():
        if argument.required and not arguments.get(argument.name, "").strip():
            raise MCPError(types.INVALID_PARAMS, f"the prompt {name} needs the argument {argument.name!r}")
    text = types.TextContent(type="text", text=template.text(arguments))
    message = types.PromptMessage(role="user", content=text)
    return types.GetPromptResult(description=template.prompt.description, messages=[message])
