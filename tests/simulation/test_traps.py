"""The traps, sprung on purpose: each known way to get it wrong is put back in, and a play must notice.

If one of these fails, the plays have become blind to that mistake. The traps that only PostgreSQL's
READ COMMITTED has are sprung in `tests/races`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from segue.store import queries as sql
from tests.simulation.loop import Host
from tests.simulation.play import Play, play
from tests.simulation.wire import Server

PLAYS = 400
"""Enough for the shyest of them; most are seen within ten."""


def first_to_notice(**otherwise: Any) -> list[str]:
    """What the first play that went wrong says. A trap that needs rare company is given more of it."""
    for seed in range(PLAYS):
        if wrong := play(seed, **otherwise).wrong:
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
    assert first_to_notice(hosts=1, faults=frozenset({"slow"}), fault_count=40)


def test_a_renewal_names_its_fence(mutate: Mutate) -> None:
    mutate("sessions.renew", FENCED, "")
    assert first_to_notice()


def test_taking_back_voids_the_fence(mutate: Mutate) -> None:
    mutate("sessions.take_back", "fence = fence + 1, ", "")
    assert first_to_notice()


def test_only_an_expired_lease_is_taken_back(mutate: Mutate) -> None:
    mutate("sessions.expired", "lease_until <=", "lease_until - 1000 <=")
    mutate("sessions.take_back", "lease_until <=", "lease_until - 1000 <=")
    assert first_to_notice()


def test_a_release_wakes_what_waits(mutate: Mutate) -> None:
    """Trap 2, the lost wake-up, in the form that one writer at a time can show."""
    mutate("sessions.release", "SELECT MIN(not_before)", "SELECT NULL")
    assert first_to_notice()


def test_an_admission_wakes_an_idle_lane(mutate: Mutate) -> None:
    mutate("sessions.enqueue", "WHEN ready_at IS NULL OR ready_at > :not_before THEN :not_before", "")
    assert first_to_notice()


def test_leases_are_judged_by_a_clock_that_nobody_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trap 4: each host judges by its own wall clock."""
    clocks = {}
    boot = Play.boot

    def remember(self: Play) -> object:
        machine = boot(self)
        clocks[machine.host] = machine.clock
        return machine

    def by_the_wall(self: Server, host: Host) -> int:
        return clocks[host].ms()

    monkeypatch.setattr(Play, "boot", remember)
    monkeypatch.setattr(Server, "lease_ms", by_the_wall)
    assert first_to_notice()


def test_an_act_is_known_after_a_crash(mutate: Mutate) -> None:
    mutate("turns.note_act", "SET acted = 1", "SET acted = 0")
    assert first_to_notice()


def test_a_turn_that_runs_is_not_cancelled(mutate: Mutate) -> None:
    mutate("turns.cancel", "= 'queued'", "IN ('queued', 'running')")
    assert first_to_notice()


def test_words_join_one_turn_only(mutate: Mutate) -> None:
    mutate("turns.join_into", "state = 'done', outcome = 'ok', joined_into", "joined_into")
    assert first_to_notice()


def test_a_changed_job_is_not_fired_as_it_was(mutate: Mutate) -> None:
    mutate("jobs.take", " AND revision = :revision AND next_at IS NOT NULL", "")
    assert first_to_notice(faults=frozenset({"slow"}), fault_count=40, verbs=80, hosts=3)


def test_every_fact_has_a_number_of_its_own(mutate: Mutate) -> None:
    mutate("sessions.number_events", "last_seq + :events", "last_seq")
    assert first_to_notice()


def test_a_lost_send_is_not_repeated(mutate: Mutate) -> None:
    mutate("deliveries.lease", " AND holder IS NULL", "")
    assert first_to_notice()
