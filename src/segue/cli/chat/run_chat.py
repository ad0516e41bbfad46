"""The two modes of `segue chat`: interactive in a terminal, and line by line from a pipe."""

import signal
import sys
from collections.abc import Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any

import typer

from segue.cli.chat.background import Background
from segue.cli.chat.conversation import ChatClient, ChatDisplay
from segue.cli.chat.screen import Screen
from segue.cli.chat.slash_commands import RETRY, SlashCommands
from segue.cli.support.output import print_json_line, printable
from segue.cli.support.timezone import terminal_zone
from segue.errors import SegueError
from segue.kernel.live.hub import LiveText
from segue.model.records import Asker, Event, Turn
from segue.model.states import Outcome
from segue.model.transcript import Message

_HISTORY = 20
_ANSWERED = (Outcome.OK, Outcome.EMPTY)


def in_terminal(background: Background, key: str, owner: Asker, *, model: str | None, zone: str) -> None:
    """Chat until Ctrl-D, or Ctrl-C twice in a row."""
    with suppress(ImportError):
        import readline  # noqa: F401 - enables line editing and history
    screen = Screen()
    with _open_session(background, key, owner, screen) as client:
        screen.show_history(background.call(_history(background, key, owner)))
        commands = SlashCommands(background, screen, key, owner, zone)
        commands.show_scheduled()
        screen.note(f"{key}, with {model or 'the offline model'}. /help lists commands, Ctrl-D leaves.")
        for text in _lines_typed(screen):
            if text != RETRY and commands.run(text):
                continue
            asking = client.retry() if text == RETRY else client.say(text)
            if not _wait_for_answer(background, client, screen, asking):
                return


def from_pipe(background: Background, key: str, owner: Asker, *, as_json: bool) -> bool:
    """Send each line of the input as a message. Returns whether all were answered."""
    all_ok = True
    with _open_session(background, key, owner, _NoDisplay()) as client:
        for line in sys.stdin:
            if line.strip():
                turn = background.call(client.say(line.strip()))
                all_ok &= turn.outcome in _ANSWERED
                _print_end(turn, as_json)
    return all_ok


def _lines_typed(screen: Screen) -> Iterator[str]:
    interrupted = False
    while True:
        try:
            text = screen.read_line().strip()
        except (EOFError, KeyboardInterrupt) as end:
            sys.stdout.write("\n")
            if interrupted or isinstance(end, EOFError):
                return
            interrupted = True
            screen.note("Ctrl-C again, or Ctrl-D, leaves.")
            continue
        interrupted = False
        if text:
            yield text


def _wait_for_answer(
    background: Background, client: ChatClient, screen: Screen, asking: Coroutine[Any, Any, Turn]
) -> bool:
    """Send a message and wait for the end of the answer. Returns False if the user wants to leave."""
    with _ctrl_c_stops(background, client):
        try:
            sending = background.start(asking)
            if sending.result().started_at is None:
                screen.note("(cancelled)")
        except SegueError as error:
            screen.note(str(error))
        except (KeyboardInterrupt, CancelledError):  # Ctrl-C twice, or the kernel's thread has ended
            return False
    return True


@contextmanager
def _ctrl_c_stops(background: Background, client: ChatClient) -> Iterator[None]:
    """The first Ctrl-C stops the answer; the next raises KeyboardInterrupt.

    The first is not an exception, because it could arrive outside of the wait and would then end the chat.
    """
    presses = count(1)

    def on_signal(*_: object) -> None:
        if next(presses) > 1:
            raise KeyboardInterrupt
        background.start(client.stop())

    previous = signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def _open_session(
    background: Background, key: str, owner: Asker, display: ChatDisplay
) -> Iterator[ChatClient]:
    """Open the session, create it if it does not exist, and follow it."""

    async def start() -> ChatClient:
        session = (await background.kernel.sessions.open(key, owner=owner)).session
        if (zone := terminal_zone()) is not None and background.kernel.sessions.zone_in(session) is None:
            session = await background.kernel.sessions.suggest_zone(key, zone, owner=owner)
        return ChatClient(background.kernel, key, session.owner, display, after=session.last_seq)

    client = background.call(start())
    listening = background.start(client.listen())
    try:
        yield client
    finally:
        listening.cancel()


async def _history(background: Background, key: str, owner: Asker) -> list[Message]:
    session = await background.kernel.sessions.get(key, owner=owner)
    return await background.kernel.log.newest(session, limit=_HISTORY)


def _print_end(turn: Turn, as_json: bool) -> None:
    if as_json:
        print_json_line(
            {"turn_id": turn.id, "state": turn.state, "outcome": turn.outcome, "reply": turn.reply}
        )
    elif turn.outcome in _ANSWERED:
        typer.echo(printable(turn.reply or ""))
    else:
        lines = (turn.error or "").strip().splitlines()
        typer.echo(f"Error: the turn ended as {turn.outcome}{': ' + lines[-1] if lines else ''}", err=True)


class _NoDisplay:
    """A pipe gets complete answers, not live text."""

    def expect(self, turn_id: str, position: int) -> None: ...

    def show(self, item: Event | LiveText) -> None: ...
