"""The files of `deploy/` for operators: alert rules, the dashboard, and the manifests for Kubernetes."""

import json
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from segue.config import Configuration
from segue.config.layers import variable_of
from segue.config.parts import settings_of
from tests.cli.process import Segue
from tests.eventually import eventually
from tests.packaging.compatibility import ROOT

DEPLOY = ROOT / "deploy"
GUIDES = ROOT / "docs" / "guides"
KEYS = json.dumps([{"key": "a-long-key-for-this-test-only", "account": "a", "user": "u", "role": "admin"}])
METRIC = re.compile(r"\bsegue_[a-z_]+\b")


def alerts() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DEPLOY / "dashboard.json").read_text())["panels"]
    return found


def manifests() -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())


async def test_every_metric_of_the_alerts_and_the_dashboard_exists(tmp_path: Path) -> None:
    expressions = [rule["expr"] for rule in alerts()]
    expressions += [target["expr"] for panel in panels() for target in panel["targets"]]
    used = {name for expression in expressions for name in METRIC.findall(expression)}
    async with Segue(tmp_path).serving() as server:
        text = (await server.client.get("/metrics")).text
    declared = dict(re.findall(r"^# TYPE (segue_\w+) (\w+)$", text, re.MULTILINE))
    of_histograms = {f"{name}_bucket" for name, kind in declared.items() if kind == "histogram"}
    assert used - declared.keys() - of_histograms == set()
    exposed = {name for name, kind in declared.items() if not name.endswith("_created")}
    assert exposed - {name.removesuffix("_bucket") for name in used} == set(), "not on the dashboard"


def test_every_alert_says_what_to_do() -> None:
    for rule in alerts():
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"].keys() == {"summary", "action"}


def test_the_guide_lists_every_alert() -> None:
    listed = re.findall(r"^\| `(Segue\w+)` .* \| (\w+) \|$", (GUIDES / "alerts.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted((rule["alert"], rule["labels"]["severity"]) for rule in alerts())


def test_panels_do_not_overlap() -> None:
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]
    assert len(set(places)) == len(places)
    assert len({panel["id"] for panel in panels()}) == len(places)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_prometheus_accepts_the_rules_and_fires_them(tmp_path: Path) -> None:
    shutil.copy(DEPLOY / "alerts.yaml", tmp_path)
    shutil.copy(Path(__file__).with_name("alerts_test.yaml"), tmp_path)
    for command in (["check", "rules", "alerts.yaml"], ["test", "rules", "alerts_test.yaml"]):
        done = subprocess.run(["promtool", *command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def containers() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """The pod and its container, by the name of the deployment."""
    pods = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in manifests()
        if each["kind"] == "Deployment"
    }
    return {name: (pod, pod["containers"][0]) for name, pod in pods.items()}


def test_selectors_of_the_manifests_find_the_pods() -> None:
    everything = list(manifests())
    labels = [
        each["spec"]["template"]["metadata"]["labels"] for each in everything if "template" in each["spec"]
    ]
    for each in everything:
        selector = each["spec"]["selector"]
        selector = selector.get("matchLabels", selector)
        assert any(selector.items() <= label.items() for label in labels), each["metadata"]["name"]
    budgets = {each["metadata"]["name"] for each in everything if each["kind"] == "PodDisruptionBudget"}
    assert budgets == containers().keys()


def test_pods_get_no_variables_of_services_and_may_finish_their_turns() -> None:
    known = {variable_of(name) for name, _ in settings_of(Configuration)}
    grace = Configuration().shutdown_grace_seconds
    for pod, container in containers().values():
        assert pod["enableServiceLinks"] is False
        assert pod["terminationGracePeriodSeconds"] > grace
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert {each["name"] for each in container["env"]} <= known
        ports = {each["name"] for each in container["ports"]}
        probes = [probe for name, probe in container.items() if name.endswith("Probe")]
        assert {probe["httpGet"]["port"] for probe in probes} <= ports


def free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port: int = some.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("name", "variable"), [("segue-server", "SEGUE_PORT"), ("segue-worker", "SEGUE_METRICS_PORT")]
)
async def test_the_command_of_a_container_runs_and_its_probes_succeed(
    name: str, variable: str, postgres_url: str, tmp_path: Path
) -> None:
    _, container = containers()[name]
    port = free_port()
    given = {each["name"]: each.get("value") for each in container["env"]}
    assert {key for key, value in given.items() if value is None} == {"SEGUE_DATABASE", "SEGUE_API_KEYS"}
    segue = Segue(tmp_path)
    segue.env = {key: value for key, value in given.items() if value is not None}
    # As in the image, and with the secret of this test.
    segue.env |= {"SEGUE_HOST": "0.0.0.0", "SEGUE_DATABASE": postgres_url, "SEGUE_API_KEYS": KEYS}
    segue.env[variable] = str(port)
    program, *arguments = container["args"]
    assert program == "segue"
    paths = [probe["httpGet"]["path"] for key, probe in container.items() if key.endswith("Probe")]
    async with (
        segue.running(*arguments) as running,
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http,
    ):

        async def all_succeed() -> bool:
            try:
                return {(await http.get(path)).status_code for path in paths} == {200}
            except httpx2.TransportError:
                return False

        await eventually(all_succeed, "the probes succeed")
        running.tell(signal.SIGTERM)
        assert await running.end() == 0
