"""A Patroni cluster on loopback: three PostgreSQL nodes, etcd, HAProxy before them, pgbouncer before that.

All programs are Debian's packages. They run as a user who owns nothing, in one temporary folder.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.eventually import eventually
from tests.postgres import OWNER
from tests.unavailable import cannot_run

PACKAGES = {"patroni": "patroni", "etcd": "etcd-server", "haproxy": "haproxy", "pgbouncer": "pgbouncer"}
NODES = 3
START_SECONDS = 120.0
FAIL_OVER_SECONDS = 120.0

# Ends the servers of the nodes when the test that reads no more has gone.
GUARD = 'read -r line; for data in "$@"; do kill -s INT "$(head -n 1 "$data/postmaster.pid")"; done'

TIMING = {"ttl": 6, "loop_wait": 1, "retry_timeout": 2}
"""A leader that is lost is replaced after `ttl` seconds; the default of 30 only makes the test longer."""

HAPROXY = """
defaults
    mode tcp
    timeout connect 2s
    timeout client 30m
    timeout server 30m
    timeout check 2s
listen primary
    bind 127.0.0.1:{port}
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
"""

PGBOUNCER = """
[databases]
postgres = host=127.0.0.1 port={haproxy} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
server_login_retry = 1
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@dataclass
class Node:
    name: str
    folder: Path
    port: int = field(default_factory=free_port)
    rest: int = field(default_factory=free_port)

    @property
    def data(self) -> Path:
        return self.folder / self.name

    def settings(self, etcd: int, synchronous: bool) -> dict[str, Any]:
        address = f"127.0.0.1:{self.port}"
        user = {"username": "postgres"}
        return {
            "scope": "segue",
            "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest}", "connect_address": f"127.0.0.1:{self.rest}"},
            "etcd3": {"host": f"127.0.0.1:{etcd}"},
            "bootstrap": {
                "dcs": {
                    **TIMING,
                    "synchronous_mode": synchronous,
                    "synchronous_mode_strict": synchronous,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 200}},
                },
                "initdb": [{"auth": "trust"}, {"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": address,
                "connect_address": address,
                "data_dir": str(self.data),
                "bin_dir": str(_server_programs()),
                "pg_hba": [f"host {name} all 127.0.0.1/32 trust" for name in ("all", "replication")],
                "authentication": {"superuser": user, "replication": user},
                "parameters": {"unix_socket_directories": str(self.folder)},
            },
        }


