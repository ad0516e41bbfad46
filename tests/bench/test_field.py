"""The field: its peers, what it reads from the record of turns, its tables, plots and page, and a run."""

import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.environment import Environment, open_environment
from bench.field import page
from bench.field.peer import ROOT, CannotRun, Peer, all_peers
from bench.field.plots import plots
from bench.field.program import Job
from bench.field.records import begun, broken_orders, lateness, read, repeated, spans, wait_until
from bench.field.results import LeftOut, Measured, Results, load
from bench.field.workload import Setting
from bench.field.workloads import WORKLOADS
from tests.unavailable import cannot_run

RECORD = """\
began 0:0:0 100.0 7
ended 0:0:0 100.5 7
began 1:0:0 100.4 7
ended 1:0:0 101.0 7
began 2:1:0 100.2 8
began 2:1:0 103.0 7
ended 2:1:0 103.5 7
"""


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "turns"
    path.write_text(RECORD)
    return path


def test_every_peer_is_pinned_and_names_its_documentation() -> None:
    names = [peer.name for peer in all_peers()]
    assert len(names) == len(set(names))
    for peer in all_peers():
        assert all("==" in dependency for dependency in peer.head["dependencies"])
        assert peer.documentation.startswith("https://") or (ROOT / peer.documentation).exists()


def test_the_peers_leave_out_only_workloads_that_exist() -> None:
    for peer in all_peers():
        about = peer.head["tool"]["field"]
        named = [*about.get("left-out", ()), *about.get("most", ()), *about.get("not-short", ())]
        assert set(named) <= set(WORKLOADS)


def test_a_turn_that_begins_in_two_processes_is_repeated(record: Path) -> None:
    assert repeated(begun(read(record))) == 1


def test_a_turn_is_late_from_its_moment_to_its_first_beginning(record: Path) -> None:
    late = lateness(read(record), {0: 99.9, 1: 100.0, 2: 100.0})
    assert [round(one) for one in late] == [100, 400, 200]


def test_an_overlap_in_a_session_breaks_its_order(record: Path) -> None:
    ran = spans(read(record))
    assert [span.job.number for span in ran] == [0, 1, 2]
    assert broken_orders(ran) == 1


def test_a_line_that_is_half_written_is_not_read(record: Path) -> None:
    record.write_text(RECORD + "began 3:1")
    assert len(wait_until(record, lambda found: len(found) == 7, patience=0.3)) == 7


def test_the_label_of_a_job_is_read_back() -> None:
    job = Job(3, 4, 0.5)
    assert Job.of(job.label) == job


@pytest.fixture
def results() -> Results:
    measured = [
        Measured("pending", size, peer, [{"add_ms": cost * (1 + size / 1_000), "memory_mb": 40.0}] * 2)
        for size in (1_000, 100_000)
        for peer, cost in (("Segue, SQLite", 1.0), ("Other <1>, files", 2.0))
    ]
    measured.append(
        Measured("due", 1_000, "Segue, SQLite", [{"p99_ms": 12.0}, {"p99_ms": 30.0}, {"p99_ms": 14.0}])
    )
    return Results(
        command="python -m bench.field",
        date="2026-11-18",
        machine="2 cores",
        versions={"Segue, SQLite": {"segue": "1"}},
        documentation={"Segue, SQLite": "docs/reference/python.md"},
        measured=measured,
        left_out=[LeftOut("due", "Other <1>, files", "it has no jobs")],
    )


def test_results_are_read_as_they_were_saved(results: Results, tmp_path: Path) -> None:
    results.save(tmp_path / "results" / "latest.json")
    assert load(tmp_path / "results" / "latest.json") == results
    assert json.loads((tmp_path / "results" / "latest.json").read_text())["date"] == "2026-11-18"


def test_the_table_has_the_median_and_the_spread(results: Results) -> None:
    text = page.section(WORKLOADS["due"], results)
    assert "| Segue, SQLite | – | 14 (12–30) | – | – |" in text
    assert "- Other <1>, files: it has no jobs." in text


def test_the_page_is_changed_only_between_its_markers(results: Results) -> None:
    first = page.with_field(f"before\n{page.BEGIN}old\n{page.END}after\n", results)
    assert first.startswith("before\n")
    assert first.endswith("after\n")
    assert "old" not in first
    assert page.with_field(first, results) == first


def test_the_page_of_this_project_has_the_markers(results: Results) -> None:
    text = (ROOT / "docs" / "performance.md").read_text("utf-8")
    assert "Due within one second" in page.with_field(text, results)


def test_a_plot_has_a_line_for_each_peer(results: Results) -> None:
    drawn = plots(results)
    assert set(drawn) == {"field-pending-add.svg", "field-pending-memory.svg"}
    picture = ElementTree.fromstring(drawn["field-pending-add.svg"])
    assert len(picture.findall("{*}polyline")) == 2
    assert "Other <1>, files" in [text.text for text in picture.findall("{*}text")]


@pytest.fixture(scope="module")
def env() -> Iterator[Environment]:
    with open_environment(short=True) as environment:
        yield environment


def _peer(module: str, store: str) -> Peer:
    return next(peer for peer in all_peers() if (peer.module, peer.store) == (module, store))


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_segue_runs_a_backlog_in_order(env: Environment, store: str) -> None:
    setting = Setting(env, _peer("segue", store), 20, short=True)
    with WORKLOADS["backlog"].prepared(setting) as once:
        found = once()
    assert (found["never"], found["repeated"], found["broken"]) == (0, 0, 0)


def test_segue_streams_to_all_clients(env: Environment) -> None:
    setting = Setting(env, _peer("segue", "sqlite"), 5, short=True)
    with WORKLOADS["streaming"].prepared(setting) as once:
        assert once()["incomplete"] == 0


def test_a_peer_from_the_package_index_runs_in_an_environment_of_its_own(env: Environment) -> None:
    peer = _peer("apscheduler", "sqlite")
    try:
        assert peer.versions() == {"apscheduler": "3.11.3"}
    except CannotRun as reason:
        cannot_run(f"uv could not install APScheduler: it needs a package index ({reason})")
    with WORKLOADS["due"].prepared(Setting(env, peer, 5, short=True)) as once:
        assert once()["never"] == 0
