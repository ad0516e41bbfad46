"""Model settings: which model answers, where that is set, and the connection that an admin stores.

Invariants
  - a stored key is never returned, and is sent only to the address that it was stored for
  - what the environment, the settings file or a flag says wins over the page
"""

import asyncio
import logging
from dataclasses import replace
from importlib import import_module
from urllib.parse import urlsplit

from segue.agents.tools.guarded_address import AddressRefused, checked_address
from segue.config import Configuration, ModelConnection, ModelProvider, Secret, WrongValue
from segue.errors import AgentFailed, BadSetting
from segue.extras import needed_for
from segue.server.error_responses import Refused
from segue.server.schemas.settings import ModelIn, ModelOut
from segue.times.clock import Clock

_log = logging.getLogger(__name__)
_PORTS = {"http": 80, "https": 443}
_WANTED = {
    "base_url": "base_url: an address such as https://example.org/v1, without a password",
    "key": "key: a key is a string of ASCII letters, digits and signs without spaces",
    "name": "name: the model's name, without spaces",
}
OFFLINE = "offline"
PAGE = "page"


class ModelSettings:
    """`managed`: this server's agent follows the stored connection. An application's own agent does not."""

    def __init__(self, configuration: Configuration, *, managed: bool) -> None:
        self._configuration = configuration
        self._managed = managed
        self._stored = configuration.stored_model if managed else None

    @property
    def name(self) -> str | None:
        """What users see: the model's name, `offline`, or None if the application has its own agent."""
        shown = self.show()
        return shown.name or (OFFLINE if self._managed else None)

    def show(self) -> ModelOut:
        if self._stored is None:
            provider, _, name = (self._configuration.model or "").partition(":")
            source = self._configuration.source_of("model") if self._managed else "application"
            return _out(provider=provider or None, name=name or None, source=source)
        try:
            connection = self._stored.read()
        except BadSetting:  # a turn says so; here it can be replaced
            connection = None
        if connection is None:
            return _out(editable=True)
        return _out(
            provider=str(connection.provider),
            name=connection.name,
            base_url=connection.base_url,
            key_stored=connection.key is not None,
            source=PAGE,
            editable=True,
        )

    async def change(self, wanted: ModelIn | None) -> None:
        """Store the connection, or remove it. Raises `Refused`."""
        self._refuse_if_set_elsewhere()
        connection = None if wanted is None else self._connection(wanted)
        if connection is not None:
            await self._check_address(connection)
        assert self._stored is not None  # not set elsewhere
        try:
            await asyncio.to_thread(self._stored.write, connection)
        except OSError as error:
            raise Refused(
                500, "not_saved", f"the model could not be stored: {(error.strerror or str(error)).lower()}"
            ) from None
        _log.info("model connected: %s", "none" if connection is None else connection.name)

    async def test(self, wanted: ModelIn, clock: Clock) -> int:
        """Ask the model for one word, and return the milliseconds it took.

        Raises `Refused` with a sentence that says what to change.
        """
        self._refuse_if_set_elsewhere()
        connection = self._connection(wanted)
        with needed_for("a connected model", "model"):
            # The first import takes seconds on a small machine; in a thread it blocks no other request.
            connect = await asyncio.to_thread(import_module, "segue.agents.connect")
        started_at = clock.steady_ms()
        try:
            await connect.check_connection(connection, private=self._configuration.fetch_private)
        except AgentFailed as failure:
            raise Refused(422, failure.code, failure.shown or str(failure)) from failure
        return clock.steady_ms() - started_at

    def _connection(self, wanted: ModelIn) -> ModelConnection:
        try:
            connection = ModelConnection(
                provider=ModelProvider(wanted.provider),
                name=wanted.name,
                base_url=(wanted.base_url or "").rstrip("/") or None,
                key=None if wanted.key is None else Secret(wanted.key.get_secret_value()),
            )
        except WrongValue as wrong:
            raise Refused(422, "invalid", _WANTED[str(wrong.where[0])]) from None
        if connection.provider is ModelProvider.COMPATIBLE and connection.base_url is None:
            raise Refused(
                422,
                "model_address_missing",
                "a compatible server needs its address, such as http://127.0.0.1:8000/v1",
            )
        stored = self._kept()
        if connection.key is None and stored is not None and connection.same_place(stored):
            connection = replace(connection, key=stored.key)
        return connection

    def _kept(self) -> ModelConnection | None:
        try:
            return self._stored.read() if self._stored is not None else None
        except BadSetting:
            return None

    async def _check_address(self, connection: ModelConnection) -> None:
        if connection.base_url is None:
            return
        parts = urlsplit(connection.base_url)
        try:
            await checked_address(
                parts.hostname or "",
                parts.port or _PORTS[parts.scheme],
                private=self._configuration.fetch_private,
                loopback=True,
            )
        except (AddressRefused, ValueError) as refusal:
            raise Refused(
                422,
                "model_address_refused",
                f"{refusal}; the page connects to public addresses and this machine only, for others set "
                "SEGUE_MODEL and the provider's variables in the environment",
            ) from None

    def _refuse_if_set_elsewhere(self) -> None:
        if self._stored is None:
            source = self.show().source
            raise Refused(
                409,
                "set_elsewhere",
                f"the model is set by {source}, which wins; change it there, or remove it there and restart",
            )


def _out(
    *,
    provider: str | None = None,
    name: str | None = None,
    base_url: str | None = None,
    key_stored: bool = False,
    source: str | None = None,
    editable: bool = False,
) -> ModelOut:
    return ModelOut(
        provider=provider,
        name=name,
        base_url=base_url,
        key_stored=key_stored,
        source=source,
        editable=editable,
    )
