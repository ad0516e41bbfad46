"""Shared decorator of commands on the database: owner, settings, output format and printing."""

import inspect
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import typer

from segue.cli.support.find_session import find_key
from segue.cli.support.human_time import exact_time, human_time
from segue.cli.support.load_settings import configured
from segue.cli.support.options import Account, User, asker_of
from segue.cli.support.output import AsJson, print_json, print_record, print_table, to_json
from segue.cli.support.timezone import shown_zone
from segue.errors import SegueError
from segue.model.records import Asker
from segue.record import positional
from segue.times.clock import SystemClock

if TYPE_CHECKING:
    from pydantic import BaseModel

    from segue.config import Configuration
    from segue.kernel.kernel import Kernel


@positional
class CommandContext:
    """The settings, the owner and the output format of a command."""

    configuration: "Configuration"
    owner: Asker
    as_json: bool

    @property
    def zone(self) -> str:
        """The zone in which times are shown."""
        return shown_zone(self.configuration)

    def time(self, ms: int | None) -> str:
        """A moment for a table."""
        return human_time(ms, self.zone, SystemClock().ms())

    def exact_time(self, ms: int | None) -> str:
        return exact_time(ms, self.zone)

    async def key(self, kernel: "Kernel", session: str) -> str:
        """The key of a session given by key, title, short id or `last`."""
        return await find_key(kernel, session, self.owner)

    @asynccontextmanager
    async def opened(self, kernel: "Kernel", session: str) -> AsyncIterator[str]:
        """As `key`, and a missing session is made. If the work is refused, it is deleted again."""
        key = await self.key(kernel, session)
        opened = await kernel.sessions.open(key, owner=self.owner)
        try:
            yield key
        except SegueError:
            if opened.created and (await kernel.sessions.by_id(opened.session.id)).last_seq == 0:
                await kernel.sessions.delete(opened.session)
            raise

    def run(self, work: "Callable[[Kernel], Awaitable[None]]", *, create: bool = False) -> None:
        from segue.cli.support.open_kernel import run_with_kernel

        run_with_kernel(self.configuration, work, create=create)

    def print_list(
        self,
        plural: str,
        objects: "Callable[[], Iterable[BaseModel]]",
        columns: Sequence[str],
        rows: Iterable[Sequence[object]],
        *,
        empty: str,
    ) -> None:
        """Print JSON or a table. `objects` returns the models of the API; it is called only for JSON."""
        if self.as_json:
            print_json({plural: [to_json(each) for each in objects()]})
        else:
            if print_table(columns, rows, empty=empty) and sys.stdout.isatty():
                typer.echo(f"Times are in {self.zone}.")

    def print_one(self, made: "Callable[[], BaseModel]", fields: Mapping[str, object]) -> None:
        if self.as_json:
            print_json(to_json(made()))
        else:
            print_record(fields)

    def say(self, sentence: str, made: Mapping[str, object]) -> None:
        if self.as_json:
            print_json(made)
        else:
            typer.echo(sentence)


def command() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator: passes a CommandContext and adds the options `--account`, `--user` and `--json`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(
            configuration: "Configuration", *, account: str, user: str | None, as_json: bool, **arguments: Any
        ) -> None:
            command(CommandContext(configuration, asker_of(account, user), as_json), **arguments)

        first, *own = inspect.signature(command).parameters.values()
        shared = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, kind, default in (
                ("account", Account, "default"),
                ("user", User, None),
                ("as_json", AsJson, False),
            )
        ]
        run.__signature__ = inspect.Signature([first, *own, *shared])  # type: ignore[attr-defined]
        return configured()(run)

    return decorate
