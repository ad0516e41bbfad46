"""Search with an embedder: by meaning too, one owner's vectors only, and nothing changes without one."""

from collections.abc import Sequence

import pytest

from segue import Kernel, Owner
from segue.errors import BadSetting, Invalid
from segue.kernel.api.context import OPERATOR
from segue.memory.embedding import fused, nearest_by_bits, similarity, stored_vector
from segue.model.records import Asker
from segue.store.open import open_database
from segue.testing import ManualClock, ScriptedAgent, quiet

CHAT = "web:1"
MEANINGS = ("car vehicle auto", "dog puppy hund", "rain storm regen")


class Meanings:
    """An embedder with a dimension for each meaning."""

    name = "meanings-1"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.broken = False

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.broken:
            raise ConnectionError("no route")
        self.texts += texts
        return [
            [
                0.1,
                *(float(any(word in text.casefold() for word in words.split())) - 0.5 for words in MEANINGS),
            ]
            for text in texts
        ]


async def remembering(kernel: Kernel) -> None:
    for number, text in enumerate(("The vehicle is red.", "A puppy sleeps.", "It will storm tonight.")):
        await kernel.log.write(f"web:{number}", "user", text)
        await kernel.memory.commit(f"web:{number}")
    await quiet(kernel)


async def contents(kernel: Kernel, query: str, owner: Asker = OPERATOR) -> list[str]:
    return [each.memory.content for each in await kernel.memory.search(query, owner=owner)]


async def test_words_that_no_text_has_are_found_by_meaning(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    database = await open_database(database_url)
    async with Kernel(database, agent=agent, clock=clock, embedder=Meanings()) as kernel:
        await remembering(kernel)
        assert (await contents(kernel, "car"))[0] == "user: The vehicle is red."
        assert (await contents(kernel, "Hund"))[0] == "user: A puppy sleeps."
    await database.close()


async def test_without_an_embedder_nothing_is_embedded_and_the_ranking_is_that_of_words(
    database_url: str, clock: ManualClock, agent: ScriptedAgent
) -> None:
    database = await open_database(database_url)
    embedder = Meanings()
    async with Kernel(database, agent=agent, clock=clock) as kernel:
        await remembering(kernel)
        assert await contents(kernel, "car") == []
        before = await kernel.memory.search("the puppy")
        with pytest.raises(BadSetting, match="no embedder is configured"):
            await kernel.memory.embed_missing()
        kernel.memory_reader.embedder = embedder
        assert await kernel.memory.embed_missing() == 3
        assert await kernel.memory.embed_missing() == 0
        assert (await contents(kernel, "car"))[0] == "user: The vehicle is red."
        kernel.memory_reader.embedder = None
        assert await kernel.memory.search("the puppy") == before
    assert "The vehicle is red." in embedder.texts
    await database.close()


async def test_a_failing_embedder_leaves_search_and_learning_as_they_are(
    clock: ManualClock, agent: ScriptedAgent
) -> None:
    embedder = Meanings()
    embedder.broken = True
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock, embedder=embedder) as kernel:
        await remembering(kernel)
        assert await contents(kernel, "the puppy") == ["user: A puppy sleeps."]
        (archive,) = await kernel.memory.archives("web:1")
        assert archive.state == "done"


async def test_vectors_of_another_owner_are_never_found(clock: ManualClock, agent: ScriptedAgent) -> None:
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock, embedder=Meanings()) as kernel:
        await remembering(kernel)
        assert await contents(kernel, "car", owner=Owner("default", "other")) == []


async def test_a_deleted_memory_is_not_found_by_its_vector(clock: ManualClock, agent: ScriptedAgent) -> None:
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock, embedder=Meanings()) as kernel:
        await kernel.log.write(CHAT, "user", "I like my red vehicle.")
        await kernel.memory.commit(CHAT)
        await quiet(kernel)
        for memory in await kernel.memory.list():
            await kernel.memory.delete(memory.id)
        await kernel.sessions.delete(CHAT)
        assert await contents(kernel, "car") == []


def test_a_stored_vector_keeps_its_direction() -> None:
    one, same, other = ([0.3, -0.2, 0.9], [0.6, -0.4, 1.8], [-0.3, 0.2, -0.9])
    stored = [stored_vector("m", vector) for vector in (one, same, other)]
    assert similarity(stored[0], stored[1].vector) == pytest.approx(1, abs=0.001)
    assert similarity(stored[0], stored[2].vector) == pytest.approx(-1, abs=0.001)
    assert nearest_by_bits(stored[0], [("far", stored[2].bits), ("near", stored[1].bits)], 1) == ["near"]
    assert similarity(stored[0], stored_vector("m", [1.0]).vector) == 0


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [float("nan")], [float("inf"), 1.0], [1.0] * 5_000])
def test_what_is_no_vector_is_refused(vector: list[float]) -> None:
    with pytest.raises(Invalid, match="no usable vector"):
        stored_vector("m", vector)


def test_what_two_rankings_agree_on_comes_first() -> None:
    scores = fused([["a", "b", "c"], ["b", "d"]])
    assert max(scores, key=lambda each: scores[each]) == "b"
