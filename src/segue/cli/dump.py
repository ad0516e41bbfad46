"""Backup of a PostgreSQL database: runs PostgreSQL's own `pg_dump`, which reads one snapshot.

Invariants
  - a password is not in the arguments of a process, in a message or in a log
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

from segue.errors import StoreError, StoreUnusable
from segue.record import positional
from segue.store.postgres.connection import without_password

PROGRAM = "pg_dump"

_IN_AUTHORITY = re.compile(r"(?<=://)(?P<user>[^:@/?]*):(?P<password>.*)@")
_IN_QUERY = re.compile(r"(?P<before>[?&])password=(?P<password>[^&]*)(?P<after>&?)")


@positional
class DumpCommand:
    arguments: list[str]
    password: str | None

    def text(self) -> str:
        """As an operator types it; `pg_dump` asks for the password."""
        return shlex.join(self.arguments)


def dump_command(url: str, target: Path) -> DumpCommand:
    password: str | None = None
    if found := _IN_AUTHORITY.search(url):
        password = found["password"]
        url = _IN_AUTHORITY.sub(r"\g<user>@", url)
    if found := _IN_QUERY.search(url):
        password = found["password"]
        url = _IN_QUERY.sub(lambda match: match["before"] if match["after"] else "", url)
    arguments = [PROGRAM, "--format=custom", "--no-owner", f"--file={target}", f"--dbname={url}"]
    return DumpCommand(arguments, None if password is None else unquote(password))


def refuse_without_program(url: str, target: Path) -> None:
    if shutil.which(PROGRAM) is None:
        raise StoreUnusable(
            f"{PROGRAM} is not installed here; install PostgreSQL's client programs, or run this where "
            f"they are: {dump_command(url, target).text()}"
        )


def dump(url: str, target: Path) -> None:
    """Dump the database into a file, which `pg_dump` also syncs."""
    command = dump_command(url, target)
    password = {} if command.password is None else {"PGPASSWORD": command.password}
    ended = subprocess.run(
        [*command.arguments, "--no-password"],
        env={**os.environ, **password},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if ended.returncode:
        raise StoreError(
            f"{PROGRAM} did not copy {without_password(url)}: {' '.join(ended.stderr.split())[:500]}"
        )
