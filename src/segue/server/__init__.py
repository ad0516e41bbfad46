"""The server: HTTP, WebSocket and server-sent events for a kernel.

This module imports nothing heavy: CLI commands use the schemas without a web server.
"""

from typing import TYPE_CHECKING, Any

from segue.extras import needed_for

if TYPE_CHECKING:
    from segue.server.app import create_app, mount
    from segue.server.auth import Caller

__all__ = ["Caller", "create_app", "mount"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needed_for("the server", "http"):
        from segue.server import app, auth

    return getattr(auth if name == "Caller" else app, name)
