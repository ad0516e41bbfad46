"""Search: both databases find and rank the same."""

import json
from datetime import UTC, datetime

import pytest

from segue import Kernel, Owner
from segue.memory.search import affordable, best_first, query_terms, score, terms_of, weights, with_neighbours
from segue.store.open import open_database
from segue.testing import ManualClock, ScriptedAgent, quiet

CHAT = "web:1"
SAID = [
    "I moved to Lisbon last spring, near the river.",
    "My sister Ana lives in Porto and plays the cello.",
    "The door code of the office is 4711.",
    "I prefer window seats on long flights.",
    "We decided to use PostgreSQL for the archive.",
    "我住在上海，喜欢喝龙井茶。",
    "我的猫叫小黑，今年三岁。",
    "下周三要去北京出差。",
]
QUESTIONS = [
    ("Where do I live since I moved?", 0),
    ("who plays the cello", 1),
    ("what is the office door code?", 2),
    ("seat preference for flights", 3),
    ("which database did we decide on for the archive", 4),
    ("我住在哪里", 5),
    ("我的猫叫什么名字", 6),
    ("什么时候去北京", 7),
]


def test_terms_are_words_and_pairs() -> None:
    assert terms_of("The Cats, the CATS and a cat!") == {"cat": 3}
    assert terms_of("moved moving move") == {"move": 3}
    assert set(terms_of("我住在上海")) == {"我住", "住在", "在上", "上海"}
    assert terms_of("ＡＢＣ café") == {"abc": 1, "café": 1}
    assert terms_of("?!… the of") == {}


def test_characters_alone_are_worth_half() -> None:
    """房租 is found by 租金: in scripts without spaces, words that mean the same often share a character."""
    assert set(query_terms("我的房租")) == {"的房", "房租", "房", "租"}
    assert 0 < weights("房租")["租"] < weights("房租")["房租"]
    assert set(query_terms("rent")) == set(terms_of("rent"))


def test_what_is_rare_counts_more_and_order_is_settled() -> None:
    held = {"a": {"common": 50}, "b": {"rare": 50}, "c": {"common": 50}}
    scores = score({"common": 0, "rare": 1}, held, {"common": 2, "rare": 1}, 10)
    assert [memory for memory, _ in best_first(scores)] == ["b", "c", "a"]


def test_terms_are_stems_of_the_texts_language() -> None:
    assert terms_of("Der Arzt hat die Häuser kontrolliert") == {"arzt": 1, "haus": 1, "kontrolliert": 1}
    assert "haus" in query_terms("Häuser"), "a question may be too short to tell its language"
    assert terms_of("Я живу в большом городе") == {"жив": 1, "больш": 1, "город": 1}


def test_the_stems_of_one_word_count_once() -> None:
    asked = query_terms("Häuser")
    held = {"all": dict.fromkeys(asked, 50), "one": {"haus": 50}}
    scores = score(asked, held, dict.fromkeys(asked, 1), 10)
    assert scores["all"] == scores["one"]


def test_a_passage_takes_half_of_its_neighbours_scores() -> None:
    assert with_neighbours({"b": 4.0, "c": 1.0}, {"b": ["a", "c"], "c": ["b"]}) == {
        "a": 2.0,
        "b": 4.5,
        "c": 3.0,
    }


def test_the_rarest_terms_are_read_in_full() -> None:
    assert affordable({"often": 4_000, "rare": 3, "frequent": 2_000}) == ["rare", "frequent"]
    assert affordable({"always": 5_000}) == ["always"]


def test_a_term_is_worth_less_in_a_long_text() -> None:
    assert weights("cello")["cello"] > weights("cello " + " ".join(f"word{n}" for n in range(60)))["cello"]


