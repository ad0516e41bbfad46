"""What `import segue` costs, beside the parts of the standard library that it cannot do without."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from bench.figure import AtMost, Figure, compared
from bench.measure import alternate
from bench.room import Room

PROGRAM = "import time; began = time.perf_counter(); import {}; print(1000 * (time.perf_counter() - began))"
LIBRARY = "asyncio, dataclasses, datetime, enum, hashlib, json, logging, random, zoneinfo"


def importing(room: Room) -> Iterator[Figure]:
    rounds = room.size(21, short=3)
    for what, bar in {"segue": AtMost(150, "ms"), "segue.kernel.kernel": None}.items():
        _milliseconds(what)  # compiles what was never compiled
        comparison = alternate(rounds, partial(_milliseconds, what), partial(_milliseconds, LIBRARY))
        name = f"import {what}; peer: its part of the standard library"
        yield compared(name if bar else f"  {name}", "ms", comparison, bar)


def _milliseconds(modules: str) -> float:
    """In an interpreter of its own, that may keep what it compiles."""
    environment = {name: each for name, each in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM.format(modules)]
    told = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return float(told)
