"""The workloads, in the order of the table: one file each, a function of the room it runs in."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from bench.figure import Figure
from bench.room import Room
from bench.workloads.peers_alone import peers_alone

Workload: TypeAlias = Callable[[Room], Iterable[Figure]]

WORKLOADS: Mapping[str, Workload] = {
    "peers-alone": peers_alone,
}
