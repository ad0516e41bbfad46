"""Fair file lock: processes that write to one SQLite file take turns in the order in which they came.

SQLite itself retries with growing sleeps: under load that starved one process of eight to a single
transaction in ten seconds. flock queues in the operating system instead.

One lock is not fair enough: a process that releases and takes it again at once gets it before the next in the
queue has woken. So there are two. The process that writes next holds the second lock until it has the first;
a process that has just written finds the second lock taken and queues behind it. With eight processes that
never pause, the longest wait fell from 89 ms to 17 ms.

Both are advisory, on files beside the database, and end with the process that holds them. SQLite's own lock
still decides: where there is no flock (Windows), and against programs that do not use these locks.
"""

import os
import sys

from segue.store.sqlite.permissions import FILE_MODE

if sys.platform != "win32":
    import fcntl


class FileLock:
    """`with file_lock:` waits for its turn, without a limit, and holds the lock."""

    def __init__(self, database: str) -> None:
        self._paths = (f"{database}.lock", f"{database}.next")
        self._locks: list[int] = []

    def __enter__(self) -> None:
        if sys.platform == "win32":
            return
        # Opened at the first write: a process that only reads, or is refused, creates no file.
        for path in self._paths[len(self._locks) :]:
            self._locks.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))
        write, write_next = self._locks
        fcntl.flock(write_next, fcntl.LOCK_EX)
        try:
            fcntl.flock(write, fcntl.LOCK_EX)
        finally:
            fcntl.flock(write_next, fcntl.LOCK_UN)

    def __exit__(self, *error: object) -> None:
        if sys.platform != "win32":
            fcntl.flock(self._locks[0], fcntl.LOCK_UN)

    def close(self) -> None:
        while self._locks:
            os.close(self._locks.pop())
