"""The files of `deploy/`: the steps of the Containerfile run, and each other file is checked by its tool.

No image is built: a step of the Containerfile runs with `/src`, `/opt/segue` and `/data` in a folder of the
test. So what is copied, installed, set and started is what the file says.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.packaging.compatibility import NO_INDEX, ROOT
from tests.packaging.installation import clean_environment
from tests.unavailable import cannot_run

DEPLOY = ROOT / "deploy"
KEY = "a-long-key-for-this-test-only"
CALL = """
import json, sys
from urllib.request import Request, urlopen
request = Request(sys.argv[1], sys.argv[2].encode(), {
    "content-type": "application/json", "authorization": "Bearer " + sys.argv[3],
})
print(urlopen(request, timeout=60).read().decode())
"""


class Steps:
    """The instructions of a Containerfile, run with the folders of the image inside `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
        lines = [line.split(None, 1) for line in text.splitlines() if line and not line.startswith("#")]
        self.all = [(name, rest) for name, rest in lines]

    def of(self, name: str) -> list[str]:
        return [rest for each, rest in self.all if each == name]

    def here(self, text: str) -> str:
        """A text of the image, with its folders in ours."""
        return re.sub(r"(?<![\w.])/(src|opt/segue|data)\b", rf"{self.folder}/\1", text)

    def environment(self) -> dict[str, str]:
        return dict(self.here(line).split("=", 1) for line in self.of("ENV"))

    def command(self, line: str) -> list[str]:
        listed: list[str] = json.loads(line)
        return self.here(" ".join(listed)).split()

    def prepare(self) -> None:
        """Run what the build stage copies and runs."""
        for line in self.of("COPY"):
            *sources, target = line.split()
            if line.startswith("--from"):
                continue
            to = Path(f"{self.folder}{target}")
            for source in sources:
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    to.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / source, to)
        (self.folder / "opt").mkdir()
        for line in self.of("RUN"):
            done = subprocess.run(
                ["sh", "-c", self.here(line)],
                env=clean_environment() | {"PYTHON": sys.executable, "PIP_NO_COMPILE": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode and NO_INDEX.search(done.stderr):
                cannot_run(f"the package index cannot be reached: {done.stderr[:200]}")
            assert done.returncode == 0, done.stdout + done.stderr


def test_the_steps_of_the_containerfile_make_a_server_on_postgresql(
    tmp_path: Path, postgres_url: str
) -> None:
    steps = Steps(tmp_path)
    steps.prepare()
    (tmp_path / "keys.json").write_text(json.dumps([{"key": KEY, "account": "acme", "user": "ann"}]))
    (tmp_path / "keys.json").chmod(0o600)
    environment = clean_environment() | steps.environment() | {"SEGUE_API_KEYS": f"@{tmp_path}/keys.json"}
    environment |= {"SEGUE_DATABASE": postgres_url, "SEGUE_PORT": "0"}
    command = [shutil.which(steps.command(steps.of("CMD")[0])[0], path=environment["PATH"]), "serve"]
    assert command[0] == f"{tmp_path}/opt/segue/bin/segue"
    _, _, check = steps.of("HEALTHCHECK")[0].partition("CMD ")
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(
            [str(word) for word in command],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            port = process.stdout.readline().partition("://")[2].split()[0].rpartition(":")[2]
            assert port.isdigit(), (tmp_path / "log").read_text()
            environment |= {"SEGUE_PORT": port, "HOME": str(tmp_path)}
            _run(steps.command(check), environment)
            url = f"http://127.0.0.1:{port}/sessions/web:1/turns?wait=30"
            said = _run(["python", "-c", CALL, url, '{"content": "hello"}', KEY], environment)
            assert json.loads(said)["state"] == "done"
        finally:
            process.terminate()
        assert process.wait(60) == 0, (tmp_path / "log").read_text()
    assert _code(steps.command(check), environment) == 1  # it has stopped, so it is not healthy


def test_the_image_runs_as_a_user_that_is_not_root_and_has_no_build_tools(tmp_path: Path) -> None:
    steps = Steps(tmp_path)
    final = steps.all[max(n for n, (name, _) in enumerate(steps.all) if name == "FROM") :]
    names = [name for name, _ in final]
    assert names.index("USER") < names.index("CMD")
    assert [rest for name, rest in final if name == "USER"] == ["10001:10001"]
    assert [rest for name, rest in final if name == "VOLUME"] == ["/data"]
    assert all("--from=build" in rest for name, rest in final if name == "COPY")
    assert "RUN" not in names


def test_the_compose_file_starts_the_server_after_the_database() -> None:
    compose: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    assert (DEPLOY / services["server"]["build"]["context"]).resolve() == ROOT
    assert (ROOT / services["server"]["build"]["dockerfile"]).is_file()
    for name in ("server", "worker"):
        assert services[name]["depends_on"] == {"database": {"condition": "service_healthy"}}
        assert services[name]["stop_grace_period"] == "40s"
        assert set(services[name]["secrets"]) == set(compose["secrets"])
    assert services["database"]["healthcheck"]["test"][1] == "pg_isready"
    mounted = {volume.partition(":")[0] for each in services.values() for volume in each.get("volumes", ())}
    assert mounted == set(compose["volumes"])
    assert services["server"]["ports"] == ["127.0.0.1:8420:8420"]  # other machines come through the proxy


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    if verify is None:
        cannot_run("systemd-analyze is not installed")
    unit = (DEPLOY / "segue.service").read_text()
    assert "ExecStart=/opt/segue/bin/segue serve" in unit
    file = tmp_path / "segue.service"
    file.write_text(unit.replace("/opt/segue/bin/segue", str(Path(sys.executable).with_name("segue"))))
    done = subprocess.run([verify, "verify", str(file)], capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if "segue" in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile", "segue.service"])
def test_the_guide_shows_the_file(name: str) -> None:
    assert (DEPLOY / name).read_text() in (ROOT / "docs/guides/deploy.md").read_text()


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


def _code(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode
