"""Files of messages in the adapters: images as they are, text files as text, of others a sentence."""

import base64
import random
import struct
import zlib
from typing import Any

import pytest

from segue import Outcome
from segue.testing.agent_parts import CHAT, Trial
from segue.testing.scripted_provider import Fails, says
from segue.testing.wire_formats import Calls, Waits
from tests.adapters.making import FRAMEWORKS, opened
from tests.adapters.test_claude import clean_environment

__all__ = ["clean_environment"]


def image(side: int) -> bytes:
    """A picture of noise: Claude Code reads and shrinks what it is given."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    noise = random.Random(1).randbytes(side * (3 * side + 1))
    lines = b"".join(b"\0" + noise[start : start + 3 * side] for start in range(0, len(noise), 3 * side + 1))
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


PNG = image(16)
IMAGE = base64.b64encode(PNG).decode()


async def ask(trial: Trial, text: str, *files: tuple[str, bytes]) -> Any:
    parts = [await trial.kernel.files.add(CHAT, name, data) for name, data in files]
    admitted = await trial.kernel.receive(CHAT, text, parts=parts)
    await trial.settle()
    return await trial.kernel.turns.get(admitted.turn_id)


def sent(trial: Trial, number: int = -1) -> str:
    """The bytes of a request, in the two alphabets of base64."""
    return str(trial.provider.asked[number].body).replace("-", "+").replace("_", "/")


@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_the_model_gets_an_image_and_a_text_file(name: str) -> None:
    async with opened(name) as trial:
        files = (("cat.png", PNG), ("notes.txt", b"The cat is called Fritz."), ("a.zip", b"PK\x03\x04xyz"))
        turn = await ask(trial, "Who is this?", *files)
        assert turn.outcome is Outcome.OK, turn.error
        request = sent(trial)
        assert request.count(IMAGE) == 1
        assert "The cat is called Fritz." in request
        assert "[The user sent a.zip (application/zip, 7 bytes). You cannot see its content.]" in request
        await trial.ask("And its colour?")
        assert IMAGE in sent(trial)


@pytest.mark.parametrize(
    "name", [name for name in FRAMEWORKS if name not in ("claude", "adk", "agno", "langgraph")]
)
async def test_a_message_that_is_injected_brings_its_image(name: str) -> None:
    gate = Waits()
    async with opened(name) as trial:
        trial.provider.script(says(gate, Calls(trial.tool_name("note"), '{"text": "milk"}')), says("A cat."))
        async with trial.running():
            asked = await trial.kernel.receive(CHAT, "Note milk.")
            await trial.provider.waiting.wait()
            cat = await trial.kernel.files.add(CHAT, "cat.png", PNG)
            joined = await trial.kernel.receive(CHAT, "And this?", parts=[cat], when_busy="inject")
            gate.gate.set()
            turn = await trial.kernel.wait(asked.turn_id)
        assert (await trial.kernel.turns.get(joined.turn_id)).joined_into == turn.id
        assert (turn.reply or "").endswith("A cat.")
        assert "And this?" in sent(trial)
        assert IMAGE in sent(trial)
        assert "And this?" not in sent(trial, 0)


@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_an_approval_in_a_turn_with_a_large_image_is_kept(name: str) -> None:
    large = image(800)
    async with opened(name) as trial:
        await trial.ask("I am Anna.")
        trial.provider.script(says(Calls(trial.tool_name("pay"), '{"amount": 5}')), says("I have paid."))
        turn = await ask(trial, "Pay what is on this bill.", ("bill.png", large))
        assert turn.outcome is Outcome.ASKED, turn.error
        await trial.restart()
        turn = await trial.ask("yes")
        assert (turn.outcome, trial.parts.payments) == (Outcome.OK, [5]), turn.error
        assert sent(trial).count("I am Anna.") == 1
        assert sent(trial).count("Pay what is on this bill.") == 1
        if name != "claude":  # Claude Code sends a smaller picture
            assert sent(trial).count(base64.b64encode(large).decode()) == 1


@pytest.mark.parametrize("name", ["pydantic_ai", "openai_compatible"])
async def test_an_image_that_the_provider_refuses_is_not_sent_again(name: str) -> None:
    async with opened(name) as trial:
        trial.provider.script(Fails(400), says("I cannot see images."))
        turn = await ask(trial, "Who is this?", ("cat.png", PNG))
        assert turn.outcome is Outcome.ERROR
        turn = await trial.ask("Are you there?")
        assert turn.reply == "I cannot see images."
        assert IMAGE not in sent(trial)
        assert "[cat.png was sent in a turn that failed; ask for it again.]" in str(
            trial.provider.asked[-1].body
        )
