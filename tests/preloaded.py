"""What the process imports from which `tests/forks.py` forks: all that servers and commands need."""

import gc
from importlib import import_module

for name in (
    "tests.forks",
    "tests.server.serve",
    "tests.web.serve",
    "segue.cli.app",
    "segue.cli.chat.run_chat",
    "segue.cli.commands.chat",
    "segue.cli.commands.mcp",
    "segue.cli.commands.serve",
    "segue.cli.commands.worker",
    "segue.cli.support.checks",
    "segue.cli.support.open_kernel",
    "segue.telemetry.logs",
    "pydantic_ai.models.openai",
    "uvloop",
):
    import_module(name)

# A collection of garbage in a forked process then neither looks at them nor copies their pages.
gc.collect()
gc.freeze()
