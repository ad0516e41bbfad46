"""The peers by themselves: what the bars of the other workloads are made of."""

from collections.abc import Iterator

from bench.figure import Figure
from bench.measure import median_of
from bench.peers import bare_sqlite, pgqueuer
from bench.room import Room


def peers_alone(room: Room) -> Iterator[Figure]:
    each = room.size(10, short=2)
    yield _bare("bare SQLite loop, groups of 100", room, bare_sqlite.Turns(each=each))
    scheduled = bare_sqlite.Turns(each=each, scheduled=True)
    yield _bare("bare SQLite loop, groups of 100, scheduled", room, scheduled)
    yield _bare("bare SQLite loop, one transaction at a time", room, bare_sqlite.Turns(each=1, group=1))
    jobs = room.size(20_000, short=2_000)
    yield _drain("PgQueuer drain, 5 × batches of 10", room, pgqueuer.Drain(jobs=jobs))
    yield _drain("PgQueuer drain, 5 × batches of 100", room, pgqueuer.Drain(jobs=jobs, batch=100))
    yield _drain("  the same on uvloop", room, pgqueuer.Drain(jobs=jobs, batch=100, uvloop=True))


def _bare(workload: str, room: Room, turns: bare_sqlite.Turns) -> Figure:
    def once() -> float:
        with room.folder() as folder:
            return bare_sqlite.run(folder, turns).per_second

    return Figure(workload=workload, unit="turns/s", peer=median_of(room.rounds, once))


def _drain(workload: str, room: Room, plan: pgqueuer.Drain) -> Figure:
    def once() -> float:
        with room.database() as url:
            return pgqueuer.run(url, plan).drain.per_second

    return Figure(workload=workload, unit="jobs/s", peer=median_of(room.rounds, once))
