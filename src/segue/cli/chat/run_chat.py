"""The two ways to hold a talk: at a terminal, and through a pipe."""

import signal
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import count

import typer

from segue.cli.chat.background import Background
from segue.cli.chat.conversation import ChatClient, ChatDisplay
from segue.cli.chat.screen import Screen
from segue.cli.support.command import newest_messages
from segue.cli.support.output import print_json_line, printable
from segue.cli.support.timezone import terminal_zone
from segue.errors import SegueError
from segue.kernel.live.hub import Heard
from segue.model.records import Asker, Turn
from segue.model.states import Outcome
from segue.model.transcript import Message

_HISTORY = 20
_WELL = (Outcome.OK, Outcome.EMPTY)


def in_terminal(background: Background, key: str, owner: Asker, *, model: str | None) -> None:
    """Until Ctrl-D, or Ctrl-C twice in a row."""
    with suppress(ImportError):
        import readline  # noqa: F401 - from here on a line can be edited, and old ones come back
    screen = Screen()
    with _opened(background, key, owner, screen) as talk:
        screen.show_history(background.call(_history(background, key, owner)))
        screen.note(f"{key}, with {model or 'the offline model'}. Ctrl-C stops an answer, Ctrl-D leaves.")
        for text in _lines_typed(screen):
            if not _exchange(background, talk, screen, text):
                return


def from_pipe(background: Background, key: str, owner: Asker, *, as_json: bool) -> bool:
    """A message for each line of the input. Whether every one was answered."""
    well = True
    with _opened(background, key, owner, _Deaf()) as talk:
        for line in sys.stdin:
            if line.strip():
                turn = background.call(talk.say(line.strip()))
                well &= turn.outcome in _WELL
                _print_end(turn, as_json)
    return well


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


def _exchange(background: Background, talk: ChatClient, screen: Screen, text: str) -> bool:
    """Say it and wait for the end of the answer. False when the user would rather leave."""
    with _ctrl_c_stops(background, talk):
        try:
            saying = background.start(talk.say(text))
            if saying.result().started_at is None:
                screen.note("(taken back)")
        except SegueError as error:
            screen.note(str(error))
        except (KeyboardInterrupt, CancelledError):  # told twice, or whoever was at work there has ended
            return False
    return True


@contextmanager
def _ctrl_c_stops(background: Background, talk: ChatClient) -> Iterator[None]:
    """The first one stops the answer; the next is a KeyboardInterrupt.

    As an exception the first would end the talk whenever it came in another moment than the wait.
    """
    times = count(1)

    def told(*_: object) -> None:
        if next(times) > 1:
            raise KeyboardInterrupt
        background.start(talk.stop())

    before = signal.signal(signal.SIGINT, told)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _opened(background: Background, key: str, owner: Asker, ear: ChatDisplay) -> Iterator[ChatClient]:
    """The session, made if it is missing, with somebody who listens."""

    async def begin() -> ChatClient:
        session = (await background.kernel.open(key, owner=owner)).session
        if (zone := terminal_zone()) is not None and background.kernel.zone_in(session) is None:
            session = await background.kernel.suggest_zone(key, zone, owner=owner)
        return ChatClient(background.kernel, key, session.owner, ear, after=session.last_seq)

    talk = background.call(begin())
    listening = background.start(talk.listen())
    try:
        yield talk
    finally:
        listening.cancel()


async def _history(background: Background, key: str, owner: Asker) -> list[Message]:
    session = await background.kernel.session(key, owner=owner)
    return await newest_messages(background.kernel, session, _HISTORY)


def _print_end(turn: Turn, as_json: bool) -> None:
    if as_json:
        print_json_line(
            {"turn_id": turn.id, "state": turn.state, "outcome": turn.outcome, "reply": turn.reply}
        )
    elif turn.outcome in _WELL:
        typer.echo(printable(turn.reply or ""))
    else:
        why = (turn.error or "").strip().splitlines()
        typer.echo(f"Error: the turn ended as {turn.outcome}{': ' + why[-1] if why else ''}", err=True)


class _Deaf:
    """A pipe gets the answers when they are whole."""

    def expect(self, turn_id: str, position: int) -> None: ...

    def hear(self, heard: Heard) -> None: ...
