"""Full-text search over messages: what is found, in which sessions, and when it is indexed."""

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

import pytest

from segue import Kernel, Operator, Owner
from segue.errors import BadText
from segue.kernel.transactions.memory.index_messages import Unindexed, index
from segue.memory.message_search import FoundMessage
from segue.memory.message_terms import MOST_TERMS, index_terms, position
from segue.store import queries
from segue.store.database import Params
from segue.testing import ScriptedAgent, quiet

ADA, BEN = Owner("one", "ada"), Owner("one", "ben")


def texts(found: Sequence[FoundMessage]) -> list[str]:
    return [each.message.content for each in found]


async def say(kernel: Kernel, text: str, *, key: str = "websocket:1", owner: Owner = ADA) -> None:
    await kernel.log.write(key, "user", text, owner=owner)
    await quiet(kernel)


async def unindexed(kernel: Kernel, key: str) -> Unindexed:
    """As an indexer reads it."""
    session = await kernel.sessions.get(key, owner=ADA)
    params: Params = {"session_id": session.id, "after": 0, "limit": 10}
    messages = await kernel.store.database.read(queries.message_index.messages_after, params)
    return Unindexed(session_id=session.id, owner=ADA, after=0, messages=messages, writes=1)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("We did the rollback of the deployment.", "rollback"),
        ("We did the rollback of the deployment.", "DEPLOY rollb"),
        ("We did the rollback of the deployment.", '"deployment" (rollback) the*'),
        ("Version 4.2 is out", "4.2"),
        ("今天的天气很好，我们去公园。", "天气"),
        ("今天的天气很好，我们去公园。", "园"),
        ("東京タワーに行きました", "タワー"),
        ("오늘 날씨가 좋습니다", "날씨"),
        ("Das Straßenfest beginnt", "STRASSENFEST"),
        ("Москва не сразу строилась", "москва"),
        ("a b c", "b"),
    ],
)
async def test_a_message_is_found_by_its_words(kernel: Kernel, text: str, query: str) -> None:
    await say(kernel, "Something else, on another day")
    await say(kernel, text)
    assert texts(await kernel.log.search(query, owner=ADA)) == [text]


async def test_a_message_must_have_all_words(kernel: Kernel) -> None:
    await say(kernel, "the deployment failed")
    assert texts(await kernel.log.search("deployment rollback", owner=ADA)) == []
    assert texts(await kernel.log.search("eployment", owner=ADA)) == []


NO_QUERIES = ["", "   ", "\"'*():^-", "…!?", "x" * 1001, "wort " * 2000]


async def test_a_query_that_cannot_be_searched_is_refused_with_a_sentence(
    kernel: Kernel, subtests: pytest.Subtests
) -> None:
    for query in NO_QUERIES:
        with subtests.test(query[:20]), pytest.raises(BadText, match=r"^query: "):
            await kernel.log.search(query, owner=ADA)


OPERATORS = ["a", "NEAR(a, b)", "terms:a", "a* -b", "好" * 1000, "a " * 500, "§" + "a" * 16, "x" * 1000]


async def test_operators_of_a_database_are_plain_text_in_a_query(
    kernel: Kernel, subtests: pytest.Subtests
) -> None:
    await say(kernel, "nothing of the kind, nowhere")
    for query in OPERATORS:
        with subtests.test(query[:20]):
            assert texts(await kernel.log.search(query, owner=ADA)) == []


async def test_users_find_only_their_own_messages(kernel: Kernel) -> None:
    await say(kernel, "the secret of ada", owner=ADA)
    await say(kernel, "the secret of ben", owner=BEN)
    await say(kernel, "the secret of another account", owner=Owner("two", "ada"))
    assert texts(await kernel.log.search("secret", owner=ADA)) == ["the secret of ada"]
    assert texts(await kernel.log.search("secret", owner=BEN)) == ["the secret of ben"]
    found = await kernel.log.search("secret", owner=Operator("one"))
    assert {(each.owner, each.message.content) for each in found} == {
        (ADA, "the secret of ada"),
        (BEN, "the secret of ben"),
    }


async def test_one_session_is_searched(kernel: Kernel) -> None:
    await say(kernel, "rollback here", key="websocket:1")
    await say(kernel, "rollback there", key="websocket:2")
    assert texts(await kernel.log.search("rollback", owner=ADA, session="websocket:1")) == ["rollback here"]


