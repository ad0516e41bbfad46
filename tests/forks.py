"""Processes forked from one that has imported Segue: imports are most of what a start costs.

`start_server` runs a function of the tests, `fork_program` a program, as `python` or `python -m` would. The
program has a working folder, an environment and standard streams of its own, and gets signals as any other
does. But its modules are imported already: a test of what a command imports starts Python itself.
"""

import asyncio
import atexit
import fcntl
import multiprocessing
import os
import runpy
import signal
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from io import BufferedReader, BufferedWriter, FileIO, TextIOWrapper
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.preloaded"])


@cache
def _have_origin() -> None:
    """Start the process to fork from. It must find the tests, and this one may be in another folder."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT) if before is None else f"{ROOT}{os.pathsep}{before}"
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def start_server(main: Callable[..., None], *arguments: Any) -> tuple[ForkServerProcess, int]:
    """Start `main(tell, …)`, which sends its port to `tell` when it listens."""
    told, tell = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=main, args=(tell, *arguments))
    _have_origin()
    process.start()
    tell.close()
    with told:
        return process, told.recv()


class Forked:
    """A forked program, and as much of `asyncio.subprocess.Process` as the tests use."""

    def __init__(self, process: ForkServerProcess) -> None:
        assert process.pid is not None
        self.pid = process.pid
        self._process = process
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(process.sentinel, self._note_end)

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    async def wait(self) -> int:
        await self._ended.wait()
        assert self._process.exitcode is not None
        return self._process.exitcode

    def send_signal(self, which: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, which)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _note_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._process.sentinel)
        self._process.join()
        self._ended.set()


def fork_program(
    program: str,
    arguments: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    streams: tuple[int, int, int],
    in_terminal: bool = False,
    before: Callable[[], None] | None = None,
) -> ForkServerProcess:
    """Run a module, or a file that ends in `.py`. `streams` are its standard streams; with `in_terminal` they
    are a terminal, from which it gets signals. `before` is called in the process first."""
    handed = [_Handed(stream) for stream in streams]
    given = (program, list(arguments), str(folder), dict(environment), handed, in_terminal, before)
    process = FORKS.Process(target=_run_program, args=given)
    _have_origin()
    process.start()
    return process


async def start_program(program: str, arguments: Sequence[str], **how: Any) -> Forked:
    # The first start waits for the imports.
    return Forked(await asyncio.to_thread(fork_program, program, arguments, **how))


class _Handed:
    """A file descriptor that arrives in the forked process under another number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> tuple[Callable[[Any], int], tuple[Any]]:
        return _taken, (DupFd(self.number),)


def _taken(handed: Any) -> int:
    number: int = handed.detach()
    return number


def _run_program(
    program: str,
    arguments: list[str],
    folder: str,
    environment: dict[str, str],
    streams: list[int],
    in_terminal: bool,
    before: Callable[[], None] | None,
) -> None:
    if in_terminal:
        os.setsid()
    _take_streams(streams)
    if in_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    if before is not None:
        before()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = [program, *arguments]
    try:
        if program.endswith(".py"):
            sys.path.insert(0, str(Path(program).parent))
            runpy.run_path(program, run_name="__main__")
        else:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()


def _take_streams(streams: list[int]) -> None:
    """As an interpreter opens them."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    sys.stdin = TextIOWrapper(BufferedReader(FileIO(0, closefd=False)), "utf-8")
    sys.stdout = _written(1, "strict", line_buffering=os.isatty(1))
    sys.stderr = _written(2, "backslashreplace", line_buffering=True)


def _written(number: int, errors: str, *, line_buffering: bool) -> TextIOWrapper:
    raw = BufferedWriter(FileIO(number, "w", closefd=False))
    return TextIOWrapper(raw, "utf-8", errors, line_buffering=line_buffering)
