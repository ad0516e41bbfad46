"""Ids sort by time, and in the order they were made."""

import random

from hypothesis import given
from hypothesis import strategies as st

from segue.model.records import Ids, run_id


@given(st.lists(st.integers(0, 2**41), min_size=2, max_size=50), st.integers())
def test_ids_of_one_process_sort_in_the_order_they_were_made(moments: list[int], seed: int) -> None:
    make = Ids(random.Random(seed))
    made = [make(now) for now in moments]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_of_many_in_one_millisecond_differ_and_sort() -> None:
    make = Ids(random.Random(1))
    made = [make(5) for _ in range(5_000)]
    assert made == sorted(set(made))
    assert len({len(one) for one in made}) == 1


def test_ids_of_two_processes_differ_in_the_same_millisecond() -> None:
    one, other = Ids(random.Random(1)), Ids(random.Random(2))
    assert {one(5) for _ in range(100)}.isdisjoint({other(5) for _ in range(100)})


def test_a_run_is_named_after_its_job_and_slot() -> None:
    assert run_id("build", 1_763_280_000_000) == "build:1763280000000"
