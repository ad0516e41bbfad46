"""Observers: report what the workers of this process do, for traces and metrics.

An observer must not disturb the work: it neither waits nor raises. An error of an observer is logged.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from segue.kernel.live.running import RunningTurn
from segue.model.agent import ToolCalled, ToolStarted
from segue.model.records import Delivery, Event
from segue.model.states import JobKind, Outcome

_log = logging.getLogger(__name__)


class Observer:
    """Does nothing. A subclass overrides what it wants to know."""

    def turn(self, running: RunningTurn) -> AbstractContextManager[None]:
        """Entered when a turn has started here, in its task, and left when its end is stored."""
        return nullcontext()

    def agent(self, running: RunningTurn) -> AbstractContextManager[None]:
        """Entered before the agent is called, in the task that runs it, and left when it has ended."""
        return nullcontext()

    def tool_started(self, running: RunningTurn, call: ToolStarted) -> None:
        """The agent has announced a tool, in the task that announced it."""

    def tool_called(self, running: RunningTurn, call: ToolCalled) -> None:
        """The agent has reported the result of a tool."""

    def turn_reclaimed(self, end: Event) -> None:
        """A turn of a process that was lost has been ended here; `end` is its `stream_end`."""

    def run_fired(self, kind: JobKind, lateness_ms: int) -> None:
        """A slot has fired."""

    def run_passed_over(self, kind: JobKind, outcome: Outcome, count: int) -> None:
        """Slots were skipped or missed."""

    def delivery_ended(self, delivery: Delivery, result: str, at: int) -> None:
        """A delivery was `sent`, has `failed`, or will be tried again (`retried`)."""


class Observers:
    """The observers of a kernel."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []

    @contextmanager
    def added(self, observer: Observer) -> Iterator[None]:
        self._observers.append(observer)
        try:
            yield
        finally:
            self._observers.remove(observer)

    def turn(self, running: RunningTurn) -> AbstractContextManager[object]:
        return self._all(lambda observer: observer.turn(running))

    def agent(self, running: RunningTurn) -> AbstractContextManager[object]:
        return self._all(lambda observer: observer.agent(running))

    def tell(self, notice: Callable[[Observer], None]) -> None:
        for observer in self._observers:
            try:
                notice(observer)
            except Exception:
                _log.exception("observer failed")

    def _all(
        self, enter: Callable[[Observer], AbstractContextManager[None]]
    ) -> AbstractContextManager[object]:
        if not self._observers:
            return nullcontext()
        entered = ExitStack()
        for observer in self._observers:
            entered.enter_context(_harmless(enter, observer))
        return entered


@contextmanager
def _harmless(
    enter: Callable[[Observer], AbstractContextManager[None]], observer: Observer
) -> Iterator[None]:
    """The observer's context, whose own errors are logged."""
    with ExitStack() as opened:
        try:
            opened.enter_context(enter(observer))
        except Exception:
            _log.exception("observer failed")
        leaving = opened.pop_all()
    try:
        yield
    finally:
        try:
            leaving.close()
        except Exception:
            _log.exception("observer failed")
