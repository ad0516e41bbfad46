"""The peers in other shapes than those we are held against: for whoever knows them so."""

from collections.abc import Iterator

from bench.figure import Figure
from bench.measure import median_of
from bench.peers import bare_sqlite, pgqueuer
from bench.room import Room


def peers_alone(room: Room) -> Iterator[Figure]:
    yield _bare("bare SQLite loop, one transaction at a time", room, bare_sqlite.Turns(each=1, group=1))
    plain = pgqueuer.Drain(jobs=room.size(20_000, short=2_000), batch=100, uvloop=False)
    yield _drain("PgQueuer, batches of 100, on asyncio's own loop", room, plain)


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
