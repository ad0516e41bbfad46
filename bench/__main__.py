"""Command line of the benchmark: measures Segue and its peers, and prints one table."""

import argparse
import json
import logging
import sys
from pathlib import Path

from bench.environment import open_environment
from bench.figure import Figure, table
from bench.workloads import WORKLOADS


def main() -> int:
    options = _options()
    logging.getLogger("pgqueuer").setLevel(logging.ERROR)
    figures: list[Figure] = []
    with open_environment(short=options.short) as env:
        for name in options.only or WORKLOADS:
            print(f"… {name}", file=sys.stderr)
            figures += WORKLOADS[name](env)
        rounds = env.rounds
    print(table(figures))
    print(f"\nmedian of {rounds} rounds, ours and the peer's in turn; fsync on; uvloop")
    if options.json:
        options.json.write_text(json.dumps([figure.as_json() for figure in figures], indent=2) + "\n")
    # A short run, perhaps on a busy machine, only proves that everything runs, not how fast.
    return not options.short and any(figure.verdict == "MISSED" for figure in figures)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a short run: small sizes, one round")
    parser.add_argument(
        "--only", action="append", choices=WORKLOADS, metavar="NAME", help=", ".join(WORKLOADS)
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE as well")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