async def test_questions_and_answers_of_turns_are_found_and_archived_ones_too(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    agent.script("We rolled it back on Monday.")
    await kernel.receive("websocket:1", "Why did the deployment fail?", owner=ADA)
    await quiet(kernel)
    await kernel.memory.commit("websocket:1", owner=ADA)
    await quiet(kernel)
    assert texts(await kernel.log.search("deployment", owner=ADA)) == ["Why did the deployment fail?"]
    (found,) = await kernel.log.search("rolled monday", owner=ADA)
    assert (found.session_key, found.message.role) == ("websocket:1", "assistant")


async def test_a_question_that_got_no_answer_is_found(kernel: Kernel, agent: ScriptedAgent) -> None:
    agent.script("")
    await kernel.receive("websocket:1", "Is the printer out of paper?", owner=ADA)
    await quiet(kernel)
    assert texts(await kernel.log.search("printer", owner=ADA)) == ["Is the printer out of paper?"]


async def test_messages_of_a_deleted_session_are_not_found(kernel: Kernel) -> None:
    await say(kernel, "rollback here")
    await say(kernel, "rollback there", key="websocket:2")
    await kernel.sessions.delete("websocket:1", owner=ADA)
    assert texts(await kernel.log.search("rollback", owner=ADA)) == ["rollback there"]


async def test_pages_have_every_message_once_newest_first(kernel: Kernel) -> None:
    for number in range(5):
        await say(kernel, f"rollback {number}")
    first = await kernel.log.search("rollback", owner=ADA, limit=3)
    rest = await kernel.log.search("rollback", owner=ADA, limit=3, before=first[-1].position)
    assert texts([*first, *rest]) == [f"rollback {number}" for number in (4, 3, 2, 1, 0)]


async def test_an_imported_message_stands_where_it_was_said(kernel: Kernel) -> None:
    await say(kernel, "rollback today")
    long_ago = "2020-01-01T00:00:00Z"
    await kernel.log.write("websocket:2", "user", "rollback long ago", owner=ADA, created_at=long_ago)
    await quiet(kernel)
    assert texts(await kernel.log.search("rollback", owner=ADA)) == ["rollback today", "rollback long ago"]


async def test_a_long_session_is_indexed_in_parts(kernel: Kernel) -> None:
    for start in range(0, 250, 50):
        batch = [("user", f"message number{number}") for number in range(start, start + 50)]
        await kernel.log.write_all("websocket:1", batch, owner=ADA)
    await quiet(kernel)
    assert texts(await kernel.log.search("number0", owner=ADA)) == ["message number0"]
    assert texts(await kernel.log.search("number249", owner=ADA)) == ["message number249"]


async def test_two_indexers_add_a_message_once(kernel: Kernel) -> None:
    await kernel.log.write("websocket:1", "user", "rollback", owner=ADA)
    seen = await unindexed(kernel, "websocket:1")
    assert await kernel.store.commit(index, seen) == 1
    assert await kernel.store.commit(index, seen) == 0
    assert texts(await kernel.log.search("rollback", owner=ADA)) == ["rollback"]


async def test_a_message_written_while_an_indexer_works_is_indexed_later(kernel: Kernel) -> None:
    await kernel.log.write("websocket:1", "user", "rollback one", owner=ADA)
    seen = await unindexed(kernel, "websocket:1")
    await kernel.log.write("websocket:1", "user", "rollback two", owner=ADA)
    assert await kernel.store.commit(index, seen) == 1
    await quiet(kernel)
    assert sorted(texts(await kernel.log.search("rollback", owner=ADA))) == ["rollback one", "rollback two"]


async def test_a_position_that_another_message_has_is_counted_on(kernel: Kernel) -> None:
    await say(kernel, "rollback one", key="websocket:1")
    (taken,) = await kernel.log.search("rollback", owner=ADA)
    await kernel.log.write("websocket:2", "user", "rollback two", owner=ADA)
    seen = await unindexed(kernel, "websocket:2")
    at = taken.message.at
    seq = (taken.position - (crc32(seen.session_id.encode()) + (at << 21))) % (1 << 21)
    assert position(at, seen.session_id, seq) == taken.position
    same_place = {"seq": seq, "at": at, "content": "x"}
    assert await kernel.store.commit(index, replace(seen, messages=[same_place])) == 1
    assert texts(await kernel.log.search("rollback", owner=ADA)) == ["rollback one"]


def test_a_message_has_a_limited_number_of_terms_and_later_words_are_left_out() -> None:
    terms = index_terms(" ".join(f"word{number}" for number in range(10_000)), ADA, "session")
    assert len(terms) == MOST_TERMS + 3
    assert f"word{MOST_TERMS - 1}" in terms


def test_no_word_of_a_message_is_the_term_of_an_owner() -> None:
    (scope,) = set(index_terms("", ADA, "s")) - set(index_terms("", BEN, "s"))
    assert scope not in index_terms(f"{scope} {scope[1:]}", BEN, "s")
