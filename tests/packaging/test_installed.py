"""The built package works in an empty environment outside of the repository.

The short form uses one environment of this Python. With `SEGUE_LONG=1` (`make packages`) each extra of the
wheel and of the sdist is installed alone with each Python that is installed on this machine.
"""

import json
import os
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.packaging.compatibility import ROOT
from tests.packaging.installation import (
    PYTHONS,
    Environment,
    build,
    get,
    interpreter,
    make_environment,
    post,
    run,
    serving,
    uv,
)
from tests.packaging.programs import PROGRAMS, arguments

LONG = os.environ.get("SEGUE_LONG") == "1"
GROUPS = {"server": ("cli", "http", "http,push", "mcp", "model", "telegram"), "all": tuple(PROGRAMS)}
"""The extras that stand for several, and the programs that run with each."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return make_environment(tmp_path_factory.mktemp("environment") / "venv")


def test_the_sdist_holds_what_the_wheel_holds(built: tuple[Path, Path]) -> None:
    wheel, sdist = built
    with tarfile.open(sdist) as archive:
        source = {name.partition("/src/")[2] for name in archive.getnames() if "/src/" in name}
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
        metadata = {name.partition("/")[2] for name in archive.namelist() if ".dist-info/" in name}
    written = {str(file.relative_to(ROOT / "src")) for file in _tracked("src/segue")}
    assert packed == source == written
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= metadata


def test_the_classifiers_name_the_pythons_that_are_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert tuple(named) == PYTHONS
    assert project["requires-python"] == f">={PYTHONS[0]}"


@pytest.mark.parametrize("version", PYTHONS)
def test_a_turn_runs_without_a_warning_on_each_python(
    version: str, built: tuple[Path, Path], tmp_path: Path
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed")
    environment = make_environment(tmp_path / "venv", python)
    environment.install(built[0])
    (tmp_path / "program.py").write_text(PROGRAMS[""])
    assert environment.python("program.py", cwd=tmp_path) == "done\n"


@pytest.mark.parametrize("extra", PROGRAMS)
def test_each_extra_alone_installs_what_its_name_says(
    extra: str, built: tuple[Path, Path], environment: Environment, tmp_path: Path
) -> None:
    environment.install(built[0], extra)
    _try(environment, extra, tmp_path)


@pytest.mark.skipif(not LONG, reason="a long form: SEGUE_LONG=1, or make packages")
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("version", PYTHONS)
def test_each_extra_of_wheel_and_sdist_on_each_python(
    version: str, kind: str, built: tuple[Path, Path], tmp_path: Path
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed")
    environment = make_environment(tmp_path / "venv", python)
    for extra in (*PROGRAMS, *GROUPS):
        environment.install(built[kind == "sdist"], extra)
        _try(environment, extra, tmp_path)


def test_the_wheel_in_an_empty_environment_serves_and_sets_a_reminder(
    built: tuple[Path, Path], environment: Environment, tmp_path: Path
) -> None:
    environment.install(built[0], "all")
    with serving([str(environment.bin / "segue")], tmp_path, environment.keeps_compiled) as url:
        asked = {"content": "remind me in 2 hours to stretch"}
        said = post(f"{url}/sessions/web:1/turns?wait=30", asked)
        recall = get(f"{url}/sessions/web:1/recall")["recall"]
        made = post(
            f"{url}/sessions/web:1/automations",
            {"name": "stretch", "message": "Stretch.", "schedule": "every 2h"},
        )
        listed = get(f"{url}/sessions/web:1/automations")["jobs"]
    assert said["state"] == "done", said
    assert recall is not None or "stretch" in json.dumps(listed), said
    assert made["id"] in [job["id"] for job in listed]


def test_uvx_runs_the_command_from_the_wheel(built: tuple[Path, Path]) -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    ran = uv("tool", "run", "--quiet", "--from", f"{built[0]}[cli]", "segue", "--version")
    assert ran.stdout == f"segue {version}\n"


def test_the_command_without_its_extra_says_what_to_install(
    built: tuple[Path, Path], environment: Environment
) -> None:
    environment.install(built[0])
    done = subprocess.run([environment.bin / "segue"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "pip install 'segue[cli]'" in done.stderr


def _try(environment: Environment, extra: str, folder: Path) -> None:
    """Run what must work with an extra; nothing that is imported may come from the repository."""
    for program in GROUPS.get(extra, (extra,)):
        file = folder / f"try_{program}.py"
        file.write_text(PROGRAMS[program] + "\nimport segue\nprint(segue.__file__)\n")
        printed = environment.python(file.name, *arguments(program, str(folder)), cwd=folder).splitlines()
        assert printed[-2] == "done"
        assert printed[-1].startswith(str(environment.folder))


def _tracked(folder: str) -> list[Path]:
    return [ROOT / name for name in run(["git", "ls-files", folder], cwd=ROOT).stdout.splitlines()]
