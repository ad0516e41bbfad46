"""Optional dependencies: says which extra of Segue installs a package that is missing."""

from collections.abc import Iterator
from contextlib import contextmanager

from segue.errors import MissingPackage

EXTRAS = {
    "pydantic": "cli",
    "rich": "cli",
    "structlog": "cli",
    "typer": "cli",
    "fastapi": "http",
    "linkify_it": "http",
    "markdown_it": "http",
    "nh3": "http",
    "pygments": "http",
    "prometheus_client": "http",
    "sse_starlette": "http",
    "starlette": "http",
    "uvicorn": "http",
    "websockets": "http",
    "httpx2": "client",
    "cryptography": "push",
    "openai": "model",
    "pydantic_ai": "model",
    "mcp": "mcp",
    "mcp_types": "mcp",
    "asyncpg": "postgres",
    "nio": "matrix",
    "opentelemetry": "traces",
}
"""The extra that installs a module. Some modules are in several extras; `needed_for` names the one meant."""


@contextmanager
def needed_for(what: str, extra: str | None = None) -> Iterator[None]:
    """Import optional dependencies inside. A missing one raises `MissingPackage`, which says what to install.

    `what` begins the sentence. `extra` is the one to install, if not the one that the table names.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        raise MissingPackage(
            f"{what} needs the package {module}, which is not installed: "
            f"pip install 'segue[{extra or EXTRAS[module]}]'"
        ) from error