class Cluster:
    """The nodes and what stands before them. Each `url` is a way to whichever node leads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = [Node(f"node{number}", folder) for number in range(1, NODES + 1)]
        self.haproxy, self.pgbouncer = free_port(), free_port()
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def url(self, way: str) -> str:
        if way == "several hosts":
            hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
            return f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"
        return f"postgresql://postgres@127.0.0.1:{getattr(self, way)}/postgres"

    def start(self, synchronous: bool) -> None:
        etcd, peers = free_port(), free_port()
        client, peer = f"http://127.0.0.1:{etcd}", f"http://127.0.0.1:{peers}"
        listening = f"--listen-client-urls={client} --advertise-client-urls={client}"
        peering = f"--listen-peer-urls={peer} --initial-advertise-peer-urls={peer}"
        self._launch(
            "etcd",
            *f"--data-dir={self.folder}/etcd --name=one --initial-cluster=one={peer}".split(),
            *listening.split(),
            *peering.split(),
        )
        for node in self.nodes:
            file = self._write(f"{node.name}.yml", json.dumps(node.settings(etcd, synchronous)))
            self._launch("patroni", file, name=node.name)
        servers = [f"    server {n.name} 127.0.0.1:{n.port} check port {n.rest}" for n in self.nodes]
        filled = HAPROXY.format(port=self.haproxy, servers="\n".join(servers))
        self._launch("haproxy", "-f", self._write("haproxy.cfg", filled))
        filled = PGBOUNCER.format(port=self.pgbouncer, haproxy=self.haproxy)
        self._launch("pgbouncer", self._write("pgbouncer.ini", filled))

    def _write(self, name: str, text: str) -> str:
        file = self.folder / name
        file.write_text(text)
        return str(file)

    def _launch(self, program: str, *arguments: str, name: str = "") -> None:
        command = ["setpriv", f"--reuid={OWNER}", "--clear-groups", "--pdeathsig=KILL"] if OWNER else []
        with (self.folder / f"{name or program}.log").open("ab") as log:
            self.running[name or program] = subprocess.Popen(
                [*command, shutil.which(program) or program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder)},
                start_new_session=True,
            )

    async def roles(self) -> dict[str, str]:
        """By name, the nodes that are up; those that follow only once they stream."""
        for node in self.nodes:
            try:
                async with httpx2.AsyncClient() as http:
                    answer = await http.get(f"http://127.0.0.1:{node.rest}/cluster", timeout=2)
            except httpx2.HTTPError:
                continue
            members = answer.json().get("members", [])
            return {one["name"]: one["role"] for one in members if one["state"] in ("running", "streaming")}
        return {}

    async def leader(self, *, but: str = "", standbys: int, synchronous: bool = False) -> Node:
        """The node that leads, when there is one and it has so many standbys."""

        async def found() -> str | None:
            ended = [program for program, process in self.running.items() if process.poll() is not None]
            assert not ended, f"{ended[0]} ended: {(self.folder / f'{ended[0]}.log').read_text()[-2000:]}"
            roles = await self.roles()
            leads = [name for name, role in roles.items() if role == "leader" and name != but]
            ready = not synchronous or "sync_standby" in roles.values()
            return leads[0] if leads and ready and len(roles) > standbys else None

        name = await eventually(found, "a node leads", within=START_SECONDS, every=0.2)
        return next(node for node in self.nodes if node.name == name)

    async def switch_over(self, leader: Node) -> None:
        """Ask the leader to give its place to another, and wait until it has."""

        async def is_accepted() -> bool:
            async with httpx2.AsyncClient() as http:
                answer = await http.post(
                    f"http://127.0.0.1:{leader.rest}/switchover", json={"leader": leader.name}, timeout=60
                )
            return answer.status_code == 200

        await eventually(is_accepted, "the switch-over is accepted", every=0.5)

    def kill(self, node: Node) -> None:
        """Patroni and its PostgreSQL at once, as when the machine loses its power."""
        server = int((node.data / "postmaster.pid").read_text().split()[0])
        patroni = self.running.pop(node.name)
        patroni.kill()
        os.kill(server, signal.SIGKILL)
        patroni.wait()

    def stop(self) -> None:
        for name, process in self.running.items():
            if name.startswith("node"):
                process.terminate()  # stops its server too
                process.wait(60)
        for process in self.running.values():
            process.kill()
            process.wait()


def _server_programs() -> Path:
    """Debian's PostgreSQL: Patroni of the same release knows its versions."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_rewind"))
    if not found:
        cannot_run("Patroni needs Debian's PostgreSQL: apt-get install postgresql")
    return found[-1].parent


@contextmanager
def cluster(*, synchronous: bool) -> Iterator[Cluster]:
    if missing := [package for program, package in PACKAGES.items() if shutil.which(program) is None]:
        cannot_run(f"not installed: apt-get install {' '.join(missing)}")
    _server_programs()
    folder = Path(tempfile.mkdtemp(prefix="segue-patroni-"))
    if OWNER:
        shutil.chown(folder, OWNER)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        made = Cluster(folder)
        data = [str(node.data) for node in made.nodes]
        guard = subprocess.Popen(
            ["sh", "-c", GUARD, "guard", *data], stdin=subprocess.PIPE, start_new_session=True
        )
        stack.callback(guard.communicate)
        stack.callback(guard.kill)
        stack.callback(made.stop)
        made.start(synchronous)
        yield made
