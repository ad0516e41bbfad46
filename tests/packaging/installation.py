"""Installations: builds the wheel and the sdist, and installs them outside of the repository."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.packaging.compatibility import NO_INDEX, ROOT
from tests.unavailable import cannot_run

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions that the classifiers in `pyproject.toml` name."""

_TIMEOUT_SECONDS = 600
"""Reached only if something hangs. A first import, which also compiles, takes minutes on a busy machine."""


def build(folder: Path) -> tuple[Path, Path]:
    """Build the wheel and the sdist."""
    run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


@dataclass(frozen=True)
class Environment:
    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    def install(self, package: Path, extra: str = "") -> None:
        """Install the package with an extra, and uninstall everything else."""
        named = f"{package}[{extra}]" if extra else str(package)
        uv("pip", "install", "--quiet", "--exact", "--python", str(self.bin / "python"), named)

    def python(self, *arguments: str, cwd: Path) -> str:
        """Run Python with warnings as errors, and return what it prints."""
        command = [str(self.bin / "python"), "-W", "error", *arguments]
        return run(command, cwd=cwd, **self.keeps_compiled).stdout

    @property
    def keeps_compiled(self) -> dict[str, str]:
        """What was compiled stays when another extra is installed, and is used if it is installed again."""
        return {"PYTHONPYCACHEPREFIX": str(self.folder.with_name("compiled"))}


def make_environment(folder: Path, python: str = sys.executable) -> Environment:
    uv("venv", "--quiet", "--python", python, str(folder))
    return Environment(folder)


def interpreter(version: str) -> str | None:
    """The path of an installed Python of this version, on the PATH or of pyenv."""
    of_pyenv = sorted((Path.home() / ".pyenv/versions").glob(f"{version}.*/bin/python"))
    for candidate in (*map(str, of_pyenv), shutil.which(f"python{version}")):
        if candidate and subprocess.run([candidate, "-V"], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


def uv(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run uv; the test cannot run if no package index answers."""
    try:
        return run([sys.executable, "-m", "uv", *arguments])
    except AssertionError as error:
        if NO_INDEX.search(str(error)):
            cannot_run(f"the package index cannot be reached: {str(error)[:200]}")
        raise


def run(command: Sequence[str], cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment() | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done


def clean_environment() -> dict[str, str]:
    """The environment without what leads to the repository or to settings of this machine."""
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    return {
        name: value
        for name, value in os.environ.items()
        if name not in ours and not name.startswith(("SEGUE_", "PYTEST_"))
    }


@contextmanager
def serving(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Run `segue serve` on a free port, with its data in a folder, and yield its address."""
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [*command, "serve", "--port", "0", "--data", str(folder / "data")],
            cwd=folder,
            env=clean_environment() | {"HOME": str(folder), **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            announced = process.stdout.readline()
            found = re.search(r"http://\S+", announced)
            assert found, announced + (folder / "log").read_text()
            yield found[0]
            process.terminate()
            assert process.wait(_TIMEOUT_SECONDS) == 0, (folder / "log").read_text()
        finally:
            process.kill()


def post(url: str, body: object) -> Any:
    request = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        return json.load(answer)


def get(url: str) -> Any:
    with urlopen(url, timeout=_TIMEOUT_SECONDS) as answer:
        return json.load(answer)
