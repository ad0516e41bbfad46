"""Server processes, forked from one that has imported the servers: imports are most of what a start costs."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from typing import Any

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.server.serve", "tests.web.serve"])


def start_server(main: Callable[..., None], *arguments: Any) -> tuple[ForkServerProcess, int]:
    """Start `main(tell, …)`, which sends its port to `tell` when it listens."""
    told, tell = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=main, args=(tell, *arguments))
    process.start()
    tell.close()
    with told:
        return process, told.recv()
