"""The kernel: opens the house, runs its workers, and holds the public verbs.

    async with Kernel("sqlite:///agent.db", agent=my_agent) as kernel:
        await kernel.schedule("telegram:42", Cron("0 9 * * 1-5", tz="Europe/Berlin"), Ask("What is new?"))
        await kernel.run()

The verbs work whether or not `run` is under way, here or in another process: they write a row and ring.
"""

import os
import random
import socket
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Self

from segue.agent import Agent, AgentFunction, as_agent
from segue.bell import Bell
from segue.channel import Channel, network_names
from segue.clock import Clock, SystemClock
from segue.crew import Function
from segue.evaluation import EvaluateResponse, evaluate_response
from segue.hub import Hub
from segue.memory.extraction import Extractor
from segue.memory.rules import RuleExtractor
from segue.memory.shelf import Shelf
from segue.model import Ids
from segue.settings import Settings
from segue.showing import Showing
from segue.store.database import Database
from segue.store.opening import open_database
from segue.store.store import Store
from segue.verbs.automating import Automating
from segue.verbs.deleting import Deleting
from segue.verbs.hearing import Desk, Hearing
from segue.verbs.messaging import Messaging
from segue.verbs.recalling import Recalling
from segue.verbs.remembering import Remembering
from segue.workforce import Listening, Workforce


class Kernel(Deleting, Hearing, Automating, Recalling, Messaging, Remembering):
    def __init__(
        self,
        database: str | Database,
        *,
        agent: Agent | AgentFunction,
        channels: Iterable[Channel] | None = None,
        functions: Mapping[str, Function] | None = None,
        evaluate_response: EvaluateResponse = evaluate_response,
        extractor: Extractor | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        name: str | None = None,
    ) -> None:
        self._database = database
        self._agent = as_agent(agent)
        self._channels = None if channels is None else tuple(channels)
        self.channels = {channel.name: channel for channel in self._channels or ()}
        self.networks = network_names(self.channels.values())
        self.functions = dict(functions or {})
        self.evaluate_response = evaluate_response
        self._extractor = extractor or RuleExtractor()
        self._clock = clock
        self._rng = rng or random.Random()
        self.ids = Ids(self._rng)
        self.settings = settings or Settings()
        self.name = name or f"{socket.gethostname()}/{os.getpid()}/{self._rng.getrandbits(32):08x}"

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opening:
            database = self._database
            if isinstance(database, str):
                database = await open_database(database)
                opening.push_async_callback(database.close)
            self.clock = self._clock or SystemClock(database.wall_ms)
            self.store = Store(database, self.clock)
            self.shelf = Shelf(self.store)
            self.bell = Bell(self.clock)
            self.hub = Hub()
            self.workers = Workforce(
                self.store,
                self.clock,
                self.bell,
                self.hub,
                name=self.name,
                agent=self._agent,
                functions=self.functions,
                evaluate_response=self.evaluate_response,
                channels=self._channels,
                extractor=self._extractor,
                settings=self.settings,
                ids=self.ids,
                rng=self._rng,
            )
            await opening.enter_async_context(database.watch(self._somebody_wrote))
            self._closing = opening.pop_all()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._closing.aclose()

    async def run(self, *, listen: bool = True) -> None:
        """Run the workers until cancelled; `listen` for what arrives through the channels, too."""
        beside = [
            Showing(self.store, self.clock, self.hub, self.workers.turns, channel)
            for channel in self.channels.values()
            if channel.capabilities.edits and not channel.capabilities.stored
        ]
        heard = [Listening(channel, Desk(self, channel)) for channel in self.channels.values() if listen]
        await self.workers.run([*beside, *heard])

    def _somebody_wrote(self) -> None:
        """In another process. Whoever waits here, for work or for words, looks again."""
        self.bell.ring_all()
        self.hub.look_again()
