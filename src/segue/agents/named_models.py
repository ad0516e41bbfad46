"""Named models: those of `SEGUE_MODELS`, loaded when a job first asks for one, and closed with the agent."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from segue.errors import AgentFailed, BadSetting
from segue.extras import needed_for

if TYPE_CHECKING:
    from pydantic_ai.models import Model


class NamedModels:
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names
        self._models: dict[str, Model] = {}
        self._clients = AsyncExitStack()
        self._lock = asyncio.Lock()

    async def close(self) -> None:
        await self._clients.aclose()

    async def get(self, name: str) -> "Model":
        """Return the model of that short name. Raises `AgentFailed` if it cannot be used."""
        async with self._lock:
            if name not in self._models:
                self._models[name] = await self._clients.enter_async_context(await self._loaded(name))
            return self._models[name]

    async def _loaded(self, name: str) -> "Model":
        try:
            with needed_for(f"the model {name!r}", "model"):
                # The first import takes a second; in a thread it does not block other turns.
                llm = await asyncio.to_thread(import_module, "segue.agents.llm")
            model: Model = llm.load_model(self._names[name])
        except (BadSetting, ImportError) as error:
            shown = f"The model “{name}” of this job cannot be used. The run record says why."
            raise AgentFailed(str(error), shown=shown, code="model_unusable") from error
        except KeyError:
            raise AgentFailed(f"there is no model {name!r} in SEGUE_MODELS", code="unknown_model") from None
        return model
