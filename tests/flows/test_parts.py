"""Files of messages: stored in their session, given to the agent, kept with the transcript."""

import asyncio
import random
from typing import Any

import pytest

from segue import File, Kernel, Owner, Settings
from segue.errors import BadFile, BadText, NotFound, TooManyFiles
from segue.kernel.transactions.idempotency import Request
from segue.model.files import IMAGE_TOKENS
from segue.testing import ScriptedAgent, quiet
from tests.flows.house import OpenKernel
from tests.flows.story import CHAT, said

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + b"\x00" * 20
MEGABYTE = 1 << 20


async def sent(kernel: Kernel, text: str = "What is this?", **options: Any) -> File:
    file = await kernel.files.add(CHAT, "cat.png", PNG)
    await kernel.receive(CHAT, text, parts=[file], **options)
    await quiet(kernel)
    return file


async def test_a_file_is_read_back_as_it_was_added(kernel: Kernel) -> None:
    data = random.Random(1).randbytes(3 * MEGABYTE)
    file = await kernel.files.add(CHAT, "noise.bin", data)
    assert (file.type, file.media_type, file.size) == ("file", "application/octet-stream", len(data))
    assert await kernel.files.get(file.id) == file
    assert await kernel.files.read(file.id) == data


async def test_a_message_has_its_files_in_the_turn_and_in_the_transcript(
    kernel: Kernel, agent: ScriptedAgent
) -> None:
    file = await sent(kernel)
    assert agent.asked[0].turn.parts == (file,)
    question, answer = await kernel.messages(CHAT)
    assert (question.content, question.parts) == ("What is this?", (file,))
    assert answer.parts == ()
    assert (await kernel.turns.get(agent.asked[0].turn.id)).parts == (file,)


async def test_the_history_has_the_files_of_earlier_messages(kernel: Kernel, agent: ScriptedAgent) -> None:
    file = await sent(kernel)
    await kernel.receive(CHAT, "And its colour?")
    await quiet(kernel)
    turn = agent.asked[-1].turn
    assert turn.parts == ()
    assert [message.parts for message in await turn.history()] == [(file,), ()]


async def test_a_message_without_words_has_the_names_of_its_files(kernel: Kernel) -> None:
    file = await kernel.files.add(CHAT, "cat.png", PNG)
    notes = await kernel.files.add(CHAT, "notes.txt", b"Feed it.")
    await kernel.receive(CHAT, " ", parts=[file, notes.id])
    await quiet(kernel)
    assert (await said(kernel))[0] == ("user", "[cat.png], [notes.txt]")
    assert (await kernel.sessions.get(CHAT)).title == "[cat.png], [notes.txt]"
    with pytest.raises(BadText):
        await kernel.receive(CHAT, " ")


async def test_a_message_that_joins_a_turn_brings_its_files(open_kernel: OpenKernel) -> None:
    joined: list[Any] = []

    async def agent(turn: Any) -> str:
        if not turn.parts:
            cat = await turn.kernel.files.add(CHAT, "cat.png", PNG)
            await turn.kernel.receive(CHAT, "This one", parts=[cat], when_busy="inject")
            joined.extend(await turn.joined())
        return "A cat."

    kernel = await open_kernel(agent=agent)
    await kernel.receive(CHAT, "What is it?")
    await quiet(kernel)
    assert [(message.content, message.parts[0].name) for message in joined] == [("This one", "cat.png")]


async def test_a_written_message_has_files(kernel: Kernel) -> None:
    file = await kernel.files.add(CHAT, "cat.png", PNG)
    message = await kernel.log.write(CHAT, "user", "Look", parts=[file])
    assert message.parts == (file,)
    await kernel.log.write_all(CHAT, [("user", "again", None, [file.id]), ("assistant", "Yes.")])
    assert [each.parts for each in await kernel.messages(CHAT)] == [(file,), (file,), ()]


