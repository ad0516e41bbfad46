"""The peers in their usual configurations, for readers who know them that way."""

from collections.abc import Iterator

from bench.environment import Environment
from bench.figure import Figure
from bench.measure import median_of
from bench.peers import bare_sqlite, pgqueuer


def peers_alone(env: Environment) -> Iterator[Figure]:
    yield _bare("bare SQLite loop, one transaction at a time", env, bare_sqlite.Turns(each=1, group=1))
    plain = pgqueuer.Drain(jobs=env.size(20_000, short=2_000), batch=100, uvloop=False)
    yield _drain("PgQueuer, batches of 100, on asyncio's own loop", env, plain)


def _bare(workload: str, env: Environment, turns: bare_sqlite.Turns) -> Figure:
    def once() -> float:
        with env.folder() as folder:
            return bare_sqlite.run(folder, turns).per_second

    return Figure(workload=workload, unit="turns/s", peer=median_of(env.rounds, once))


def _drain(workload: str, env: Environment, plan: pgqueuer.Drain) -> Figure:
    def once() -> float:
        with env.database() as url:
            return pgqueuer.run(url, plan).drain.per_second

    return Figure(workload=workload, unit="jobs/s", peer=median_of(env.rounds, once))
