"""What a workload is: a preparation for each peer and size, and a round that can be repeated in turn with
others.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from bench.environment import Environment
from bench.field.peer import Peer
from bench.field.results import Column, Figures
from bench.field.stores import Store, empty_store

Round: TypeAlias = Callable[[], Figures]


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how large."""

    env: Environment
    peer: Peer
    size: int
    short: bool
    """Shorter waits and fewer calls, for a run of some minutes."""

    def store(self) -> AbstractContextManager[Store]:
        return empty_store(self.env, self.peer)


Prepared: TypeAlias = Callable[[Setting], AbstractContextManager[Round]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    name: str
    title: str
    about: str
    """What is done and what the figures mean, for the page."""
    size: str
    """What the sizes count."""
    sizes: tuple[int, ...]
    short_sizes: tuple[int, ...]
    columns: tuple[Column, ...]
    prepared: Prepared
    opt_in: bool = False
    """Only for peers that name it."""
    counts: bool = False
    """Whether it counts more than it times: a short run has one round of it, another one three."""

    def rounds(self, *, short: bool) -> int:
        """The most rounds that it is measured in."""
        if self.counts:
            return 1 if short else 3
        return sys.maxsize


def on_new_stores(
    measure: Callable[[Setting, Store], Figures],
) -> Prepared:
    """For workloads that need no preparation: every round has an empty store."""

    @contextmanager
    def prepared(setting: Setting) -> Iterator[Round]:
        def once() -> Figures:
            with setting.store() as store:
                return measure(setting, store)

        yield once

    return prepared