async def test_files_count_as_tokens(kernel: Kernel) -> None:
    await sent(kernel)
    await kernel.log.write(CHAT, "user", "x" * 40, parts=[await kernel.files.add(CHAT, "a.txt", b"y" * 400)])
    context = await kernel.memory.context(CHAT)
    words = sum(-(-len(text) // 4) for _, text in await said(kernel))
    assert context.message_tokens == words + IMAGE_TOKENS + 100
    assert (await kernel.sessions.overview(CHAT)).pending_tokens == context.message_tokens
    few = await kernel.memory.context(CHAT, token_budget=IMAGE_TOKENS)
    assert [message.content for message in few.messages][-1] == "x" * 40
    assert all(message.parts[:1] == () or message.parts[0].name != "cat.png" for message in few.messages)


async def test_a_file_of_another_session_cannot_be_sent(kernel: Kernel) -> None:
    theirs = await kernel.files.add("web:2", "cat.png", PNG, owner=Owner(user="ben"))
    await kernel.log.write(CHAT, "user", "Hi", owner=Owner(user="ada"))
    for owner in (Owner(user="ada"), Owner(user="ben")):
        with pytest.raises(NotFound, match=f"there is no file {theirs.id} in {CHAT}"):
            await kernel.receive(CHAT, "Look", parts=[theirs], owner=owner)
    with pytest.raises(NotFound):
        await kernel.log.write(CHAT, "user", "Look", parts=["no-such-file"], owner=Owner(user="ada"))


async def test_another_user_does_not_reach_a_file(kernel: Kernel) -> None:
    file = await kernel.files.add(CHAT, "cat.png", PNG, owner=Owner(user="ada"))
    assert await kernel.files.read(file, owner=Owner(user="ada")) == PNG
    for owner in (Owner(user="ben"), Owner(account="other", user="ada")):
        with pytest.raises(NotFound):
            await kernel.files.read(file, owner=owner)
        with pytest.raises(NotFound):
            await kernel.files.get(file.id, owner=owner)


async def test_files_are_deleted_with_their_session(kernel: Kernel) -> None:
    file = await sent(kernel)
    await kernel.sessions.delete(CHAT)
    with pytest.raises(NotFound):
        await kernel.files.get(file.id)
    with pytest.raises(NotFound):
        await kernel.store.file_content(file.id)


async def test_uploads_at_once_do_not_exceed_the_limit_of_the_session(open_kernel: OpenKernel) -> None:
    kernel = await open_kernel(settings=Settings(file_megabytes=1, session_files_megabytes=2))
    half = b"x" * (MEGABYTE // 2)
    added = await asyncio.gather(
        *(kernel.files.add(CHAT, f"{number}.txt", half) for number in range(10)), return_exceptions=True
    )
    assert sum(isinstance(each, File) for each in added) == 4
    assert {type(each) for each in added} == {File, TooManyFiles}
    assert isinstance(await kernel.files.add("web:other", "a.txt", half), File)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"x" * (MEGABYTE + 1), "may have 1,048,576"),
        ("text", "is bytes, got str"),
    ],
)
async def test_what_is_not_a_file_is_refused_with_a_sentence(
    open_kernel: OpenKernel, data: Any, reason: str
) -> None:
    kernel = await open_kernel(settings=Settings(file_megabytes=1))
    with pytest.raises(BadFile, match=reason):
        await kernel.files.add(CHAT, "a.txt", data)
    assert await kernel.sessions.find(CHAT) is None


async def test_a_message_has_at_most_twenty_files(kernel: Kernel) -> None:
    file = await kernel.files.add(CHAT, "cat.png", PNG)
    with pytest.raises(BadFile, match="at most 20"):
        await kernel.receive(CHAT, "Look", parts=[file] * 21)


async def test_an_upload_that_is_repeated_is_stored_once(kernel: Kernel) -> None:
    request = Request(owner=Owner(), name="upload-1", digest="d")
    first = await kernel.files.add(CHAT, "cat.png", PNG, request=request)
    assert await kernel.files.add(CHAT, "cat.png", PNG, request=request) == first


async def test_in_unified_mode_a_chat_sends_its_own_files(
    open_kernel: OpenKernel, agent: ScriptedAgent
) -> None:
    kernel = await open_kernel(settings=Settings(unified_session=True))
    file = await kernel.files.add("telegram:7", "cat.png", PNG)
    await kernel.receive("telegram:7", "Look", parts=[file])
    await quiet(kernel)
    turn = agent.asked[0].turn
    assert (turn.session.key, turn.parts) == ("unified:default", (file,))
    assert [message.parts for message in await kernel.messages("telegram:7")] == [(file,), ()]
    assert await kernel.files.read(file, owner=turn.session.owner) == PNG
