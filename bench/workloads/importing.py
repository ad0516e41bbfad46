"""The time of `import segue`, next to the parts of the standard library that it needs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from bench.environment import Environment
from bench.figure import AtMost, Figure, compared
from bench.measure import alternate

PROGRAM = "import time; began = time.perf_counter(); import {}; print(1000 * (time.perf_counter() - began))"
LIBRARY = "asyncio, dataclasses, datetime, enum, hashlib, json, logging, random, zoneinfo"


def importing(env: Environment) -> Iterator[Figure]:
    rounds = env.size(21, short=3)
    for what, bar in {"segue": AtMost(150, "ms"), "segue.kernel": None}.items():
        _milliseconds(what)  # the first import compiles the modules
        comparison = alternate(rounds, partial(_milliseconds, what), partial(_milliseconds, LIBRARY))
        name = f"import {what}; peer: its part of the standard library"
        yield compared(name if bar else f"  {name}", "ms", comparison, bar)


def _milliseconds(modules: str) -> float:
    """The import time in a fresh interpreter, which may write compiled files."""
    environment = {name: each for name, each in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", PROGRAM.format(modules)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return float(output)
