"""Search on the labelled set: no regressions, and the same results on both databases."""

from tests.memory.retrieval.measure import (
    HALVES,
    Part,
    conversations,
    found,
    fresh_conversations,
    missed,
    questions,
    remembering,
)

FLOOR = 35
"""Of the 36 questions of the first half, by which the ranking was changed."""


def test_the_set_is_sound() -> None:
    """Every answer occurs in exactly one exchange, so that a hit is always the right one."""
    exchanges = [
        f"{each.said[place][1]}\n{each.said[place + 1][1]}"
        for each in [*conversations(), *fresh_conversations()]
        for place in range(0, len(each.said), 2)
    ]
    asked = [question for part in Part for question in questions(part)]
    assert len(conversations()) == 24
    assert len(fresh_conversations()) == 10
    assert [len(questions(part)) for part in Part] == [36, 36, 30]
    for question in asked:
        assert sum(question.answer in words for words in exchanges) == 1, question.ask


async def test_both_databases_find_the_answers_in_the_same_order(
    migrated_sqlite_url: str, migrated_postgres_url: str
) -> None:
    first = questions(Part.FIRST)
    async with (
        remembering(migrated_sqlite_url, conversations()) as on_sqlite,
        remembering(migrated_postgres_url, conversations()) as on_postgres,
    ):
        for half in HALVES:
            for question in questions(half):
                assert await found(on_sqlite, question) == await found(on_postgres, question)
        assert len(first) - len(await missed(on_sqlite, first)) >= FLOOR
