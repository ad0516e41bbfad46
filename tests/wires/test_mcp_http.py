"""MCP over HTTP: the official client schedules, reads and explains in the one session that it is bound to."""

import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from mcp import MCPError
from mcp.types import PromptReference, ResourceTemplateReference, TextContent

from segue import Kernel, Owner
from segue.config import Configuration
from segue.server import create_app
from segue.testing import ScriptedAgent
from tests.eventually import eventually
from tests.wires.mcp_clients import REVISIONS, Mode, call, connected, listening, refused, resource

JOB_ID = re.compile(r"Job (\S+)")


@pytest.fixture
def agent() -> ScriptedAgent:
    return ScriptedAgent()


@pytest.fixture
def kernel(database_url: str, agent: ScriptedAgent) -> Kernel:
    return Kernel(database_url, agent=agent)


@pytest_asyncio.fixture
async def address(kernel: Kernel) -> AsyncIterator[str]:
    """A server without keys, and its workers."""
    async with listening(create_app(kernel, Configuration())) as address:
        yield address
        assert not await kernel.audit()


@pytest.mark.parametrize("mode", REVISIONS)
async def test_a_client_schedules_in_the_session_of_its_header(
    address: str, kernel: Kernel, mode: Mode
) -> None:
    async with connected(address, "mcp:work", mode=mode) as client:
        assert client.session.protocol_version == REVISIONS[mode]
        assert "Berlin" in await call(client, "set_timezone", timezone="Europe/Berlin")
        added = await call(client, "cron", action="add", message="Report", cron_expr="0 9 * * 1-5")
        job_id = JOB_ID.findall(added)[0]
        assert job_id in await call(client, "cron", action="list")
        assert "task_id" in await call(
            client, "schedule_private_message", send_at="in 2 hours", message_text="Stand up"
        )
        assert "Stand up" in await call(client, "list_scheduled_private_messages")
        await call(
            client,
            "schedule_recall",
            call_type="once",
            when="in 3 hours",
            additional_context_message="Read build.log and report whether the build is green",
        )
        assert "pending" in await call(client, "manage_recall", action="list")
        assert "Nothing is known" in await call(client, "memory_search", query="tea")
        assert "scheduled" in await call(client, "explain_job", job_id=job_id)
    session = await kernel.sessions.get("mcp:work")
    assert session.timezone == "Europe/Berlin"
    assert [job.name for job in await kernel.jobs.list(session)].count("Report") == 1


async def test_the_session_can_be_named_in_the_url(address: str, kernel: Kernel) -> None:
    async with connected(address, path="/mcp?session=mcp:url") as client:
        await call(client, "cron", action="add", message="Report", every_seconds=3600)
    assert len(await kernel.jobs.list("mcp:url")) == 1


async def test_the_header_is_percent_encoded_like_a_path(address: str, kernel: Kernel) -> None:
    async with connected(address, "mcp:M%C3%BCnchen") as client:
        await call(client, "set_timezone", timezone="Europe/Berlin")
    assert (await kernel.sessions.get("mcp:München")).timezone == "Europe/Berlin"


async def test_without_a_session_a_tool_says_how_to_bind_one(address: str, kernel: Kernel) -> None:
    async with connected(address) as client:
        assert len((await client.list_tools()).tools) == 11
        sentence = await refused(client, "cron", action="add", message="Report", every_seconds=3600)
    assert "X-Segue-Session: KEY" in sentence
    assert "?session=KEY" in sentence
    assert "segue mcp --session KEY" in sentence
    assert await kernel.sessions.list() == []


async def test_two_names_for_the_session_are_refused(address: str) -> None:
    async with connected(address, "mcp:one", path="/mcp?session=mcp:two") as client:
        assert "name one of them" in await refused(client, "cron", action="list")


async def test_a_key_that_is_none_is_refused_with_a_sentence(address: str) -> None:
    async with connected(address, "nonsense") as client:
        assert len((await client.list_tools()).tools) == 11
        assert "channel:chat_id" in await refused(client, "cron", action="list")


