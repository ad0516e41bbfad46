"""Command line of the field: measures Segue and its peers in turn, and writes tables, plots and all figures.

    python -m bench.field --short --minutes 15 --write    # the most telling sizes, as many rounds as fit
    python -m bench.field --write                         # all sizes, five rounds: `make bench` does it

`--write` puts the tables into docs/performance.md, the plots beside it, and every round's figures into
bench/results/latest.json.
"""

import argparse
import platform
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

import psutil  # type: ignore[import-untyped]

from bench.environment import Environment, open_environment
from bench.field import page
from bench.field.peer import ROOT, CannotRun, Peer, all_peers
from bench.field.results import LeftOut, Results
from bench.field.workload import Round, Setting, Workload
from bench.field.workloads import WORKLOADS

RESULTS = ROOT / "bench" / "results" / "latest.json"
PAGE = ROOT / "docs" / "performance.md"
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Group:
    """A workload at one size: the peers that take turns in it."""

    workload: Workload
    size: int
    rounds: int
    """The most."""
    turns: list[tuple[Peer, Round]]


def main() -> int:
    options = _options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that the peers' processes end too
    results = Results(
        command=" ".join(["python -m bench.field", *sys.argv[1:]]),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=f"{psutil.cpu_count()} cores, {platform.system()}, CPython {platform.python_version()}",
    )
    peers = _ready(options.peer, results)
    until = time.monotonic() + 60 * (options.minutes or 24 * 60)
    with open_environment(short=options.short) as env, ExitStack() as stack:
        groups = _groups(env, peers, options, stack, results)
        for number in range(options.rounds):
            if not _round(groups, number, until, results):
                break
            if options.write:
                results.save(RESULTS)
    if options.write:
        results.save(RESULTS)
        page.write(PAGE, results)
    else:
        print(page.text(results))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.field", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--short", action="store_true", help="fewer and smaller sizes, shorter waits")
    add("--rounds", type=int, default=ROUNDS, help=f"how often each is measured: {ROUNDS}")
    add("--minutes", type=float, help="begin nothing more after so many, except in the first round")
    add("--workload", action="append", choices=WORKLOADS, metavar="NAME", help=", ".join(WORKLOADS))
    add("--size", action="append", type=int, metavar="N", help="instead of the workloads' own sizes")
    add("--peer", action="append", metavar="NAME", help="a file of bench/field/peers; may be repeated")
    add("--write", action="store_true", help="write the page, its plots and the results")
    return parser.parse_args()


def _ready(names: list[str] | None, results: Results) -> list[Peer]:
    """The peers whose environments could be built."""
    ready = []
    for peer in all_peers():
        if names and peer.module not in names:
            continue
        try:
            results.versions[peer.name] = peer.versions()
            results.documentation[peer.name] = peer.documentation
            ready.append(peer)
        except CannotRun as reason:
            results.left_out.append(LeftOut("all", peer.name, str(reason)))
    return ready


def _groups(
    env: Environment, peers: list[Peer], options: argparse.Namespace, stack: ExitStack, results: Results
) -> list[Group]:
    """Every workload at each of its sizes, prepared."""
    groups = []
    for name in options.workload or WORKLOADS:
        workload = WORKLOADS[name]
        taking = _taking(workload, peers, options, results)
        for size in options.size or (workload.short_sizes if options.short else workload.sizes):
            settings = [
                Setting(env, peer, size, options.short) for peer in taking if size <= peer.most(workload.name)
            ]
            turns = _prepared(workload, settings, stack, results)
            groups.append(Group(workload, size, workload.rounds(short=options.short), turns))
    return groups


def _taking(
    workload: Workload, peers: list[Peer], options: argparse.Namespace, results: Results
) -> list[Peer]:
    """The peers that take part; the others are noted with the reason."""
    taking = []
    for peer in peers:
        if not peer.takes(workload.name, opt_in=workload.opt_in):
            continue
        if reason := peer.left_out(workload.name, short=options.short):
            results.left_out.append(LeftOut(workload.name, peer.name, reason))
        else:
            taking.append(peer)
    return taking


def _prepared(
    workload: Workload, settings: list[Setting], stack: ExitStack, results: Results
) -> list[tuple[Peer, Round]]:
    prepared = []
    for setting in settings:
        print(f"… {workload.name} {setting.size:,}: {setting.peer.name}", file=sys.stderr)
        try:
            prepared.append((setting.peer, stack.enter_context(workload.prepared(setting))))
        except Exception as reason:
            _note_failure(workload, setting.peer, reason, results)
    return prepared


def _round(groups: list[Group], number: int, until: float, results: Results) -> bool:
    """Every peer once in each workload, each round beginning with another one. False if the time is over."""
    for group in groups:
        if number and time.monotonic() > until:
            return False
        if number >= group.rounds:
            continue
        first = number % max(1, len(group.turns))
        for peer, once in group.turns[first:] + group.turns[:first]:
            print(f"round {number + 1} {group.workload.name} {group.size:,} {peer.name}", file=sys.stderr)
            try:
                figures = once()
                print(f"  {figures}", file=sys.stderr)
                results.add(group.workload.name, group.size, peer.name, figures)
            except Exception as reason:
                _note_failure(group.workload, peer, reason, results)
    return True


def _note_failure(workload: Workload, peer: Peer, reason: Exception, results: Results) -> None:
    """One peer's failure must not cost the others' figures."""
    print(f"{peer.name}: {type(reason).__name__}: {reason}", file=sys.stderr)
    note = LeftOut(workload.name, peer.name, str(reason).partition("\n")[0])
    if note not in results.left_out:
        results.left_out.append(note)


if __name__ == "__main__":
    sys.exit(main())
