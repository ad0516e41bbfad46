"""Framework versions: checks that a framework is installed, in a version that its adapter knows."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from segue.errors import BadSetting, MissingPackage, UnknownVersion
from segue.record import record


@record
class Framework:
    """A framework, and the versions of it that an adapter was checked with."""

    adapter: str
    """The module of the adapter, such as `segue.adapters.pydantic_ai`."""
    package: str
    """What to install."""
    lowest: str
    below: str
    """The first version that is unknown."""
    distributions: tuple[str, ...] = ()
    """Other packages that bring the framework too, such as a slim one."""

    @contextmanager
    def imported(self) -> Iterator[None]:
        """Import the framework inside. Raises `MissingPackage` or `UnknownVersion`."""
        found = self._installed()
        if found is None:
            raise MissingPackage(
                f"{self.adapter} needs the package {self.package}, which is not installed: {self._advice}"
            )
        if not _numbers(self.lowest) <= _numbers(found) < _numbers(self.below):
            raise self._unknown(found)
        try:
            yield
        except ImportError as error:
            raise self._unknown(found, f", where {error}") from error

    @property
    def _advice(self) -> str:
        return f"pip install '{self.package}>={self.lowest},<{self.below}'"

    def _unknown(self, found: str, because: str = "") -> UnknownVersion:
        return UnknownVersion(
            f"{self.adapter} knows {self.package} from {self.lowest} to below {self.below}, and {found} is "
            f"installed{because}: {self._advice}, or install a newer Segue"
        )

    def _installed(self) -> str | None:
        for name in (self.package, *self.distributions):
            try:
                return version(name)
            except PackageNotFoundError:
                continue
        return None

    def wrong_object(self, wanted: str, found: object) -> BadSetting:
        """The error for an object that the adapter cannot adapt."""
        kind = type(found)
        return BadSetting(
            f"{self.adapter}.adapt takes {wanted}, got {kind.__module__}.{kind.__qualname__}; "
            "there is an adapter for each framework, and a plain async function needs none"
        )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", text)[:3]))
