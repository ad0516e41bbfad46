"""The settings and what each may be.

Secrets are `SecretStr`, or hidden from `repr` where a URL may carry one.
"""

import ipaddress
import os
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PrivateAttr, SecretStr, ValidationError, model_validator

from segue.config import layers
from segue.config.channels import MatrixPart, TelegramPart
from segue.config.defaults import user_data_folder
from segue.config.layers import Wanted
from segue.config.values import (
    Count,
    CountFromOne,
    DatabaseUrl,
    DefaultPolicy,
    Folder,
    HostName,
    Interval,
    LeaseSeconds,
    MaybeFolder,
    MaybeZone,
    ModelName,
    Port,
    Seconds,
    SecondsFromOne,
    Steps,
    Strict,
    Switch,
)
from segue.errors import BadSetting
from segue.model.evaluation import Evaluation
from segue.model.policy import Busy
from segue.model.settings import Settings
from segue.model.states import UnifiedOwner, WhenBusy


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


SHORTEST_KEY = 16
"""Characters. A shorter one can be guessed."""


def _key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("a key is a string of ASCII letters, digits and signs without spaces")
    if len(text) < SHORTEST_KEY:
        raise ValueError(
            f"a key has at least {SHORTEST_KEY} characters, this one has {len(text)}; "
            "`python3 -c 'import secrets; print(secrets.token_urlsafe(32))'` makes one"
        )
    return key


class ApiKey(Strict):
    key: Annotated[SecretStr, AfterValidator(_key)]
    account: Annotated[str, Field(min_length=1, max_length=200)] = "default"
    user: Annotated[str, Field(min_length=1, max_length=200)] = "default"
    role: Role = Role.USER


class McpServer(Strict):
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


class SessionAutoCommit(Strict):
    idle_enabled: Switch = True
    """Whether quiet sessions are committed at all."""
    check_interval_seconds: Interval = 60.0
    """The longest time between two safety looks; due moments wake the archivist by themselves."""
    default_policy: DefaultPolicy = None
    """For sessions that are made without a word about it, as a JSON object. Unset: none."""


class ServerPart(Strict):
    session_auto_commit: SessionAutoCommit = SessionAutoCommit()


class Configuration(Strict):
    database: Annotated[DatabaseUrl, Field(repr=False)] = None
    """Unset: `segue.db` in the data folder."""
    data: Folder = Field(default_factory=lambda: user_data_folder(os.environ))
    """The folder of the embedded database."""
    model: ModelName = None
    """provider:name. Unset: offline, a small model of rules that needs no key and no network."""
    model_steps: Steps = 50
    """The most requests to the model in one turn; one that needs more ends with what it has said."""
    evaluate_response: Annotated[Evaluation, Wanted(f"one of {', '.join(Evaluation)}")] = Evaluation.RULES
    """Who judges whether an answer of a system or legacy job goes out: rules, or the model."""
    timezone: MaybeZone = None
    """For times that name no zone, in sessions that have none. Unset, such times are refused."""
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
    jobs_per_session: CountFromOne = 50
    """Automations that users may have in one session."""
    least_interval_seconds: SecondsFromOne = 10
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
    _warnings: tuple[str, ...] = PrivateAttr(default=())

    @classmethod
    def load(
        cls, path: Path | str | None = None, env: Mapping[str, str] | None = None, **flags: Any
    ) -> "Configuration":
        """From the file, then the environment, then the flags that are not None."""
        env = os.environ if env is None else env
        given = layers.read(cls, path, env, flags)
        defaults = {"data": user_data_folder(env)}
        try:
            loaded = cls.model_validate(defaults | given.values)
        except ValidationError as error:
            raise BadSetting(layers.sentence(cls, error, given.sources)) from None
        if lacks := loaded.telegram.lacks or loaded.matrix.lacks or loaded._lacks_a_judge:
            raise BadSetting(lacks)
        loaded._sources = given.sources
        loaded._warnings = tuple(given.warnings)
        return loaded

    @property
    def _lacks_a_judge(self) -> str | None:
        if self.evaluate_response is Evaluation.RULES or self.model is not None:
            return None
        return "evaluate_response is model, but no model is set; set SEGUE_MODEL, or let it be rules"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What in the environment was not used, in sentences."""
        return self._warnings

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'segue.db'}"

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
