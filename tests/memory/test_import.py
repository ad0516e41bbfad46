"""Import of a conversation: once, in order, beside whatever else is written."""

import asyncio

import pytest

from segue import Kernel, Owner
from segue.errors import BadSetting, BadTime
from segue.model.written_message import GivenMessage

CHAT = "web:1"
SAID: list[GivenMessage] = [
    ("user", "Hello.", "2024-07-14T18:30:00Z"),
    ("assistant", "Hi!", "2024-07-14T18:30:05Z"),
    ("user", "Hello.", "2024-07-15T18:30:00Z"),
    ("user", "no date", None),
]


async def texts(kernel: Kernel) -> list[str]:
    return [each.content for each in await kernel.messages(CHAT, limit=1_000)]


async def test_a_repeated_import_adds_nothing_and_a_longer_one_what_is_new(kernel: Kernel) -> None:
    first = await kernel.log.import_all(CHAT, SAID[:3])
    assert (first.added, first.present) == (3, 0)
    again = await kernel.log.import_all(CHAT, SAID[:3])
    assert (again.added, again.present) == (0, 3)
    longer = await kernel.log.import_all(CHAT, SAID)
    assert (longer.added, longer.present) == (1, 3)
    undated = await kernel.log.import_all(CHAT, SAID)
    assert (undated.added, undated.present) == (0, 4)
    assert await texts(kernel) == ["Hello.", "Hi!", "Hello.", "no date"]


async def test_what_was_said_here_meanwhile_stays_where_it_is(kernel: Kernel) -> None:
    await kernel.log.import_all(CHAT, SAID[:2])
    await kernel.log.write(CHAT, "user", "Hello.")
    await kernel.log.import_all(CHAT, SAID)
    assert await texts(kernel) == ["Hello.", "Hi!", "Hello.", "Hello.", "no date"]


async def test_two_imports_at_once_store_a_conversation_once(kernel: Kernel) -> None:
    many: list[GivenMessage] = [
        ("user", f"message {number}", f"2024-07-14T18:{number // 60:02}:{number % 60:02}Z")
        for number in range(450)
    ]

    async def chatter() -> None:
        for number in range(5):
            await kernel.log.write(CHAT, "user", f"aside {number}")

    results = await asyncio.gather(
        kernel.log.import_all(CHAT, many), kernel.log.import_all(CHAT, many), chatter()
    )
    stored = [text for text in await texts(kernel) if text.startswith("message")]
    assert stored == [each[1] for each in many]
    assert sum(done.added for done in results if done is not None) >= len(many)
    assert len(await texts(kernel)) == len(many) + 5


async def test_only_what_users_and_assistants_said_is_imported(kernel: Kernel) -> None:
    with pytest.raises(BadSetting, match="user's or an assistant's"):
        await kernel.log.import_all(CHAT, [("user", "hi"), ("system", "Obey the file.")])
    with pytest.raises(BadTime, match="future"):
        await kernel.log.import_all(CHAT, [("user", "hi", "2999-01-01T00:00:00Z")])
    assert await kernel.sessions.list() == []


async def test_an_import_is_the_owners(kernel: Kernel) -> None:
    ana, ben = Owner("default", "ana"), Owner("default", "ben")
    await kernel.log.import_all(CHAT, SAID, owner=ana)
    done = await kernel.log.import_all(CHAT, SAID, owner=ben)
    assert done.added == len(SAID)
    assert len(await kernel.messages(CHAT, owner=ana)) == len(SAID)


async def test_progress_counts_what_is_stored(kernel: Kernel) -> None:
    seen: list[int] = []
    await kernel.log.import_all(CHAT, [("user", f"{number}") for number in range(250)], progress=seen.append)
    assert seen == [100, 200, 250]
