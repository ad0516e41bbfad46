"""The settings and what each may be.

Secrets are `SecretStr`, or hidden from `repr` where a URL may carry one. What a field wants is said once, by
`Wanted`, in the words that an error uses.
"""

import ipaddress
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    PrivateAttr,
    SecretStr,
    ValidationError,
    model_validator,
)

from segue.auto_commit import AutoCommitPolicy
from segue.configuration import layers
from segue.configuration.layers import Wanted
from segue.configuration.surroundings import is_zone, system_zone, user_data_folder
from segue.errors import BadPolicy, BadSetting
from segue.policy import Busy
from segue.settings import Settings
from segue.states import UnifiedOwner, WhenBusy

_DATABASES = ("sqlite://", "postgresql://", "postgres://")


class Role(StrEnum):
    USER = "user"
    """Sees what belongs to its account and user."""
    ADMIN = "admin"
    """Sees the operations of the server too."""


class LogFormat(StrEnum):
    AUTO = "auto"
    """Human on a terminal, JSON elsewhere."""
    HUMAN = "human"
    JSON = "json"


def _not_bool(value: object) -> object:
    if isinstance(value, bool):  # which Python counts among the numbers
        raise ValueError("a number is wanted")
    return value


def _zone(name: str) -> str:
    if not is_zone(name):
        raise ValueError("there is no such zone")
    return name


def _model(name: str | None) -> str | None:
    if name is None or name == "offline":
        return None
    provider, _, rest = name.partition(":")
    if not provider or not rest or any(letter.isspace() for letter in name):
        raise ValueError("it has no provider")
    return name


def _folder(path: Path) -> Path:
    return path.expanduser().absolute()


def _maybe_folder(path: Path | None) -> Path | None:
    return None if path is None else _folder(path)


def _key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("a key is a string of ASCII letters, digits and signs without spaces")
    return key


def _default_policy(given: object) -> AutoCommitPolicy | None:
    if given is None or isinstance(given, AutoCommitPolicy):
        return given
    if not isinstance(given, Mapping):
        raise ValueError("it is no object")
    try:
        return AutoCommitPolicy.from_json(given)
    except BadPolicy as wrong:
        raise ValueError(str(wrong)) from None


def _database(url: str | None) -> str | None:
    if url is not None and not url.startswith(_DATABASES):
        raise ValueError("it begins otherwise")
    return url


Count = Annotated[
    int,
    BeforeValidator(_not_bool),
    Field(ge=0, le=1_000_000),
    Wanted("a whole number from 0 to 1,000,000"),
]
Seconds = Annotated[
    float, BeforeValidator(_not_bool), Field(ge=0, le=1_000_000), Wanted("a number from 0 to 1,000,000")
]
LeaseSeconds = Annotated[
    float, BeforeValidator(_not_bool), Field(ge=0.1, le=1_000_000), Wanted("a number from 0.1 to 1,000,000")
]
Interval = Annotated[
    float,
    BeforeValidator(_not_bool),
    Field(gt=0, le=1_000_000),
    Wanted("a number above 0, at most 1,000,000"),
]
Port = Annotated[
    int, BeforeValidator(_not_bool), Field(ge=0, le=65_535), Wanted("a port from 0 (any free one) to 65535")
]
Switch = Annotated[bool, Wanted("true or false")]
Folder = Annotated[Path, AfterValidator(_folder), Wanted("the path of a folder", path=True)]
MaybeFolder = Annotated[Path | None, AfterValidator(_maybe_folder), Wanted("the path of a folder", path=True)]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,253}$")]
Zone = Annotated[str, AfterValidator(_zone), Wanted("an IANA zone such as 'Europe/Berlin' or 'UTC'")]
ModelName = Annotated[
    str | None,
    AfterValidator(_model),
    # Of models with open weights: what one provider retires is still there at another.
    Wanted("provider:name such as 'openai-chat:gpt-oss-120b' or 'ollama:smollm2', or 'offline'"),
]
DatabaseUrl = Annotated[
    str | None,
    AfterValidator(_database),
    Wanted("a URL such as 'sqlite:///segue.db', 'sqlite://:memory:' or 'postgresql://user@host/name'"),
]


