"""The workloads, in the order of the table: each is a function of its environment, in its own file."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from bench.environment import Environment
from bench.figure import Figure
from bench.workloads.backup import backup
from bench.workloads.flood import flood
from bench.workloads.importing import importing
from bench.workloads.lateness import lateness
from bench.workloads.memory import memory
from bench.workloads.messages import messages
from bench.workloads.peers_alone import peers_alone
from bench.workloads.pending import pending
from bench.workloads.processes import processes
from bench.workloads.turns import postgres_turns, sqlite_turns

Workload: TypeAlias = Callable[[Environment], Iterable[Figure]]

WORKLOADS: Mapping[str, Workload] = {
    "import": importing,
    "sqlite-turns": sqlite_turns,
    "postgres-turns": postgres_turns,
    "processes": processes,
    "lateness": lateness,
    "flood": flood,
    "pending": pending,
    "memory": memory,
    "messages": messages,
    "backup": backup,
    "peers-alone": peers_alone,
}
