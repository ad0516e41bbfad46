"""Settings: three layers, and an error for every unknown setting."""

import json
from pathlib import Path
from typing import Any

import pytest

from segue.config import ApiKey, Configuration, McpServer, Role, Secret
from segue.config.layers import variable_of
from segue.config.parts import settings_of
from segue.errors import BadSetting
from segue.model.states import WhenBusy

KEYS = '[{"key": "open-sesame-open", "account": "acme", "user": "ann", "role": "admin"}]'


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder without a segue.toml."""
    monkeypatch.chdir(tmp_path)


def load(env: dict[str, str] | None = None, file: str | None = None, **flags: Any) -> Configuration:
    """Load without the settings of this machine, optionally with a file."""
    if file is not None:
        Path("segue.toml").write_text(file, "utf-8")
    return Configuration.load(env={"HOME": "/home/ann", "TZ": "Europe/Berlin", **(env or {})}, **flags)


def test_without_settings_it_serves_this_machine_from_the_users_data_folder() -> None:
    configuration = load()
    assert configuration.database_url == "sqlite:////home/ann/.local/share/segue/segue.db"
    assert configuration.listens_to_itself_only
    assert configuration.model is None
    assert configuration.timezone is None, "the zone of a server's machine is not its users'"
    assert configuration.server.session_auto_commit.idle_enabled
    assert configuration.server.session_auto_commit.check_interval_seconds == 60.0


def test_the_environment_beats_the_file_and_a_flag_beats_both() -> None:
    file = "runners = 4\nuser_runners = 5\nport = 1000\n"
    configuration = load({"SEGUE_USER_RUNNERS": "6", "SEGUE_PORT": "2000"}, file, port=3000)
    assert (configuration.runners, configuration.user_runners, configuration.port) == (4, 6, 3000)


def test_each_value_knows_where_it_came_from() -> None:
    configuration = load({"SEGUE_PORT": "2000"}, "runners = 4", host="::1")
    assert configuration.source_of("runners") == "runners in segue.toml"
    assert configuration.source_of("port") == "SEGUE_PORT"
    assert configuration.source_of("host") == "--host"
    assert configuration.source_of("lease_seconds") is None


def test_the_kernel_gets_its_settings() -> None:
    settings = load(
        {
            "SEGUE_RUNNERS": "1",
            "SEGUE_WHEN_BUSY": "inject",
            "SEGUE_LEASE_SECONDS": "3",
            "SEGUE_TIMEZONE": "Asia/Tokyo",
        }
    ).kernel_settings()
    assert (settings.runners, settings.when_busy, settings.lease_seconds) == (1, WhenBusy.INJECT, 3)
    assert settings.timezone == "Asia/Tokyo"


def test_an_empty_variable_is_not_set() -> None:
    assert load({"SEGUE_MODEL": ""}, "model = 'ollama:qwen3'").model == "ollama:qwen3"


def test_the_offline_model_can_be_asked_for_by_its_name() -> None:
    assert load({"SEGUE_MODEL": "offline"}, "model = 'ollama:qwen3'").model is None


def test_nested_settings_have_short_names_in_the_environment() -> None:
    """A6.2: a given value is used."""
    file = "[server.session_auto_commit]\nidle_enabled = false\ncheck_interval_seconds = 3.5\n"
    deep = load({"SEGUE_AUTO_COMMIT_IDLE_ENABLED": "true"}, file).server.session_auto_commit
    assert (deep.idle_enabled, deep.check_interval_seconds) == (True, 3.5)


def test_every_setting_of_the_contract_has_its_variable() -> None:
    assert {variable_of(name) for name, _ in settings_of(Configuration)} >= {
        "SEGUE_DATABASE",
        "SEGUE_DATA",
        "SEGUE_MODEL",
        "SEGUE_TIMEZONE",
        "SEGUE_API_KEYS",
        "SEGUE_RUNNERS",
        "SEGUE_USER_RUNNERS",
        "SEGUE_LEASE_SECONDS",
        "SEGUE_WHEN_BUSY",
        "SEGUE_UNIFIED_SESSION",
        "SEGUE_UNIFIED_OWNER",
        "SEGUE_RECALL_ON_BUSY",
        "SEGUE_AUTO_COMMIT_IDLE_ENABLED",
        "SEGUE_AUTO_COMMIT_CHECK_INTERVAL_SECONDS",
        "SEGUE_WORKSPACE",
    }


@pytest.mark.parametrize(
    ("word", "value"),
    [("true", True), ("Yes", True), ("on", True), ("1", True), ("FALSE", False), ("no", False), ("0", False)],
)
def test_a_switch_is_a_word_or_a_digit(word: str, value: bool) -> None:
    assert load({"SEGUE_UNIFIED_SESSION": word}).unified_session is value


def test_a_whole_number_may_be_written_with_a_point_in_the_file() -> None:
    assert load(file="runners = 4.0\nlease_seconds = 3").runners == 4


def test_a_program_may_not_make_a_wrong_configuration() -> None:
    with pytest.raises(ValueError, match="runners: it must be from 0 to 1,000,000"):
        Configuration(runners=-1)
    with pytest.raises(ValueError, match="key: a key has at least 16 characters"):
        ApiKey(key=Secret("short"))


# Paths and files


def test_a_path_in_a_file_counts_from_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "mine.toml").write_text("data = 'store'\nworkspace = '/srv/work'\n")
    configuration = Configuration.load("etc/mine.toml", env={})
    assert configuration.data == folder / "store"
    assert configuration.workspace == Path("/srv/work")


def test_a_path_in_the_environment_counts_from_here(tmp_path: Path) -> None:
    assert load({"SEGUE_DATA": "store"}).data == tmp_path / "store"


def test_keys_come_as_json_from_a_file_or_as_tables(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text(KEYS)
    expected = (ApiKey(**json.loads(KEYS)[0]),)
    assert load({"SEGUE_API_KEYS": KEYS}).api_keys == expected
    assert load({"SEGUE_API_KEYS": "@keys.json"}).api_keys == expected
    table = "[[api_keys]]\nkey = 'open-sesame-open'\naccount = 'acme'\nuser = 'ann'\nrole = 'admin'\n"
    assert load(file=table).api_keys == expected
    assert expected[0].role is Role.ADMIN


def test_keys_beside_a_file_are_found_from_anywhere(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "keys.json").write_text(KEYS)
    (folder / "segue.toml").write_text("api_keys = '@keys.json'")
    assert len(Configuration.load(folder / "segue.toml", env={}).api_keys) == 1


def test_mcp_servers_are_programs_or_addresses() -> None:
    file = """
        [[mcp_servers]]
        name = "notes"
        command = "notes-mcp"
        args = ["--read-only"]
        env = { NOTES_TOKEN = "hush" }
        [[mcp_servers]]
        name = "maps"
        url = "http://127.0.0.1:9/mcp"
    """
    notes, maps = load(file=file).mcp_servers
    assert isinstance(notes, McpServer)
    assert (notes.command, notes.args, notes.env["NOTES_TOKEN"].reveal()) == (
        "notes-mcp",
        ("--read-only",),
        "hush",
    )
    assert maps.url == "http://127.0.0.1:9/mcp"


def test_further_host_names_are_a_list() -> None:
    assert load(file="allowed_hosts = ['segue.example.org']").allowed_hosts == ("segue.example.org",)
    assert load({"SEGUE_ALLOWED_HOSTS": '["a.example", "b.example"]'}).allowed_hosts == (
        "a.example",
        "b.example",
    )


# Errors


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"SEGUE_RUNNERS": "three"}, ["SEGUE_RUNNERS must be a whole number from 0", "'three'"]),
        ({"SEGUE_RUNNERS": "-1"}, ["SEGUE_RUNNERS", "'-1'"]),
        ({"SEGUE_LEASE_SECONDS": "nan"}, ["SEGUE_LEASE_SECONDS must be a number", "'nan'"]),
        ({"SEGUE_TELEGRAM_ALLOW": "[7]"}, ["entry 1: it is not a text"]),
        ({"SEGUE_MODEL_STEPS": "0"}, ["SEGUE_MODEL_STEPS must be a whole number from 1 to 1,000"]),
        ({"SEGUE_ALLOWED_HOSTS": '["http://a/"]'}, ["SEGUE_ALLOWED_HOSTS must be a JSON list of host names"]),
        ({"SEGUE_PORT": "70000"}, ["SEGUE_PORT must be a port from 0 (any free one) to 65535", "'70000'"]),
        ({"SEGUE_TIMEZONE": "Europe/Berln"}, ["SEGUE_TIMEZONE must be an IANA zone", "'Europe/Berln'"]),
        ({"SEGUE_MODEL": "gpt"}, ["SEGUE_MODEL must be provider:name", "'gpt'"]),
        ({"SEGUE_WHEN_BUSY": "jump"}, ["enqueue, inject, interrupt, reject", "'jump'"]),
        ({"SEGUE_RECALL_ON_BUSY": "jump"}, ["wait, postpone, skip"]),
        ({"SEGUE_UNIFIED_OWNER": "me"}, ["chat, unified"]),
        ({"SEGUE_UNIFIED_SESSION": "perhaps"}, ["SEGUE_UNIFIED_SESSION must be true or false"]),
        ({"SEGUE_LEASE_SECONDS": "0"}, ["from 0.1 to 1,000,000"]),
        ({"SEGUE_AUTO_COMMIT_CHECK_INTERVAL_SECONDS": "0"}, ["above 0"]),
        ({"SEGUE_AUTO_COMMIT_CHECK_INTERVAL_SECONDS": "-1"}, ["above 0"]),
        ({"SEGUE_DATABASE": "mysql://ann:hush@db/x"}, ["SEGUE_DATABASE must be a URL such as 'sqlite://"]),
        ({"SEGUE_API_KEYS": "[{"}, ["SEGUE_API_KEYS", "not JSON"]),
        ({"SEGUE_API_KEYS": "@nowhere.json"}, ["SEGUE_API_KEYS (the file nowhere.json)", "no such file"]),
        ({"SEGUE_API_KEYS": '{"key": "hush"}'}, ["it is not a list"]),
        ({"SEGUE_API_KEYS": '["hush"]'}, ["entry 1: it is not an object"]),
        (
            {"SEGUE_API_KEYS": '[{"key": "hush-hush-hush-1"}, {"key": "hush-hush-hush-1"}]'},
            ["two entries have the same key"],
        ),
        (
            {"SEGUE_API_KEYS": '[{"key": "hush-hush-hush-1", "role": "god"}]'},
            ["entry 1, role", "'user' or 'admin'"],
        ),
        (
            {"SEGUE_API_KEYS": '[{"key": "hush-hush-hush-1", "rol": "user"}]'},
            ["entry 1, rol: there is no such field"],
        ),
        ({"SEGUE_API_KEYS": '[{"user": "ann"}]'}, ["entry 1, key: it is missing"]),
        ({"SEGUE_API_KEYS": '[{"key": "hush hush"}]'}, ["entry 1, key", "without spaces"]),
        ({"SEGUE_API_KEYS": '[{"key": "hush-hush-15-xx"}]'}, ["entry 1, key", "at least 16 characters"]),
        ({"SEGUE_MCP_SERVERS": '[{"name": "maps"}]'}, ["entry 1: maps needs either a command or a url"]),
    ],
)
def test_a_wrong_variable_is_reported_in_a_sentence(env: dict[str, str], words: list[str]) -> None:
    """A6.2: includes a check interval of zero or less."""
    with pytest.raises(BadSetting) as refused:
        load(env)
    for word in words:
        assert word in str(refused.value)
    assert "hush" not in str(refused.value)


KUBERNETES = {
    "SEGUE_PORT": "tcp://10.0.0.1:8420",
    "SEGUE_SERVICE_HOST": "10.0.0.1",
    "SEGUE_SERVICE_PORT": "8420",
    "SEGUE_SERVICE_PORT_HTTP": "8420",
    "SEGUE_PORT_8420_TCP": "tcp://10.0.0.1:8420",
    "SEGUE_PORT_8420_TCP_ADDR": "10.0.0.1",
    "SEGUE_PORT_8420_TCP_PORT": "8420",
    "SEGUE_PORT_8420_TCP_PROTO": "tcp",
    "SEGUE_DATABASE_MAIN_PORT": "udp://10.0.0.2:5432",
    "SEGUE_DATABASE_MAIN_SERVICE_HOST": "10.0.0.2",
    "SEGUE_DATABASE_MAIN_PORT_5432_UDP_ADDR": "10.0.0.2",
}
"""Variables that Kubernetes sets for Services named `segue` and `segue-database-main`."""


def test_variables_of_kubernetes_are_ignored() -> None:
    loaded = load(KUBERNETES)
    assert (loaded.port, loaded.database, loaded.warnings) == (8420, None, ())
    assert load(KUBERNETES, "port = 7000").port == 7000


def test_a_numeric_port_is_used_beside_kubernetes() -> None:
    assert load(KUBERNETES | {"SEGUE_PORT": "7000"}).port == 7000


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("SEGUE_RUNERS", "SEGUE_RUNNERS"),
        ("SEGUE_AUTOCOMMIT_IDLE_ENABLED", "SEGUE_AUTO_COMMIT_IDLE_ENABLED"),
        ("SEGUE_MY_PORT", "SEGUE_PORT"),
    ],
)
def test_an_unknown_variable_gives_a_warning(variable: str, nearest: str) -> None:
    loaded = load({variable: "3", "SEGUE_USER_RUNNERS": "5"})
    assert loaded.warnings == (
        f"the environment sets {variable}, which is no setting and is not used; did you mean {nearest}?",
    )
    assert (loaded.runners, loaded.user_runners) == (3, 5)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("runers = 3", ["segue.toml sets 'runers'", "did you mean 'runners'?"]),
        ("[server]\nhost = 'x'", ["'server.host'", "did you mean 'host'?"]),
        ("[server.session_auto_comit]\nx = 1", ["did you mean 'server.session_auto_commit'?"]),
        ("[server.session_auto_commit]\nidle = 1", ["'server.session_auto_commit.idle_enabled'"]),
        ("server = 3", ["server in segue.toml must be a table of settings, got 3"]),
        ("runners = true", ["runners in segue.toml must be a whole number", "got True"]),
        ("runners = 3.5", ["runners in segue.toml must be a whole number", "got 3.5"]),
        ("data = 7", ["data in segue.toml must be the path of a folder, got 7"]),
        ("runners = ", ["segue.toml are not TOML"]),
        ("api_keys = '@nowhere.json'", ["api_keys in segue.toml", "cannot be read: no such file"]),
    ],
)
def test_a_wrong_file_is_reported_in_a_sentence(file: str, words: list[str]) -> None:
    """A6.2: includes an unknown key of session_auto_commit."""
    with pytest.raises(BadSetting) as refused:
        load(file=file)
    for word in words:
        assert word in str(refused.value)


def test_a_wrong_option_is_reported_by_its_name() -> None:
    with pytest.raises(BadSetting, match=r"--port must be a port .* got 99999"):
        load(port=99999)


def test_a_given_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"nowhere\.toml cannot be read: no such file"):
        Configuration.load("nowhere.toml", env={})
    with pytest.raises(BadSetting, match="cannot be read: is a directory"):
        Configuration.load(tmp_path, env={})


def test_a_binary_file_is_reported() -> None:
    Path("segue.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadSetting, match="it is not UTF-8 text"):
        Configuration.load(env={})


# Secrets


def test_no_secret_is_in_the_repr_of_a_configuration() -> None:
    servers = '[{"name": "maps", "url": "http://x", "headers": {"Authorization": "Bearer hush-3"}}]'
    configuration = load(
        {
            "SEGUE_API_KEYS": '[{"key": "hush-hush-hush-1"}]',
            "SEGUE_DATABASE": "postgresql://ann:hush-2@db/x",
            "SEGUE_MCP_SERVERS": servers,
        }
    )
    assert "hush" not in repr(configuration)
    assert "hush" not in str(configuration)
    assert set(configuration.secrets()) == {"hush-hush-hush-1", "hush-2", "Bearer hush-3"}


# Who can reach it


@pytest.mark.parametrize(
    ("host", "itself_only"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.2", False),
        ("localhost.example.org", False),
        ("segue.example.org", False),
    ],
)
def test_which_hosts_only_this_machine_can_reach(host: str, itself_only: bool) -> None:
    assert load(host=host).listens_to_itself_only is itself_only
