"""The reference lists exactly the routes and events of the server."""

import re

from segue import Kernel
from segue.config import Configuration
from segue.server import create_app
from tests.docs.pages import ROOT

ROUTE = re.compile(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) \S+)` \|", re.MULTILINE)
EVENT = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / name).read_text("utf-8")


async def test_every_route_is_documented() -> None:
    async with Kernel("sqlite://:memory:", agent=lambda turn: None) as kernel:
        described = create_app(kernel, Configuration()).openapi()
    there = {f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods}
    assert set(ROUTE.findall(page("http.md") + page("wires.md"))) == there


def test_every_event_is_documented() -> None:
    logged = set(EVENT.findall(page("events.md").partition("## In the log")[2]))
    assert set(EVENT.findall(page("live.md").partition("## What a client receives")[2])) == logged
