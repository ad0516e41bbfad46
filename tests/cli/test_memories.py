"""`segue sessions commit`, the flags of a policy, and `segue memories`."""

import json
from typing import Any

import pytest

from tests.cli.process import Segue

pytestmark = pytest.mark.usefixtures("ready")


async def run_json(segue: Segue, *command: str) -> dict[str, Any]:
    ended = await segue(*command, "--json")
    assert ended.code == 0, ended.err
    answer: dict[str, Any] = json.loads(ended.out)
    return answer


async def test_a_policy_is_given_by_flags_and_kept(segue: Segue) -> None:
    """A2.12."""
    flags = ["--token-threshold", "8000", "--idle-timeout-seconds", "1800", "--keep-recent-count", "10"]
    flags += ["--message-count-threshold", "50", "--min-commit-interval-seconds", "60"]
    await run_json(segue, "sessions", "add-message", "web:1", "hi", "--auto-commit-enabled", "true", *flags)
    await run_json(segue, "sessions", "add-message", "web:1", "again")
    session = await run_json(segue, "sessions", "show", "web:1")
    assert session["auto_commit_policy"] == {
        "enabled": True,
        "token_threshold": 8000,
        "message_count_threshold": 50,
        "idle_timeout_seconds": 1800,
        "min_commit_interval_seconds": 60,
        "keep_recent_count": 10,
    }


async def test_a_flag_of_a_policy_without_the_policy_is_refused_by_its_name(segue: Segue) -> None:
    """A2.12."""
    for flag in ("--message-count-threshold", "--min-commit-interval-seconds", "--keep-recent-count"):
        refused = await segue("sessions", "add-message", "web:1", "hi", flag, "5")
        assert (refused.code, flag in refused.err) == (2, True)
        assert "--auto-commit-enabled" in refused.err


async def test_memories_are_extracted_found_corrected_and_removed(segue: Segue) -> None:
    await run_json(segue, "sessions", "add-message", "web:1", "I live in Berlin.")
    done = await run_json(segue, "sessions", "commit", "web:1")
    assert (done["status"], done["archive_id"]) == ("accepted", "1")
    assert (await segue("sessions", "commit", "web:1")).out == "Nothing was archived: no_messages.\n"
    assert (await segue("memories", "list")).out == "There are no memories yet.\n"
    await segue("chat", "--session", "web:1", text="hello\n")  # its workers extract memories
    (memory,) = (await run_json(segue, "memories", "list"))["memories"]
    assert memory["content"] == "I live in Berlin."
    memory_id = str(memory["id"])
    assert "I live in Berlin." in (await segue("memories", "search", "Berlin")).out
    assert "85 %" in (await segue("memories", "show", memory_id)).out
    await segue("memories", "edit", memory_id, "I live in Bern.")
    assert (await run_json(segue, "memories", "show", memory_id))["content"] == "I live in Bern."
    await segue("memories", "remove", memory_id)
    assert (await segue("memories", "show", memory_id)).code == 1
