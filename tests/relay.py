"""A network in a program: passes IP packets between TUN devices, late, or not at all.

    python -m tests.relay DEVICE ADDRESS [DEVICE ADDRESS …]

It makes the devices and says `ready`. Lines on its input change the network: `delay SECONDS` for each packet,
`loss SHARE` of the packets, `cut ADDRESS …` for machines whose packets are dropped without a word, as behind
a switch that lost its power. It ends with its input, and the devices with it.
"""

import fcntl
import heapq
import os
import random
import select
import socket
import struct
import sys
import time

_SET_DEVICE = 0x400454CA
"""ioctl's TUNSETIFF."""
_TUN_WITHOUT_HEADER = 0x1001
"""IFF_TUN | IFF_NO_PI: IP packets, and nothing before them."""
_LARGEST_PACKET = 65_536
_IDLE_SECONDS = 1.0


def make_device(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _SET_DEVICE, struct.pack("16sH", name.encode(), _TUN_WITHOUT_HEADER))
    return device


class Relay:
    def __init__(self, devices: dict[bytes, int]) -> None:
        """`devices`: by address, as it stands in a packet."""
        self._devices = devices
        self._delay = 0.0
        self._loss = 0.0
        self._cut: set[bytes] = set()
        self._order = 0
        self._under_way: list[tuple[float, int, bytes]] = []
        self._rng = random.Random(7)

    def run(self) -> None:
        orders = sys.stdin.fileno()
        while True:
            readable, _, _ = select.select([orders, *self._devices.values()], [], [], self._pause())
            if orders in readable and not self._obey(sys.stdin.readline()):
                return
            for device in set(readable) - {orders}:
                self._take(device)
            self._deliver()

    def _pause(self) -> float:
        return max(0.0, self._under_way[0][0] - time.monotonic()) if self._under_way else _IDLE_SECONDS

    def _obey(self, line: str) -> bool:
        match line.split():
            case ["delay", seconds]:
                self._delay = float(seconds)
            case ["loss", share]:
                self._loss = float(share)
            case ["cut", *addresses]:
                self._cut = {socket.inet_aton(address) for address in addresses}
            case _:
                return False
        sys.stdout.write("done\n")
        sys.stdout.flush()
        return True

    def _take(self, device: int) -> None:
        packet = os.read(device, _LARGEST_PACKET)
        source, target = packet[12:16], packet[16:20]
        if target in self._devices and not {source, target} & self._cut and self._rng.random() >= self._loss:
            self._order += 1
            heapq.heappush(self._under_way, (time.monotonic() + self._delay, self._order, packet))

    def _deliver(self) -> None:
        while self._under_way and self._under_way[0][0] <= time.monotonic():
            _, _, packet = heapq.heappop(self._under_way)
            os.write(self._devices[packet[16:20]], packet)


def main() -> None:
    names, addresses = sys.argv[1::2], sys.argv[2::2]
    relay = Relay({socket.inet_aton(a): make_device(n) for n, a in zip(names, addresses, strict=True)})
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    relay.run()


if __name__ == "__main__":
    main()
