"""Configuration fields: every setting, its type and its default.

Secrets are `Secret`; a URL that may hold one is hidden from `repr`.
"""

import ipaddress
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from segue.config import layers
from segue.config.channels import MatrixPart, TelegramPart
from segue.config.defaults import data_folder
from segue.config.parts import Part, Secret, Wanted, WrongValue, part
from segue.config.readers import choice, listed, mapping, secret, text, whole
from segue.config.stored_model import StoredModel
from segue.config.values import (
    AccountBudget,
    CacheTtl,
    Count,
    CountFromOne,
    DatabaseUrl,
    DefaultPolicy,
    DefaultQuietHours,
    FileMegabytes,
    Folder,
    Interval,
    LeaseSeconds,
    MaybeFolder,
    MaybePort,
    MaybeZone,
    Megabytes,
    ModelName,
    Port,
    Prices,
    Seconds,
    SecondsFromOne,
    Steps,
    Switch,
    short_names,
)
from segue.errors import BadSetting
from segue.model.cost.prices import built_in_prices
from segue.model.evaluation import Evaluation
from segue.model.policy import Busy
from segue.model.settings import Settings, check_model_limits
from segue.model.states import UnifiedOwner, WhenBusy
from segue.record import record


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


def _check_key(key: str) -> None:
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("a key is a string of ASCII letters, digits and signs without spaces")
    if len(key) < SHORTEST_KEY:
        raise ValueError(
            f"a key has at least {SHORTEST_KEY} characters, this one has {len(key)}; "
            "`python3 -c 'import secrets; print(secrets.token_urlsafe(32))'` makes one"
        )


_NAME = Wanted("a name", text(least=1, most=200))
_MAYBE_TEXT = Annotated[str | None, Wanted("a text", text())]
_SECRETS = Annotated[Mapping[str, Secret], Wanted("an object of texts", mapping(secret()))]


@record
class ApiKey(Part):
    key: Annotated[Secret, Wanted("a key", secret(_check_key))]
    account: Annotated[str, _NAME] = "default"
    user: Annotated[str, _NAME] = "default"
    role: Annotated[Role, Wanted("a role", choice(Role))] = Role.USER


@record
class McpServer(Part):
    """An MCP server: a program to start, or a URL to call."""

    name: Annotated[str, Wanted("a name", text(pattern=r"[A-Za-z0-9_-]{1,64}"))]
    """Prefix of the names of its tools."""
    command: _MAYBE_TEXT = None
    args: Annotated[tuple[str, ...], Wanted("a list of texts", listed(text()))] = ()
    env: _SECRETS = field(default_factory=dict)
    url: _MAYBE_TEXT = None
    headers: _SECRETS = field(default_factory=dict)

    def __post_init__(self) -> None:
        Part.__post_init__(self)  # `super()` would need the class that the decorator replaces
        if (self.command is None) == (self.url is None):
            raise ValueError(f"{self.name} needs either a command or a url")


@record
class SessionAutoCommit(Part):
    idle_enabled: Switch = True
    """Whether idle sessions are archived."""
    check_interval_seconds: Interval = 60.0
    """The longest time between two checks; the archivist also wakes when a session is due."""
    default_policy: DefaultPolicy = None
    """The policy of sessions that are made without one, as a JSON object. Unset: none."""


@record
class EmbeddingPart(Part):
    """An embedder, so that memory is searched by meaning too."""

    url: Annotated[
        str | None, Wanted("a URL such as https://host/v1", text(pattern=r"https?://\S{1,1000}"))
    ] = None
    """The API of a provider with an OpenAI-compatible `/embeddings` endpoint. Unset: search goes by words."""
    model: Annotated[str | None, Wanted("the name of a model", text(least=1, most=200))] = None
    """The provider's name of the model."""
    key: Annotated[Secret | None, Wanted("a key of the provider", secret())] = None
    """Sent to the endpoint only. Unset: none is sent."""

    @property
    def missing(self) -> str | None:
        if (self.url is None) == (self.model is None):
            return None
        return "embedding needs both: set SEGUE_EMBEDDING_URL and SEGUE_EMBEDDING_MODEL"


@record
class ServerPart(Part):
    session_auto_commit: SessionAutoCommit = field(default_factory=SessionAutoCommit)