async def test_a_call_that_only_reads_does_not_create_the_session(address: str, kernel: Kernel) -> None:
    async with connected(address, "mcp:new") as client:
        for tool, arguments in {
            "cron": {"action": "list"},
            "read_messages": {},
            "list_scheduled_private_messages": {},
            "memory_search": {"query": "tea"},
        }.items():
            assert "does not exist yet" in await refused(client, tool, **arguments)
        assert await kernel.sessions.list() == []
        await call(client, "cron", action="add", message="Report", every_seconds=3600)
    assert [session.key for session in await kernel.sessions.list()] == ["mcp:new"]


async def test_no_argument_names_a_session_or_an_owner(address: str, kernel: Kernel) -> None:
    await kernel.sessions.open("mcp:other")
    async with connected(address, "mcp:work") as client:
        tools = (await client.list_tools()).tools
        names = {name for tool in tools for name in tool.input_schema["properties"]}
        assert not {name for name in names if re.search("session|owner|user|account|key", name)}
        await call(client, "set_timezone", timezone="UTC")
        sentence = await refused(client, "manage_recall", action="list", session_id="mcp:other")
    assert "knows no `session_id`" in sentence


async def test_every_tool_has_a_title_and_hints(address: str) -> None:
    async with connected(address) as client:
        tools = (await client.list_tools()).tools
    assert all(tool.title and tool.annotations for tool in tools)
    hints = {tool.name: tool.annotations for tool in tools if tool.annotations}
    reading = {name for name, hint in hints.items() if hint.read_only_hint}
    assert reading == {"list_scheduled_private_messages", "memory_search", "explain_job", "read_messages"}
    adding = {name for name, hint in hints.items() if hint.destructive_hint is False}
    assert adding == {"schedule_recall", "set_timezone"}
    assert {name for name, hint in hints.items() if hint.idempotent_hint} == {"set_timezone"}


async def test_tools_for_private_chats_are_not_offered_in_a_group(address: str, kernel: Kernel) -> None:
    await kernel.sessions.open("mcp:team", chat_type="group")
    async with connected(address, "mcp:team") as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert not {name for name in names if "private" in name}
        await refused(client, "schedule_private_message", send_at="in 2 hours", message_text="Hello")


async def test_a_turn_is_sent_and_answered(address: str, agent: ScriptedAgent) -> None:
    agent.script("All is well.")
    async with connected(address, "mcp:work") as client:
        assert await call(client, "send_turn", text="How is it?") == "All is well."
        said = await call(client, "read_messages")
    assert "user: How is it?" in said
    assert "assistant: All is well." in said


async def test_a_turn_goes_on_after_the_client_has_waited_long_enough(
    address: str, agent: ScriptedAgent
) -> None:
    agent.pause()
    agent.script("Late.")
    async with connected(address, "mcp:work") as client:
        assert "has not ended yet" in await call(client, "send_turn", text="How is it?", wait_seconds=0)
        await agent.under_way()
        agent.go_on()

        async def answered() -> bool:
            return "assistant: Late." in await call(client, "read_messages")

        await eventually(answered, "the answer is in the conversation")


async def test_a_failed_turn_is_an_error_of_the_tool(address: str, agent: ScriptedAgent) -> None:
    agent.script(RuntimeError("no model"))
    async with connected(address, "mcp:work") as client:
        assert "ended as" in await refused(client, "send_turn", text="How is it?")


async def test_a_scheduled_turn_arrives_in_the_conversation(address: str, agent: ScriptedAgent) -> None:
    agent.script("The build is green.")
    async with connected(address, "mcp:work") as client:
        added = await call(client, "cron", action="add", message="Check the build", at="in 1 second")

        async def arrived() -> bool:
            return "The build is green." in await call(client, "read_messages")

        await eventually(arrived, "the job has answered")
        explained = await call(client, "explain_job", job_id=JOB_ID.findall(added)[0])
        uri = "segue://sessions/mcp:work/messages"
        (source,) = [
            message["source"]
            for message in json.loads(await resource(client, uri))["messages"]
            if message["role"] == "assistant"
        ]
        run = json.loads(await resource(client, f"segue://sessions/mcp:work/runs/{source['run_id']}"))
    assert explained.startswith("ended")
    assert run["outcome"] == "ok"


