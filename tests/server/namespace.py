"""Asks a mounted application from two addresses of a network namespace, each time with the Host `localhost`.

    unshare --user --map-root-user --net python -m tests.server.namespace

It prints the status for each address.
"""

import asyncio
import json
import socket
import subprocess
import sys

import httpx2
import uvicorn
from fastapi import FastAPI

from segue import Kernel
from segue.server import mount
from segue.testing import ScriptedAgent

ADDRESSES = ("127.0.0.1", "10.1.2.3")


async def statuses() -> dict[str, int]:
    app = FastAPI()
    mount(app, Kernel("sqlite://:memory:", agent=ScriptedAgent()))
    listening = socket.create_server(("0.0.0.0", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    port = listening.getsockname()[1]
    found = {}
    async with asyncio.TaskGroup() as tasks, httpx2.AsyncClient() as http:
        tasks.create_task(server.serve(sockets=[listening]))
        for address in ADDRESSES:
            url = f"http://{address}:{port}/segue/sessions"
            found[address] = (await http.get(url, headers={"Host": "localhost"})).status_code
        server.should_exit = True
    return found


if __name__ == "__main__":
    for command in ("link set lo up", f"address add {ADDRESSES[1]}/32 dev lo"):
        subprocess.run(["ip", *command.split()], check=True)
    sys.stdout.write(json.dumps(asyncio.run(statuses())))