async def filled(url: str, clock: ManualClock, agent: ScriptedAgent) -> list[list[tuple[str, float]]]:
    database = await open_database(url)
    async with Kernel(database, agent=agent, clock=clock) as kernel:
        for number, said in enumerate(SAID):
            await kernel.log.write_all(f"web:{number}", [("user", said), ("assistant", "Noted.")])
            await kernel.memory.commit(f"web:{number}")
        await quiet(kernel)
        found = [
            [(each.memory.content, each.score) for each in await kernel.memory.search(question, limit=5)]
            for question, _ in QUESTIONS
        ]
    await database.close()
    return found


async def test_both_databases_find_and_rank_the_same(
    migrated_sqlite_url: str, migrated_postgres_url: str, agent: ScriptedAgent
) -> None:
    on_sqlite = await filled(migrated_sqlite_url, ManualClock(), agent)
    on_postgres = await filled(migrated_postgres_url, ManualClock(), agent)
    assert json.dumps(on_sqlite) == json.dumps(on_postgres)
    for found, (question, right) in zip(on_sqlite, QUESTIONS, strict=True):
        assert any(SAID[right] in content or content in SAID[right] for content, _ in found[:2]), question


async def test_a_user_does_not_find_another_users_memories(kernel: Kernel) -> None:
    await kernel.log.write(CHAT, "user", "The door code is 4711.")
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    assert await kernel.memory.search("door code")
    assert await kernel.memory.search("door code", owner=Owner("default", "other")) == []


async def test_an_answer_is_found_by_the_words_of_the_exchange_before_it(kernel: Kernel) -> None:
    said = ["We have a dog. He is called Biscuit.", "180 grams, morning and evening.", "Rain again."]
    for each in said:
        await kernel.log.write_all(CHAT, [("user", each), ("assistant", "Noted.")])
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    found = [each.memory.content for each in await kernel.memory.search("How much does Biscuit get?")]
    assert any("180 grams" in content for content in found)
    assert not any("Rain" in content for content in found)


async def test_what_was_said_in_the_period_of_the_question_comes_first(
    kernel: Kernel, clock: ManualClock
) -> None:
    clock.set(datetime(2026, 7, 10, 12, tzinfo=UTC))
    await kernel.log.write("web:summer", "user", "The trip to the lake cost 300.")
    clock.set(datetime(2026, 10, 10, 12, tzinfo=UTC))
    await kernel.log.write("web:autumn", "user", "The trip to the lake cost 500.")
    clock.set(datetime(2026, 11, 17, 12, tzinfo=UTC))
    await kernel.memory.commit("web:summer")
    await kernel.memory.commit("web:autumn")
    await quiet(kernel)

    async def first(question: str) -> str:
        return (await kernel.memory.search(question))[0].memory.content

    assert "300" in await first("what did the trip cost this summer?")
    assert "500" in await first("what did the trip cost in October?")
    assert "300" in await first("im Juli")


async def test_a_neighbour_of_another_owner_is_never_found(kernel: Kernel) -> None:
    ours, theirs = Owner("default", "ana"), Owner("default", "ben")
    for owner, text in ((ours, "Biscuit is a dog."), (theirs, "The code is 4711.")):
        await kernel.log.write(CHAT, "user", text, owner=owner)
        await kernel.memory.commit(CHAT, owner=owner)
    await quiet(kernel)
    assert [each.memory.content for each in await kernel.memory.search("Biscuit", owner=ours)] == [
        "user: Biscuit is a dog."
    ]


async def test_passages_go_with_their_session_and_memories_stay(kernel: Kernel) -> None:
    await kernel.log.write_all(CHAT, [("user", "I live in Rome."), ("user", "The parrot sings.")])
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    await kernel.sessions.delete(CHAT)
    assert await kernel.memory.search("parrot") == []
    assert [each.memory.content for each in await kernel.memory.search("Rome")] == ["I live in Rome."]


@pytest.mark.parametrize("query", ["' OR 1=1 --", '"%_', "\\", "😀"])
async def test_any_words_may_be_asked(kernel: Kernel, query: str) -> None:
    await kernel.log.write(CHAT, "user", "hello")
    await kernel.memory.commit(CHAT)
    await quiet(kernel)
    assert await kernel.memory.search(query) == []
