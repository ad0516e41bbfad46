"""Errors of a client: a response of the server to the exception that the kernel raised there."""

from collections.abc import Iterator, Mapping
from typing import Any

from segue import __version__, errors
from segue.errors import SegueError

_BY_STATUS: Mapping[int, type[SegueError]] = {
    401: errors.NotAllowed,
    403: errors.NotAllowed,
    404: errors.NotFound,
    408: errors.ServerUnreachable,
    409: errors.Conflict,
    502: errors.AgentFailed,
    503: errors.StoreUnavailable,
}
_STORE_CODE = errors.StoreError.code
"""Also the code of `NotStored`, which has another status."""


def error_of(status: int, problem: Mapping[str, Any]) -> SegueError:
    """The exception of a refusal, with the server's sentence and code."""
    code = str(problem.get("code", "error"))
    if code == _STORE_CODE:
        kind: type[SegueError] = errors.NotStored if status == 503 else errors.StoreError
    else:
        kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or _by_hundreds(status)
    detail = str(problem.get("detail") or problem.get("title") or f"the server answered {status}")
    # Some errors are made from other values than their sentence, which a response does not have.
    error = kind.__new__(kind, detail)
    Exception.__init__(error, detail)
    error.code = code
    if isinstance(error, errors.AgentFailed):
        error.shown = None
    if isinstance(error, errors.DaysInUse):
        error.jobs = problem.get("jobs") or ()
    return error


def check_version(found: str | None, address: str) -> None:
    """Raises `WrongServer` unless a Segue of a compatible version answered.

    Versions are compatible that agree in their first number; before 1.0, in their first two.
    """
    if found is None:
        raise errors.WrongServer(
            f"{address} did not answer as a Segue server: the header X-Segue-Version is missing; check the "
            "address, and the path if the server is mounted below one"
        )
    if _series(found) != _series(__version__):
        raise errors.WrongServer(
            f"this client is of Segue {__version__} and {address} runs Segue {found}, which it does not "
            f"understand; install a client of its version: pip install 'segue[client]=={_series(found)}.*'"
        )


def unreadable(found: str, address: str, error: Exception) -> errors.WrongServer:
    return errors.WrongServer(
        f"the answer of {address} (Segue {found}) does not have the shape that this client of Segue "
        f"{__version__} knows ({type(error).__name__}: {error}); use the same version on both sides"
    )


def _series(version: str) -> str:
    numbers = version.split(".")
    return ".".join(numbers[:2] if numbers[0] == "0" else numbers[:1])


def _by_hundreds(status: int) -> type[SegueError]:
    return errors.Invalid if status < 500 else SegueError


def _kinds(kind: type[SegueError]) -> Iterator[type[SegueError]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


def _by_code() -> dict[str, type[SegueError]]:
    """Errors by their code; of several with one code the most general, which is listed first."""
    found: dict[str, type[SegueError]] = {}
    for kind in _kinds(SegueError):
        if kind.__module__ == errors.__name__:
            found.setdefault(kind.code, kind)
    return found


_BY_CODE = _by_code()