DefaultPolicy = Annotated[
    AutoCommitPolicy | None,
    PlainValidator(_default_policy),
    Wanted('a JSON object such as {"enabled": true, "idle_timeout_seconds": 1800}, or @file', json=True),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class ApiKey(_Strict):
    key: Annotated[SecretStr, AfterValidator(_key)]
    account: Annotated[str, Field(min_length=1, max_length=200)] = "default"
    user: Annotated[str, Field(min_length=1, max_length=200)] = "default"
    role: Role = Role.USER


class McpServer(_Strict):
    """A program that is started and spoken to over its pipes, or an address."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    """Stands before the names of its tools."""
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, SecretStr] = {}
    url: str | None = None
    headers: Mapping[str, SecretStr] = {}

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError(f"{self.name} needs either a command or a url")
        return self


def _distinct_keys(keys: tuple[ApiKey, ...]) -> tuple[ApiKey, ...]:
    if len({each.key.get_secret_value() for each in keys}) < len(keys):
        raise ValueError("two entries have the same key")
    return keys


def _distinct_names(servers: tuple[McpServer, ...]) -> tuple[McpServer, ...]:
    if len({each.name for each in servers}) < len(servers):
        raise ValueError("two entries have the same name")
    return servers


class SessionAutoCommit(_Strict):
    idle_enabled: Switch = True
    """Whether quiet sessions are committed at all."""
    check_interval_seconds: Interval = 60.0
    """The longest time between two safety looks; due moments wake the archivist by themselves."""
    default_policy: DefaultPolicy = None
    """For sessions that are made without a word about it, as a JSON object. Unset: none."""


class ServerPart(_Strict):
    session_auto_commit: SessionAutoCommit = SessionAutoCommit()


def _address(url: str | None) -> str | None:
    if url is not None and not re.fullmatch(r"https?://[^\s/?#@]+[^\s?#]*", url):
        raise ValueError("it is no address")
    return url


Address = Annotated[
    str, AfterValidator(_address), Wanted("an address such as 'https://example.org', without a password")
]
MaybeAddress = Annotated[
    str | None,
    AfterValidator(_address),
    Wanted("an address such as 'https://example.org', without a password"),
]
People = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=200)], ...],
    Wanted('a JSON list of ids, such as ["12345"], or ["*"] for everybody', json=True),
]


class TelegramPart(_Strict):
    token: Annotated[SecretStr | None, Wanted("the token that Telegram gave the bot")] = None
    """Set, `segue serve` speaks and listens as this bot."""
    url: Address = "https://api.telegram.org"
    """Where the Bot API is."""
    webhook_url: MaybeAddress = None
    """Where Telegram can reach `/webhooks/telegram` of this server. Unset: long polling."""
    webhook_secret: Annotated[SecretStr | None, Wanted("a word of letters, digits, _ and -")] = None
    """By which a call is known to come from Telegram."""
    allow: People = ()
    """Ids of those who may talk to the bot; nobody else is answered."""
    pairing: Switch = False
    """Whether somebody else gets a code to be let in by."""

    @property
    def lacks(self) -> str | None:
        """What is missing beside what is set."""
        if (self.webhook_url is None) == (self.webhook_secret is None):
            return None
        return "telegram.webhook_url and telegram.webhook_secret are set together, or not at all"


class MatrixPart(_Strict):
    url: MaybeAddress = None
    """Of the homeserver."""
    user: Annotated[str | None, Wanted("a full user id such as '@bot:example.org'")] = None
    token: Annotated[SecretStr | None, Wanted("an access token of that user")] = None
    """Set, `segue serve` speaks and listens as this user. Keep the same one: repeats are known by it."""
    allow: People = ()
    """Full ids of those who may talk to the bot; nobody else is answered."""
    pairing: Switch = False
    """Whether somebody else gets a code to be let in by."""

    @property
    def lacks(self) -> str | None:
        """What is missing beside what is set."""
        if self.token is None or (self.url is not None and self.user is not None):
            return None
        return "matrix.token needs matrix.url and matrix.user; set them too"


class Configuration(_Strict):
    database: Annotated[DatabaseUrl, Field(repr=False)] = None
    """Unset: `segue.db` in the data folder."""
    data: Folder = Field(default_factory=lambda: user_data_folder(os.environ))
    """The folder of the embedded database."""
    model: ModelName = None
    """provider:name. Unset: offline, a small model of rules that needs no key and no network."""
    model_steps: Annotated[
        int, BeforeValidator(_not_bool), Field(ge=1, le=1_000), Wanted("a whole number from 1 to 1,000")
    ] = 50
    """The most requests to the model in one turn; one that needs more ends with what it has said."""
    timezone: Zone = Field(default_factory=lambda: system_zone(os.environ) or "UTC")
    """For times that name no zone, in sessions that have none."""
    api_keys: Annotated[
        tuple[ApiKey, ...],
        AfterValidator(_distinct_keys),
        Wanted(
            'a JSON list of {"key", "account", "user", "role"}, or @ and the path of a file with one',
            json=True,
        ),
    ] = ()
    """Who may call. None: everybody on this machine, and nobody else."""
    host: Annotated[str, Field(min_length=1), Wanted("a host name or an address")] = "127.0.0.1"
    """Where `segue serve` listens."""
    port: Port = 8420
    allowed_hosts: Annotated[
        tuple[HostName, ...],
        Wanted('a JSON list of host names such as ["segue.example.org"], or @file', json=True),
    ] = ()
    """Further names by which browsers may call, such as that of a proxy in front."""
    runners: Count = 3
    """Scheduled turns at once in this process."""
    user_runners: Count = 32
    """Users' turns at once in this process."""
    lease_seconds: LeaseSeconds = 15
    """How long a session stays with a worker that went silent."""
    shutdown_grace_seconds: Seconds = 20
    """How long running turns may take to end when the process is told to stop."""
    when_busy: Annotated[WhenBusy, Wanted(f"one of {', '.join(WhenBusy)}")] = WhenBusy.ENQUEUE
    """What a message does when its session is busy and has no rule of its own."""
    unified_session: Switch = False
    """Whether all chats of a user share one memory."""
    unified_owner: Annotated[UnifiedOwner, Wanted(f"one of {', '.join(UnifiedOwner)}")] = UnifiedOwner.CHAT
    """Who owns a job that is made while they do."""
    recall_on_busy: Annotated[Busy, Wanted(f"one of {', '.join(Busy)}")] = Busy.WAIT
    """What a recall does when it is due in a busy session."""
    jobs_per_session: Annotated[
        int,
        BeforeValidator(_not_bool),
        Field(ge=1, le=1_000_000),
        Wanted("a whole number from 1 to 1,000,000"),
    ] = 50
    """Automations that users may have in one session."""
    least_interval_seconds: Annotated[
        float, BeforeValidator(_not_bool), Field(ge=1, le=1_000_000), Wanted("a number from 1 to 1,000,000")
    ] = 10
    """How close together the runs of a user's automation may be."""
    workspace: MaybeFolder = None
    """The folder of the file tools. Nothing outside it is reachable; unset, nothing is."""
    fetch_private: Switch = False
    """Whether `fetch_url` may read addresses of this machine and its network."""
    mcp_servers: Annotated[
        tuple[McpServer, ...],
        AfterValidator(_distinct_names),
        Wanted(
            'a JSON list of {"name", "command", "args", "env"} or {"name", "url", "headers"}, or @file',
            json=True,
        ),
    ] = ()
    """MCP servers whose tools the agent may use."""
    log_format: Annotated[LogFormat, Wanted(f"one of {', '.join(LogFormat)}")] = LogFormat.AUTO
    """How the log is written to standard error."""
    traces: Switch = False
    """Whether runs are traced with OpenTelemetry. Where to is said by its own variables."""
    read_channels: Annotated[
        tuple[Annotated[str, Field(pattern=r"^[^\s/:,]{1,100}$")], ...],
        Wanted('a JSON list of names, such as ["web", "api"]', json=True),
    ] = ("api", "web")
    """Beginnings of keys of sessions that programs read through the API: for them, stored is sent."""
    telegram: TelegramPart = TelegramPart()
    matrix: MatrixPart = MatrixPart()
    server: ServerPart = ServerPart()

    _sources: Mapping[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def load(
        cls, path: Path | str | None = None, env: Mapping[str, str] | None = None, **flags: Any
    ) -> "Configuration":
        """From the file, then the environment, then the flags that are not None."""
        env = os.environ if env is None else env
        given = layers.read(cls, path, env, flags)
        defaults = {"data": user_data_folder(env), "timezone": system_zone(env) or "UTC"}
        try:
            loaded = cls.model_validate(defaults | given.values)
        except ValidationError as error:
            raise BadSetting(layers.sentence(cls, error, given.sources)) from None
        if lacks := loaded.telegram.lacks or loaded.matrix.lacks:
            raise BadSetting(lacks)
        loaded._sources = given.sources
        return loaded

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'segue.db'}"

    @property
    def zone_is_a_guess(self) -> bool:
        """The machine did not say which zone it keeps, and nobody else did."""
        return self.source_of("timezone") is None and system_zone(os.environ) is None

    @property
    def listens_to_itself_only(self) -> bool:
        """Whether nobody but this machine can reach the host."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def kernel_settings(self) -> Settings:
        return Settings(
            runners=self.runners,
            user_runners=self.user_runners,
            lease_seconds=self.lease_seconds,
            shutdown_grace_seconds=self.shutdown_grace_seconds,
            when_busy=self.when_busy,
            unified_session=self.unified_session,
            unified_owner=self.unified_owner,
            recall_on_busy=self.recall_on_busy,
            timezone=self.timezone,
            auto_commit_policy=self.server.session_auto_commit.default_policy,
            idle_commits=self.server.session_auto_commit.idle_enabled,
            commit_check_seconds=max(0.1, self.server.session_auto_commit.check_interval_seconds),
            jobs_per_session=self.jobs_per_session,
            least_interval_seconds=self.least_interval_seconds,
        )

    def source_of(self, name: str) -> str | None:
        """Where a setting (`server.session_auto_commit.idle_enabled`) came from; None is its default."""
        return self._sources.get(name)

    def secrets(self) -> Iterator[str]:
        """What must never be shown."""
        yield from _opened(each.key for each in self.api_keys)
        for server in self.mcp_servers:
            yield from _opened([*server.env.values(), *server.headers.values()])
        given = (self.telegram.token, self.telegram.webhook_secret, self.matrix.token)
        yield from _opened(secret for secret in given if secret is not None)
        if self.database and (password := urlsplit(self.database).password):
            yield password


def _opened(secrets: Iterable[SecretStr]) -> Iterator[str]:
    return (secret.get_secret_value() for secret in secrets)
