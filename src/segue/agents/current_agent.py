"""Current agent: answers with the model that is connected on the page, or by rules while there is none.

The file of the connection is looked at before each turn, so a change takes effect with the next turn, in
every process that shares the data folder. A running turn ends with the model that it began with.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from segue.agents.named_models import NamedModels
from segue.agents.offline import OfflineAgent
from segue.agents.tools.registry import Registry
from segue.errors import AgentFailed, BadSetting
from segue.extras import needed_for
from segue.memory.extraction import Extractor, Lesson, Material
from segue.memory.rules import RuleExtractor
from segue.model.agent import Delta, OpenTurn

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from segue.config.stored_model import StoredModel, Version


class ConnectedModel:
    """The model of the stored connection; made again when it has changed. None: there is never one."""

    def __init__(self, stored: "StoredModel | None", *, private: bool) -> None:
        self._stored = stored
        self._private = private
        self._version: Version | None = None
        self._model: Model | None = None
        self._clients = AsyncExitStack()
        self._lock = asyncio.Lock()

    async def close(self) -> None:
        """Close the connections of all models, also of replaced ones: their last turns have ended by now."""
        await self._clients.aclose()

    async def get(self) -> "Model | None":
        """Return the model, or None if none is connected. Raises `AgentFailed` if it cannot be used."""
        async with self._lock:
            if self._stored is None:
                return None
            version = self._stored.version()
            if version != self._version:
                self._model = await self._made(self._stored)
                self._version = version
            return self._model

    async def _made(self, stored: "StoredModel") -> "Model | None":
        try:
            connection = stored.read()
        except BadSetting as error:
            raise AgentFailed(
                str(error), shown="The connected model cannot be read. Connect it again.", code=error.code
            ) from error
        if connection is None:
            return None
        with needed_for("a connected model", "model"):
            # The first import takes a second; in a thread it does not block other turns.
            connect = await asyncio.to_thread(import_module, "segue.agents.connect")
        client = await self._clients.enter_async_context(connect.guarded_client(private=self._private))
        model: Model = await asyncio.to_thread(connect.make_model, connection, client)
        return model


class CurrentAgent:
    reports_tools = True

    def __init__(
        self, model: ConnectedModel, tools: Registry, *, named: NamedModels, limits: Mapping[str, Any]
    ) -> None:
        self._model = model
        self._tools = tools
        self._named = named
        self._limits = limits
        self._offline = OfflineAgent(tools)

    async def __aenter__(self) -> Self:
        await self._tools.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._tools.__aexit__(*raised)
        await self._named.close()
        await self._model.close()

    async def answer(self, turn: OpenTurn) -> AsyncIterator[Delta | str]:
        async with aclosing(await self._answer(turn)) as pieces:
            async for piece in pieces:
                yield piece

    async def _answer(self, turn: OpenTurn) -> Any:
        model = await self._model.get()
        if model is None and turn.model is None and turn.look is None:
            return self._offline.answer(turn)
        from segue.agents.llm import ModelAgent, ModelLimits

        limits = ModelLimits(**self._limits)
        return ModelAgent(model, tools=self._tools, named=self._named, limits=limits).answer(turn)


class CurrentExtractor:
    """Summarises archives and learns from them with the connected model, or by rules while there is none."""

    def __init__(self, model: ConnectedModel) -> None:
        self._model = model
        self.name = RuleExtractor.name

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._model.close()

    async def summarise(self, material: Material) -> str:
        return await (await self._extractor()).summarise(material)

    async def learn(self, material: Material) -> Sequence[Lesson]:
        return await (await self._extractor()).learn(material)

    async def _extractor(self) -> Extractor:
        model = await self._model.get()
        extractor: Extractor
        if model is None:
            extractor = RuleExtractor()
        else:
            from segue.agents.extractor import ModelExtractor

            extractor = ModelExtractor(model)
        self.name = extractor.name
        return extractor
