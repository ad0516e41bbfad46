"""The server: HTTP, WebSocket and server-sent events around a kernel. Nothing below knows of it."""

from segue.server.app import create_app, mount

__all__ = ["create_app", "mount"]
