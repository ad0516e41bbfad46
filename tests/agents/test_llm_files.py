"""Model agent: what a provider is sent of the files of a conversation, in both wire formats."""

import base64

from segue import File
from segue.agents import attachments
from segue.agents.attachments import MOST_FILES
from segue.model.files import MOST_TEXT_BYTES
from segue.testing import quiet
from segue.testing.scripted_provider import words_sent
from tests.agents.house import CHAT, Harness, OpenHarness

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(200))
PDF = b"%PDF-1.7\n" + bytes(range(200))


async def ask(harness: Harness, text: str, *files: File) -> str:
    """The last request."""
    await harness.kernel.receive(CHAT, text, parts=files)
    await quiet(harness.kernel)
    return str(harness.provider.asked[-1].body)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def test_images_and_documents_are_sent_as_they_are(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    add = harness.kernel.files.add
    sent = await ask(harness, "Look", await add(CHAT, "cat.png", PNG), await add(CHAT, "bill.pdf", PDF))
    assert encoded(PNG) in sent
    assert encoded(PDF) in sent
    assert encoded(PNG) in await ask(harness, "And now?")


async def test_a_text_file_is_sent_as_text_and_cut(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    notes = await harness.kernel.files.add(CHAT, "notes.txt", b"Feed the cat. " + b"x" * MOST_TEXT_BYTES)
    await ask(harness, "Read it", notes)
    _, text = words_sent(harness.provider.asked[-1].body)[-1]
    assert "[File notes.txt]\nFeed the cat. xxx" in text
    assert text.endswith("[End of notes.txt]\n[The first 200,000 bytes of 200,014]")


async def test_only_the_newest_files_are_sent_again(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    images = [PNG + bytes([number]) for number in range(MOST_FILES + 1)]
    for number, image in enumerate(images):
        await harness.kernel.log.write(
            CHAT, "user", "Look", parts=[await harness.kernel.files.add(CHAT, f"{number}.png", image)]
        )
    sent = await ask(harness, "Which was the first?")
    assert [encoded(image) in sent for image in images] == [False] + [True] * MOST_FILES
    assert "[0.png was sent earlier, and is not shown again.]" in sent


async def test_a_file_of_an_assistants_message_is_named(open_harness: OpenHarness, dialect: str) -> None:
    harness = await open_harness(dialect)
    cat = await harness.kernel.files.add(CHAT, "cat.png", PNG)
    await harness.kernel.log.write(CHAT, "user", "Draw a cat.")
    await harness.kernel.log.write(CHAT, "assistant", "Here.", parts=[cat])
    sent = await ask(harness, "Thanks")
    assert "[With this message: cat.png]" in sent
    assert encoded(PNG) not in sent


async def test_what_is_too_large_together_is_named(open_harness: OpenHarness) -> None:
    harness = await open_harness()
    half = PNG + b"x" * (attachments.MOST_BYTES // 2)
    first = await harness.kernel.files.add(CHAT, "first.png", half)
    second = await harness.kernel.files.add(CHAT, "second.png", half)
    sent = await ask(harness, "Look", first, second)
    assert sent.count("data:image/png;base64,") == 1
    assert "[second.png was sent earlier, and is not shown again.]" in sent
