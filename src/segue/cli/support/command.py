"""Commands that read the database: who asks, the output format, and how the answer is printed."""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import typer

from segue.cli.support.load_settings import configured
from segue.cli.support.options import Account, User, asker_of
from segue.cli.support.output import AsJson, print_json, print_record, print_table, shape
from segue.cli.support.timezone import shown_zone
from segue.kernel.kernel import Kernel
from segue.model.records import Asker, Session
from segue.model.transcript import Message, message_of
from segue.record import positional

if TYPE_CHECKING:
    from pydantic import BaseModel

    from segue.config import Configuration
    from segue.kernel.kernel import Kernel


@positional
class Command:
    """Who asks, and how the answer is wanted."""

    configuration: "Configuration"
    owner: Asker
    as_json: bool

    @property
    def zone(self) -> str:
        """In which times are shown."""
        return shown_zone(self.configuration)

    def look(self, work: "Callable[[Kernel], Awaitable[None]]", *, create: bool = False) -> None:
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
        """`objects` are what the API would answer; they are made only where somebody wants them."""
        if self.as_json:
            print_json({plural: [shape(each) for each in objects()]})
        else:
            print_table(columns, rows, empty=empty)

    def print_one(self, made: "Callable[[], BaseModel]", fields: Mapping[str, object]) -> None:
        if self.as_json:
            print_json(shape(made()))
        else:
            print_record(fields)

    def say(self, sentence: str, made: Mapping[str, object]) -> None:
        if self.as_json:
            print_json(made)
        else:
            typer.echo(sentence)


def command() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that is given who asks. It takes `--account`, `--user` and `--json` for that."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(
            configuration: "Configuration", *, account: str, user: str | None, as_json: bool, **given: Any
        ) -> None:
            command(Command(configuration, asker_of(account, user), as_json), **given)

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


async def newest_messages(kernel: Kernel, session: Session, limit: int) -> list[Message]:
    """In the order they were said, the newest last."""
    # Twice as many, because the marks of where turns begin and end are among them.
    events = await kernel.store.newest_events(session.id, before=session.last_seq + 1, limit=2 * limit)
    places = [event.seq for event in events if message_of(event)][-limit:]
    if not places:
        return []
    told = await kernel.store.messages(session.id, after=places[0] - 1, limit=limit)
    return [message for event in told if (message := message_of(event))]
