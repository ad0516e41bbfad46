"""Which verbs of the kernel the clients have: all, except those of a process that has the database."""

import inspect
from typing import Any

import pytest

from segue import Kernel
from segue.client import AsyncClient, Client
from segue.testing import ScriptedAgent

IN_THE_PROCESS_ONLY = {
    # They take or return what only the code beside the database has, or serve it.
    "sessions": {"by_id", "overview_of", "suggest_zone", "zone_in", "lane_of", "has_push"},
    "turns": {"load", "replaced_by"},
    "replies": set(),
    "log": {"page", "say", "import_all"},
    "files": {"most_bytes", "of_message"},
    "jobs": {"load", "is_taken", "pending", "protected", "is_listed_in", "unmet"},
    "days": {"applied", "of_session"},
    "calendar": {"export", "read"},
    "runs": set(),
    "recalls": set(),
    "scheduled_messages": set(),
    "memory": {"embed_missing", "delete_all", "owners", "auto_commit_index"},
    "guests": {"inbox", "receive"},
    "push": {"subscribe", "unsubscribe", "devices", "show", "wait", "claim", "unread"},
    "health": {"database", "lag_ms"},
}
"""The parts of the kernel, and their verbs that no client has."""


def verbs(part: Any) -> set[str]:
    return {name for name, _ in inspect.getmembers_static(type(part)) if not name.startswith("_")}


@pytest.mark.parametrize("part", IN_THE_PROCESS_ONLY)
async def test_a_client_has_the_verbs_of_the_kernel(part: str, kernel: Kernel) -> None:
    wanted = verbs(getattr(kernel, part)) - IN_THE_PROCESS_ONLY[part]
    async with AsyncClient("http://localhost:1") as client:
        assert not wanted or wanted <= verbs(getattr(client, part))
    with Client("http://localhost:1") as blocking:
        assert not wanted or wanted <= verbs(getattr(blocking, part))


async def test_a_client_has_every_part_of_the_kernel(kernel: Kernel, agent: ScriptedAgent) -> None:
    parts = {name for name, value in vars(kernel).items() if type(value).__name__.endswith("Api")}
    assert parts == set(IN_THE_PROCESS_ONLY)
