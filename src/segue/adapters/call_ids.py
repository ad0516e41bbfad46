"""Call ids: finds the id of a tool call in a framework that tells it to a hook, and not to the tool."""

from collections.abc import Mapping
from typing import Any


class CallIds:
    """The calls that were announced and have not begun, matched by name and arguments."""

    def __init__(self) -> None:
        self._announced: list[tuple[str, str | None, Mapping[str, Any]]] = []
        self._unannounced = 0

    def announce(self, call_id: str | None, name: str | None, arguments: Mapping[str, Any] | None) -> None:
        if call_id:
            self._announced.append((call_id, name, arguments or {}))

    def take(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the id of the first such call; one that is new in the turn if there is none."""
        for call in self._announced:
            if call[1:] == (name, arguments):
                self._announced.remove(call)
                return call[0]
        self._unannounced += 1
        return f"{name}-{self._unannounced}"
