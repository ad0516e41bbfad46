"""The scheduling tools as plain schemas, for frameworks that bind tools when an agent is made."""

import json

import pytest

from segue import scheduling_tools
from segue.errors import BadSetting

NAMES = {
    "cron",
    "schedule_recall",
    "manage_recall",
    "schedule_private_message",
    "list_scheduled_private_messages",
    "cancel_scheduled_private_message",
    "set_timezone",
    "memory_search",
}


def test_every_tool_has_a_schema_that_a_provider_takes() -> None:
    tools = scheduling_tools()
    assert {tool.name for tool in tools} == NAMES
    for tool in tools:
        assert tool.description
        schema = json.loads(json.dumps(tool.parameters))
        assert schema["type"] == "object"


def test_some_of_them_can_be_chosen() -> None:
    assert [tool.name for tool in scheduling_tools("memory_search", "cron")] == ["cron", "memory_search"]


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(BadSetting, match="there is no scheduling tool 'crom'; did you mean 'cron'"):
        scheduling_tools("crom")