@record
class Configuration(Part):
    database: DatabaseUrl = field(default=None, repr=False)
    """Unset: `segue.db` in the data folder."""
    data: Folder = field(default_factory=lambda: data_folder(os.environ))
    """The folder of the embedded database. Unset: `.segue` in the working folder, else the user's folder."""
    model: ModelName = None
    """provider:name. Unset: the model that was connected on the page, else the offline agent, which works by
    rules and needs no key and no network."""
    model_steps: Steps = 50
    """The most model requests in one turn; a turn that needs more ends with the text it has so far."""
    models: Annotated[
        Mapping[str, str],
        Wanted(
            'a JSON object such as {"fast": "ollama:smollm2", "best": "anthropic:…"}, or @file',
            short_names,
            json=True,
        ),
    ] = field(default_factory=dict)
    """Further models by short names, which automations may name: `{"fast": "provider:name"}`."""
    cache_ttl: Annotated[CacheTtl, Wanted("5m or 1h", choice(CacheTtl))] = CacheTtl.FIVE_MINUTES
    """How long Anthropic keeps its cache of a request."""
    prices: Prices = None
    """Prices of models, before the built-in ones. Unset: only those."""
    account_budget: AccountBudget = None
    """What the scheduled runs of each account may use in a period. Unset: no limit."""
    quiet: DefaultQuietHours = None
    """Quiet hours of sessions that have none of their own. Unset: none."""
    evaluate_response: Annotated[
        Evaluation, Wanted(f"one of {', '.join(Evaluation)}", choice(Evaluation))
    ] = Evaluation.RULES
    """What judges whether an answer of a system or legacy job is sent: rules, or the model."""
    timezone: MaybeZone = None
    """For times that name no zone, in sessions that have none. Unset, such times are refused."""
    api_keys: Annotated[
        tuple[ApiKey, ...],
        Wanted(
            'a JSON list of {"key", "account", "user", "role"}, or @ and the path of a file with one',
            listed(part(ApiKey), distinct=lambda each: each.key, what="key"),
            json=True,
        ),
    ] = ()
    """API keys of the users. Without keys, the server accepts calls from this machine only."""
    host: Annotated[str, Wanted("a host name or an address", text(least=1))] = "127.0.0.1"
    """Where `segue serve` listens."""
    port: Port = 8420
    metrics_port: MaybePort = None
    """Where `segue worker` answers `/health` and `/metrics`, at `host`. Unset: nowhere."""
    allowed_hosts: Annotated[
        tuple[str, ...],
        Wanted(
            'a JSON list of host names such as ["segue.example.org"], or @file',
            listed(text(pattern=r"[A-Za-z0-9._-]{1,253}")),
            json=True,
        ),
    ] = ()
    """Further host names that browsers may use, such as that of a proxy."""
    runners: Count = 3
    """Capacity of this process for scheduled turns."""
    user_runners: Count = 32
    """Capacity of this process for users' turns."""
    max_running_turns: Count = 0
    """Turns at once in all processes on the database; 0 sets no limit."""
    max_running_turns_by_model: Annotated[
        Mapping[str, int],
        Wanted(
            'a JSON object such as {"best": 4, "default": 20}, or @file',
            mapping(whole(0, 1_000_000)),
            json=True,
        ),
    ] = field(default_factory=dict)
    """The same for single models, by their names in `models`; `default` is the default model."""
    lease_seconds: LeaseSeconds = 15
    """How long a worker that stops responding keeps a session."""
    shutdown_grace_seconds: Seconds = 20
    """How long running turns may take to end when the process is told to stop."""
    when_busy: Annotated[WhenBusy, Wanted(f"one of {', '.join(WhenBusy)}", choice(WhenBusy))] = (
        WhenBusy.ENQUEUE
    )
    """What happens to a message whose session is busy and has no rule of its own."""
    unified_session: Switch = False
    """Whether all chats of a user share one memory."""
    unified_owner: Annotated[
        UnifiedOwner, Wanted(f"one of {', '.join(UnifiedOwner)}", choice(UnifiedOwner))
    ] = UnifiedOwner.CHAT
    """Which session owns a job that is made while they do."""
    recall_on_busy: Annotated[Busy, Wanted(f"one of {', '.join(Busy)}", choice(Busy))] = Busy.WAIT
    """What happens to a recall that is due in a busy session."""
    jobs_per_session: CountFromOne = 50
    """Automations that users may have in one session."""
    least_interval_seconds: SecondsFromOne = 10
    """The shortest interval between runs of a user's automation."""
    file_megabytes: FileMegabytes = 20
    """The largest file that a message may have."""
    session_files_megabytes: Megabytes = 100
    """What all files of a session may have together."""
    workspace: MaybeFolder = None
    """The folder of the file tools, which reach nothing outside it. Unset: no file tools."""
    fetch_private: Switch = False
    """Whether `fetch_url` may read addresses of this machine and its network."""
    mcp_servers: Annotated[
        tuple[McpServer, ...],
        Wanted(
            'a JSON list of {"name", "command", "args", "env"} or {"name", "url", "headers"}, or @file',
            listed(part(McpServer), distinct=lambda each: each.name, what="name"),
            json=True,
        ),
    ] = ()
    """MCP servers whose tools the agent may use."""
    log_format: Annotated[LogFormat, Wanted(f"one of {', '.join(LogFormat)}", choice(LogFormat))] = (
        LogFormat.AUTO
    )
    """How the log is written to standard error."""
    traces: Switch = False
    """Whether runs are traced with OpenTelemetry. Its own variables say where traces are sent."""
    read_channels: Annotated[
        tuple[str, ...],
        Wanted(
            'a JSON list of names, such as ["web", "api"]',
            listed(text(pattern=r"[^\s/:,]{1,100}")),
            json=True,
        ),
    ] = ("api", "mcp", "web")
    """Channels of sessions that programs read through the API or MCP: a stored message counts as sent."""
    embedding: EmbeddingPart = field(default_factory=EmbeddingPart)
    telegram: TelegramPart = field(default_factory=TelegramPart)
    matrix: MatrixPart = field(default_factory=MatrixPart)
    server: ServerPart = field(default_factory=ServerPart)

    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where each setting that is not a default came from."""
    warnings: tuple[str, ...] = ()
    """Sentences about variables of the environment that were not used."""

    @classmethod
    def load(
        cls, path: Path | str | None = None, env: Mapping[str, str] | None = None, **flags: Any
    ) -> "Configuration":
        """Read the file, then the environment, then the flags that are not None. Raises `BadSetting`."""
        env = os.environ if env is None else env
        given = layers.read(cls, path, env, flags)
        defaults = {"data": data_folder(env)}
        try:
            loaded = cls(**(defaults | given.values), sources=given.sources, warnings=tuple(given.warnings))
        except WrongValue as wrong:
            raise BadSetting(layers.sentence(cls, wrong, given.sources)) from None
        if (
            missing := loaded.telegram.missing
            or loaded.matrix.missing
            or loaded.embedding.missing
            or loaded._missing_judge
        ):
            raise BadSetting(missing)
        check_model_limits(loaded.max_running_turns_by_model, loaded.models, loaded.model)
        return loaded

    @property
    def _missing_judge(self) -> str | None:
        if self.evaluate_response is Evaluation.RULES or self.model is not None:
            return None
        return "evaluate_response is model, but no model is set; set SEGUE_MODEL, or let it be rules"

    @property
    def database_url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'segue.db'}"

    @property
    def stored_model(self) -> StoredModel | None:
        """The model that an admin may connect on the page; None if the settings name the model."""
        return None if self.source_of("model") else StoredModel(self.data)

    @property
    def model_name(self) -> str | None:
        """What answers: the configured model, or the one connected on the page; None: the offline rules."""
        if self.model is not None or self.stored_model is None:
            return self.model
        try:
            connected = self.stored_model.read()
        except BadSetting:  # a turn says so
            return None
        return connected.name if connected is not None else None

    @property
    def listens_to_itself_only(self) -> bool:
        """Whether only this machine can reach the host."""
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
            max_running_turns=self.max_running_turns,
            max_running_turns_by_model=self.max_running_turns_by_model,
            lease_seconds=self.lease_seconds,
            shutdown_grace_seconds=self.shutdown_grace_seconds,
            when_busy=self.when_busy,
            unified_session=self.unified_session,
            unified_owner=self.unified_owner,
            recall_on_busy=self.recall_on_busy,
            timezone=self.timezone,
            account_budget=self.account_budget,
            quiet=self.quiet,
            auto_commit_policy=self.server.session_auto_commit.default_policy,
            idle_commits=self.server.session_auto_commit.idle_enabled,
            commit_check_seconds=max(0.1, self.server.session_auto_commit.check_interval_seconds),
            jobs_per_session=self.jobs_per_session,
            least_interval_seconds=self.least_interval_seconds,
            file_megabytes=self.file_megabytes,
            session_files_megabytes=self.session_files_megabytes,
            models=self.models,
            model=self.model,
            prices=self.prices and self.prices.over(built_in_prices()),
        )

    def source_of(self, name: str) -> str | None:
        """Return where a setting (`server.session_auto_commit.idle_enabled`) came from; None: the default."""
        return self.sources.get(name)

    def secrets(self) -> Iterator[str]:
        """Yield the secrets, which must never be shown."""
        yield from _revealed(each.key for each in self.api_keys)
        for server in self.mcp_servers:
            yield from _revealed([*server.env.values(), *server.headers.values()])
        given = (self.telegram.token, self.telegram.webhook_secret, self.matrix.token, self.embedding.key)
        yield from _revealed(secret for secret in given if secret is not None)
        if self.database and (password := urlsplit(self.database).password):
            yield password


def _revealed(secrets: Iterable[Secret]) -> Iterator[str]:
    return (secret.reveal() for secret in secrets)