async def test_resources_have_the_shapes_of_the_http_api(address: str, kernel: Kernel) -> None:
    async with connected(address, "mcp:work") as client:
        await call(client, "cron", action="add", message="Report", every_seconds=3600)
        await kernel.log.write_all("mcp:work", [("user", "Hello")])
        listed = [each.uri for each in (await client.list_resources()).resources]
        assert listed == ["segue://sessions/mcp:work/messages", "segue://sessions/mcp:work/automations"]
        (message,) = json.loads(await resource(client, listed[0]))["messages"]
        (job,) = json.loads(await resource(client, listed[1]))["jobs"]
        templates = (await client.list_resource_templates()).resource_templates
    assert (message["role"], message["content"]) == ("user", "Hello")
    assert "html" not in message
    assert job["schedule"] == {"kind": "every", "every_seconds": 3600}
    assert [each.uri_template for each in templates] == [
        "segue://sessions/{key}/messages",
        "segue://sessions/{key}/automations",
        "segue://sessions/{key}/runs/{id}",
    ]


async def test_resources_are_listed_in_pages(address: str, kernel: Kernel) -> None:
    for number in range(60):
        await kernel.sessions.open(f"mcp:{number}")
    async with connected(address) as client:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        uris = {each.uri for each in (*first.resources, *second.resources)}
        with pytest.raises(MCPError, match="cursor"):
            await client.list_resources(cursor="nonsense")
    assert len(uris) == 120
    assert second.next_cursor is None


@pytest.mark.parametrize(
    "uri",
    [
        "segue://sessions/mcp:none/messages",
        "segue://sessions/mcp:here/nothing",
        "segue://sessions/mcp:here/runs/none",
        "segue://sessions/",
        "segue://other/mcp:here/messages",
        "file:///etc/passwd",
        "segue://sessions/..%2F..%2Fetc/messages",
    ],
)
async def test_an_unknown_resource_is_an_error_of_the_protocol(
    address: str, kernel: Kernel, uri: str
) -> None:
    await kernel.sessions.open("mcp:here")
    async with connected(address) as client:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)
    assert raised.value.code == -32602


async def test_prompts_say_which_tools_to_use(address: str) -> None:
    async with connected(address) as client:
        assert [each.name for each in (await client.list_prompts()).prompts] == [
            "schedule",
            "review_automations",
        ]
        prompt = await client.get_prompt("schedule", {"what": "water the plants", "when": "every friday"})
        (message,) = prompt.messages
        assert isinstance(message.content, TextContent)
        assert "water the plants" in message.content.text
        assert (await client.get_prompt("review_automations")).messages
        with pytest.raises(MCPError, match="needs the argument 'what'"):
            await client.get_prompt("schedule", {})
        with pytest.raises(MCPError, match="there is no prompt"):
            await client.get_prompt("nothing")


async def test_an_unknown_tool_is_an_error_that_names_the_nearest(address: str) -> None:
    async with connected(address, "mcp:work") as client:
        with pytest.raises(MCPError, match="did you mean cron"):
            await client.call_tool("corn", {"action": "list"})


async def test_keys_of_sessions_are_completed(address: str, kernel: Kernel) -> None:
    for key in ("mcp:work", "mcp:home", "web:1"):
        await kernel.sessions.open(key)
    template = ResourceTemplateReference(type="ref/resource", uri="segue://sessions/{key}/messages")
    async with connected(address) as client:
        found = await client.complete(template, {"name": "key", "value": "mcp:"})
        assert set(found.completion.values) == {"mcp:work", "mcp:home"}
        nothing = await client.complete(
            PromptReference(type="ref/prompt", name="schedule"), {"name": "what", "value": "w"}
        )
        assert nothing.completion.values == []


async def test_an_application_opens_it_each_time_it_starts(database_url: str) -> None:
    app = create_app(Kernel(database_url, agent=ScriptedAgent()), Configuration())
    for _ in range(2):
        async with listening(app) as address, connected(address, "mcp:work") as client:
            await call(client, "cron", action="add", message="Report", every_seconds=3600)


async def test_a_kernel_that_is_open_already_is_served(kernel: Kernel) -> None:
    async with (
        kernel,
        listening(create_app(kernel, Configuration())) as address,
        connected(address, "mcp:work") as client,
    ):
        await call(client, "cron", action="add", message="Report", every_seconds=3600)
        assert (await kernel.sessions.get("mcp:work")).owner == Owner()
