"""Simulation: the kernel under random faults, reproducible from seeds.

    pytest tests/simulation                           three hundred scenarios
    SEGUE_LONG=1 pytest tests/simulation              ten thousand
    SEGUE_SIM_SEED=123 pytest tests/simulation        scenario 123 again, exactly

A seed that fails is printed with what went wrong; the same code and seed fail again in the same way.
"""

import os
import subprocess
import sys
from functools import cache

import pytest

from tests.simulation.scenario import Report, run_scenario

SCENARIOS = 10_000 if os.environ.get("SEGUE_LONG") else 300
CHUNK = 25

if "SEGUE_SIM_SEED" in os.environ:
    CHUNKS = [range(int(os.environ["SEGUE_SIM_SEED"]), int(os.environ["SEGUE_SIM_SEED"]) + 1)]
else:
    CHUNKS = [range(first, first + CHUNK) for first in range(0, SCENARIOS, CHUNK)]


@cache
def first_run(seed: int) -> Report:
    """The report of a seed, which more than one test looks at."""
    return run_scenario(seed)


def describe(report: Report) -> str:
    lines = "\n  ".join(dict.fromkeys(report.wrong))
    return f"SEGUE_SIM_SEED={report.seed} pytest tests/simulation   runs this again\n  {lines}"


@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_no_promise_is_broken_whatever_happens(seeds: range) -> None:
    reports = [first_run(seed) for seed in seeds]
    broken = [report for report in reports if report.wrong]
    assert not broken, "\n".join(map(describe, broken))


def test_a_seed_gives_the_same_run_whatever_ran_before() -> None:
    first = [first_run(seed).trace for seed in range(10)]
    again = [run_scenario(seed).trace for seed in reversed(range(10))]
    assert first == again[::-1]


def test_a_seed_gives_the_same_run_in_another_process() -> None:
    """Where every set of strings has another order. Two orders of few strings may be the same by chance."""
    script = "from tests.simulation.scenario import run_scenario; print(run_scenario(7).trace)"
    there = set()
    for order in ("1", "2", "5", "7"):
        environment = {**os.environ, "PYTHONHASHSEED": order}
        ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
        there.add(ran.stdout.decode().strip())
    assert there == {first_run(7).trace}


def test_the_scenarios_do_real_work() -> None:
    """A seed may be a quiet one; forty are not."""
    reports = [first_run(seed) for seed in range(40)]
    assert sum(report.attempts for report in reports) > 50
    assert sum(report.acts for report in reports) > 0
    assert sum(report.unwanted for report in reports) > 10
    assert sum(report.commits for report in reports) > 500
