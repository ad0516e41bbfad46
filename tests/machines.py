"""Machines of a test as network namespaces, with a network between them that the test can spoil.

Every machine has one address. Packets between two machines go through `tests.relay`, so that TCP itself
meets the delay, the loss and the silence. Files and Unix sockets are shared: the test, which is on no
machine, reaches a server through its socket, whatever happens to the network.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.unavailable import cannot_run

_NETWORK = "10.77.0"


@dataclass(frozen=True)
class Machine:
    namespace: str
    address: str

    @property
    def prefix(self) -> list[str]:
        """What goes before a command that is to run there."""
        return ["ip", "netns", "exec", self.namespace]


class Machines:
    def __init__(self, machines: dict[str, Machine], relay: "subprocess.Popen[str]") -> None:
        self._machines = machines
        self._relay = relay
        self._cut: set[str] = set()

    def __getitem__(self, name: str) -> Machine:
        return self._machines[name]

    def cut(self, *names: str) -> None:
        """Drop what these machines send and what is sent to them. No side is told."""
        self._cut |= {self._machines[name].address for name in names}
        self._order("cut", *self._cut)

    def join(self, *names: str) -> None:
        self._cut -= {self._machines[name].address for name in names}
        self._order("cut", *self._cut)

    def delay(self, seconds: float) -> None:
        """For each packet, in each direction: a round trip takes twice as long."""
        self._order("delay", str(seconds))

    def lose(self, share: float) -> None:
        self._order("loss", str(share))

    def _order(self, *words: str) -> None:
        assert self._relay.stdin is not None  # they are pipes
        assert self._relay.stdout is not None
        self._relay.stdin.write(" ".join(words) + "\n")
        self._relay.stdin.flush()
        assert self._relay.stdout.readline() == "done\n"


@contextmanager
def machines(*names: str) -> Iterator[Machines]:
    _need_namespaces()
    made = {
        name: Machine(f"segue-{os.getpid()}-{name}", f"{_NETWORK}.{number}")
        for number, name in enumerate(names, start=1)
    }
    devices = {name: f"sg{os.getpid()}n{number}" for number, name in enumerate(names)}
    with ExitStack() as stack:
        for machine in made.values():
            _ip("netns", "add", machine.namespace)
            stack.callback(_ip, "netns", "delete", machine.namespace)
        relay = stack.enter_context(_relay([(devices[name], made[name].address) for name in names]))
        for name, machine in made.items():
            _ip("link", "set", devices[name], "netns", machine.namespace)
            for command in (
                "link set lo up",
                f"address add {machine.address}/24 dev {devices[name]}",
                f"link set {devices[name]} up",
            ):
                _ip("-n", machine.namespace, *command.split())
        yield Machines(made, relay)


@contextmanager
def _relay(devices: list[tuple[str, str]]) -> "Iterator[subprocess.Popen[str]]":
    command = [sys.executable, "-m", "tests.relay", *(word for pair in devices for word in pair)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as relay:
        try:
            assert relay.stdout is not None  # it is a pipe
            if relay.stdout.readline() != "ready\n":
                pytest.skip("no TUN device could be made")
            yield relay
        finally:
            relay.kill()


def _need_namespaces() -> None:
    if sys.platform != "linux" or os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        pytest.skip("only root of a Linux machine with /dev/net/tun can make machines")
    if shutil.which("ip") is None:
        cannot_run("network namespaces need `ip`: apt-get install iproute2")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no network can be made here: ip {' '.join(words)}: {done.stderr.strip()}")
