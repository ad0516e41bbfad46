"""Mutation tests: each known mistake is put back in, and a scenario must notice it.

If one of these fails, the simulation no longer detects that mistake. Mistakes that need PostgreSQL's READ
COMMITTED are tested in `tests/races`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from segue.store import queries as sql
from tests.simulation.loop import Host
from tests.simulation.scenario import Scenario, run_scenario
from tests.simulation.wire import Server

SCENARIOS = 400
"""Enough for the rarest; most are noticed within ten."""


def first_to_notice(begin: int = 0, **otherwise: Any) -> list[str]:
    """What the first failing scenario reports. `begin` skips seeds that do not notice the mistake, and
    `otherwise` makes rare conditions more frequent."""
    for seed in range(begin, begin + SCENARIOS):
        if wrong := run_scenario(seed, **otherwise).wrong:
            return wrong
    return []


Mutate: TypeAlias = Callable[[str, str, str], None]


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch) -> Mutate:
    """Replace a part of a named query, as a slip of the pen would."""

    def change(name: str, part: str, by: str) -> None:
        table, query = name.split(".")
        queries = getattr(sql, table)
        text = getattr(queries, query).sqlite
        assert part in text, f"{name} reads differently now; spring this trap another way"
        monkeypatch.setattr(queries, query, sql.translate(name, text.replace(part, by)))

    return change


FENCED = " AND COALESCE(holder, '') = :holder AND fence = :fence"


def test_a_heartbeat_is_no_fence(mutate: Mutate) -> None:
    """Trap 5: an owner that was rescued comes back and settles and releases what is not its own any more."""
    mutate("sessions.hold", FENCED, "")
    mutate("sessions.release", FENCED, "")
    mutate("turns.finish", " AND fence = :fence", "")
    mutate("turns.requeue", " AND fence = :fence", "")
    assert first_to_notice()


def test_the_same_owner_under_another_fence_is_another_owner(mutate: Mutate) -> None:
    mutate("sessions.hold", " AND fence = :fence", "")
    mutate("turns.finish", " AND fence = :fence", "")
    mutate("turns.keep_draft", " AND fence = :fence", "")
    assert first_to_notice(begin=20, hosts=1, faults=frozenset({"slow"}), fault_count=40)


def test_a_renewal_names_its_fence(mutate: Mutate) -> None:
    mutate("sessions.renew", FENCED, "")
    assert first_to_notice(begin=75)


def test_a_reclaim_voids_the_fence(mutate: Mutate) -> None:
    mutate("sessions.reclaim", "fence = fence + 1, ", "")
    assert first_to_notice()


def test_only_an_expired_lease_is_reclaimed(mutate: Mutate) -> None:
    mutate("sessions.expired", "lease_until <=", "lease_until - 1000 <=")
    mutate("sessions.reclaim", "lease_until <=", "lease_until - 1000 <=")
    assert first_to_notice()


def test_a_release_wakes_what_waits(mutate: Mutate) -> None:
    """Trap 2, the lost wake-up, in the form that one writer at a time can show."""
    mutate("sessions.release", "SELECT MIN(not_before)", "SELECT NULL")
    assert first_to_notice()


def test_an_admission_wakes_an_idle_lane(mutate: Mutate) -> None:
    mutate("sessions.enqueue", "WHEN ready_at IS NULL OR ready_at > :not_before THEN :not_before", "")
    assert first_to_notice()


def test_leases_are_judged_by_a_clock_that_is_never_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap 4: each host judges by its own wall clock."""
    clocks = {}
    boot = Scenario.boot

    def remember(self: Scenario) -> object:
        machine = boot(self)
        clocks[machine.host] = machine.clock
        return machine

    def by_the_wall(self: Server, host: Host) -> int:
        return clocks[host].ms()

    monkeypatch.setattr(Scenario, "boot", remember)
    monkeypatch.setattr(Server, "lease_ms", by_the_wall)
    assert first_to_notice(begin=9)


def test_an_act_is_known_after_a_crash(mutate: Mutate) -> None:
    mutate("turns.note_act", "SET acted = 1", "SET acted = 0")
    assert first_to_notice()


def test_a_turn_that_runs_is_not_cancelled(mutate: Mutate) -> None:
    mutate("turns.cancel", "= 'queued'", "IN ('queued', 'running')")
    assert first_to_notice()


def test_words_join_one_turn_only(mutate: Mutate) -> None:
    mutate("turns.join_into", "state = 'done', outcome = 'ok', joined_into", "joined_into")
    assert first_to_notice(begin=13)


def test_a_changed_job_is_not_fired_as_it_was(mutate: Mutate) -> None:
    mutate("jobs.take", " AND revision = :revision AND next_at IS NOT NULL", "")
    assert first_to_notice(begin=44, faults=frozenset({"slow"}), fault_count=40, verbs=80, hosts=3)


def test_every_fact_has_a_number_of_its_own(mutate: Mutate) -> None:
    mutate("sessions.number_events", "last_seq + :events", "last_seq")
    assert first_to_notice()


def test_a_lost_send_is_not_repeated(mutate: Mutate) -> None:
    mutate("deliveries.lease", " AND holder IS NULL", "")
    assert first_to_notice()
