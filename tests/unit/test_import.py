"""`import segue` is quick, because it brings in next to nothing."""

import json
import subprocess
import sys
from functools import cache

OURS_AND_THEIRS = """
import json, sys
before = set(sys.modules)
import segue
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules.keys() - before})))
"""

ALLOWED = {"segue", "cronsim"}

HEAVY = {"sqlite3", "ssl", "email", "http", "urllib", "unittest", "multiprocessing", "concurrent", "importlib.metadata"}


@cache
def imported() -> frozenset[str]:
    """The packages that `import segue` adds to a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", OURS_AND_THEIRS], check=True, capture_output=True, text=True)
    return frozenset(json.loads(done.stdout))
