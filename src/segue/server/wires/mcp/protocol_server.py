"""MCP server: answers the requests of the Model Context Protocol with Segue's tools, resources and prompts.

One server object serves all connections of a process. The caller and the session are found for each request:
with revision 2026-07-28 a connection has no state.
"""

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, TypeAlias

from mcp import MCPError, types
from mcp.server import Server, ServerRequestContext

from segue import __version__
from segue.agents.tools.registry import Registry, Toolbox, ToolContext, ToolRefused
from segue.errors import SegueError
from segue.kernel.kernel import Kernel
from segue.model.records import Session
from segue.server.error_responses import problem_of
from segue.server.wires.mcp import prompt_templates, resources
from segue.server.wires.mcp.binding import Binding
from segue.server.wires.mcp.catalogue import Offered, catalogue
from segue.server.wires.mcp.time_question import ask, question_about

RequestContext: TypeAlias = ServerRequestContext[Any]
BindingOf: TypeAlias = Callable[[RequestContext], Binding]
"""Finds the caller and the session of a request."""

_INSTRUCTIONS = (
    "Segue schedules work in a conversation: messages that are sent later, jobs that give its agent a turn "
    "there, and the memory of what was said. The tools act in the one session that this connection is bound "
    "to; no argument names another. Give times as the user said them ('tomorrow at 9'): Segue reads them and "
    "refuses what is ambiguous. If it asks for a time zone, ask the user, then call set_timezone."
)


def make_server(kernel: Kernel, binding_of: BindingOf) -> Server:
    handlers = _Handlers(kernel, binding_of)
    return Server(
        "segue",
        version=__version__,
        title="Segue",
        description="Durable scheduling in a conversation.",
        instructions=_INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )


class _Handlers:
    """The request handlers of one server."""

    def __init__(self, kernel: Kernel, binding_of: BindingOf) -> None:
        self._kernel = kernel
        self._binding_of = binding_of
        self._catalogue = catalogue()
        self._registry = Registry(offered.tool for offered in self._catalogue.values())

    async def list_tools(
        self, context: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """All tools; in a group chat without those that are for private chats."""
        try:
            session = await self._binding_of(context).find(self._kernel)
        except SegueError:  # the tools say what is wrong with the binding
            session = None
        box = await self._toolbox(session)
        return types.ListToolsResult(tools=[self._catalogue[name].to_wire() for name in box.tools])

    async def call_tool(
        self, context: RequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Run a tool in the bound session. What the tool refuses is a result with `isError`."""
        offered = self._catalogue.get(params.name)
        if offered is None:
            raise MCPError(types.INVALID_PARAMS, self._unknown_tool(params.name))
        try:
            return await self._call(context, params, offered)
        except ToolRefused as refusal:
            return _result(str(refusal), is_error=True)
        except SegueError as error:
            return _result(problem_of(error).detail, is_error=True)

    async def _call(
        self, context: RequestContext, params: types.CallToolRequestParams, offered: Offered
    ) -> types.CallToolResult | types.InputRequiredResult:
        arguments = dict(params.arguments or {})
        session = await self._binding_of(context).session(self._kernel, create=offered.creates(arguments))
        box = await self._toolbox(session)
        if question := question_about(box.context, params.name, arguments):
            answer = await ask(context, params, question)
            if isinstance(answer, types.InputRequiredResult):
                return answer
            if answer is None:
                return _result(question.for_the_model, is_error=True)
            arguments[question.argument] = question.answered(answer)
        called = await box.prepare(f"mcp-{context.request_id}", params.name, arguments).run()
        return _result(called.error or box.marked(called), is_error=called.error is not None)

    async def _toolbox(self, session: Session | None) -> Toolbox:
        return await self._registry.open(ToolContext(kernel=self._kernel, session=session, turn_id=""))

    def _unknown_tool(self, name: str) -> str:
        near = get_close_matches(name, self._catalogue, n=1)
        known = f"did you mean {near[0]}?" if near else f"there are {', '.join(self._catalogue)}"
        return f"there is no tool {name[:100]!r}; {known}"

    async def list_resources(
        self, context: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = params.cursor if params else None
        return await resources.list_resources(self._kernel, self._binding_of(context), cursor)

    async def list_templates(
        self, context: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def read_resource(
        self, context: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await resources.read_resource(self._kernel, self._binding_of(context), str(params.uri))

    async def list_prompts(
        self, context: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=prompt_templates.list_prompts())

    async def get_prompt(
        self, context: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        return prompt_templates.get_prompt(params.name, params.arguments or {})

    async def complete(
        self, context: RequestContext, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Complete the key of a session in the URI of a resource; nothing else has values to offer."""
        values: list[str] = []
        if isinstance(params.ref, types.ResourceTemplateReference) and params.argument.name == "key":
            values = await resources.keys(self._kernel, self._binding_of(context), params.argument.value)
        return types.CompleteResult(completion=types.Completion(values=values))


def _result(text: str, *, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
