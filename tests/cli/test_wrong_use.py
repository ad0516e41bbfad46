"""Wrong use: exit code 2, a sentence on standard error, nothing on standard output."""

import re

import pytest

from tests.cli.process import Segue


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serv"], "No such command 'serv'"),
        (["serve", "--prot", "1"], "--prot"),
        (["serve", "--port", "high"], "--port"),
        (["serve", "--port", "70000"], "--port must be a port from 0"),
        (["serve", "--config", "nowhere.toml"], "nowhere.toml cannot be read"),
        (["serve", "--host", "0.0.0.0"], "set SEGUE_API_KEYS, or listen on 127.0.0.1"),
        (["worker", "--runners", "-1"], "--runners must be a whole number"),
        (["worker", "--database", "mysql://x"], "--database must be a URL such as"),
        (["chat", "--session", "none:"], "a session key is channel:chat_id"),
        (["sessions", "show"], "Missing argument"),
        (["sessions", "list", "--limit", "0"], "'--limit': 0 is not in the range 1<=x<=500."),
        (["sessions", "list", "--limit", "few"], "'--limit': 'few' is not a valid integer."),
        (["messages", "list", "web:1", "--status", "old"], "'--status': 'old' is not one of 'pending', "),
        (["import", "nowhere.json"], "the job store nowhere.json cannot be read: no such file or directory"),
        (["sessions", "import", "nowhere.jsonl"], "nowhere.jsonl cannot be read: no such file or directory"),
        (["sessions", "add-message", "web:1", ""], "a message is empty"),
        (["sessions", "add-message", "web:1", "hi", "--role", "boss"], "a role is user, assistant or system"),
        (["sessions", "add-message", "no:/key", "hi"], "a session key is channel:chat_id"),
        (["sessions", "add-messages", "web:1", "nowhere.json"], "nowhere.json cannot be read: no such file"),
    ],
)
async def test_wrong_use_is_reported_in_a_sentence(segue: Segue, arguments: list[str], words: str) -> None:
    ended = await segue(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert re.search(words, ended.err)


async def test_a_real_process_reports_wrong_use_too(segue: Segue) -> None:
    ended = await segue.process("serve", "--host", "0.0.0.0")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "Error: 0.0.0.0 can be reached from other machines, but no API key is set; "
        "set SEGUE_API_KEYS, or listen on 127.0.0.1\n"
    )
    assert not segue.data.exists()


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"SEGUE_RUNNERS": "three"}, "SEGUE_RUNNERS must be a whole number"),
        ({"SEGUE_TIMEZONE": "Mars"}, "SEGUE_TIMEZONE must be an IANA zone"),
        ({"SEGUE_API_KEYS": "[hush]"}, "SEGUE_API_KEYS must be a JSON list"),
    ],
)
async def test_a_wrong_setting_stops_every_command(segue: Segue, env: dict[str, str], words: str) -> None:
    segue.env = env
    ended = await segue("sessions", "list")
    assert (ended.code, ended.out) == (2, "")
    assert words in ended.err
    assert "hush" not in ended.err


@pytest.mark.parametrize("command", ["add-message", "add-messages"])
@pytest.mark.parametrize("flag", ["--token-threshold", "--idle-timeout-seconds", "--keep-recent-count"])
async def test_a_policy_option_needs_auto_commit_enabled(segue: Segue, command: str, flag: str) -> None:
    ended = await segue("sessions", command, "web:1", "hi", flag, "10")
    assert ended.code == 2
    assert ended.err == f"Error: {flag} is part of a policy; give --auto-commit-enabled with it\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--auto-commit-enabled", "perhaps"], "'perhaps' is not one of 'true', 'false'"),
        (["--auto-commit-enabled", "true", "--token-threshold", "0"], "0 is not in the range x>=1"),
        (["--auto-commit-enabled", "true", "--idle-timeout-seconds", "-1"], "-1 is not in the range x>="),
        (["--auto-commit-enabled", "true", "--keep-recent-count", "-1"], "-1 is not in the range x>=0"),
        (["--auto-commit-enabled", "true", "--keep-recent-count", "10001"], "from 0 to 10,000"),
    ],
)
async def test_an_invalid_policy_is_refused(segue: Segue, flags: list[str], words: str) -> None:
    ended = await segue("sessions", "add-message", "web:1", "hi", *flags)
    assert (ended.code, ended.out) == (2, "")
    assert re.search(words, ended.err)
    assert not segue.data.exists()


async def test_a_reading_command_does_not_create_a_database(segue: Segue) -> None:
    for command in ("sessions list", "sessions show web:1", "runs list web:1", "db status"):
        ended = await segue(*command.split())
        assert ended.code == 1
        assert "there is no database at" in ended.err
    assert not segue.data.exists()
