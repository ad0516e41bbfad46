"""`segue chat`: in a terminal, and through a pipe."""

import asyncio
import json

import pytest

from segue import Ask, At, Kernel, Outcome
from segue.cli.chat.conversation import ChatClient
from segue.cli.chat.screen import Screen
from segue.testing import ScriptedAgent, quiet
from tests.agents.double import Double, Waits, says
from tests.cli.gate import Gate
from tests.cli.process import Segue
from tests.cli.terminal import CTRL_C, CTRL_D, Terminal, chatting


async def begun(terminal: Terminal) -> None:
    await terminal.see("Ctrl-D leaves.")
    await terminal.see("> ")


async def _nobody(turn: object) -> str:
    raise AssertionError("nobody works here")


async def test_words_appear_as_they_are_said(segue: Segue, provider: Double) -> None:
    gate = asyncio.Event()
    provider.script(says("It is", Waits(gate), " raining."))
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("What is the weather?\n")
        await terminal.see("It is")
        gate.set()
        await terminal.see(" raining.\n> ")
        terminal.type(CTRL_D)
        assert await terminal.end() == 0


async def test_who_comes_back_sees_what_was_said(segue: Segue) -> None:
    await segue("sessions", "add-message", "terminal:default", "Remember the milk.")
    await segue("sessions", "add-message", "terminal:default", "--role", "assistant", "I will.")
    async with chatting(segue) as terminal:
        await terminal.see("> Remember the milk.\nI will.\n")
        await begun(terminal)


async def test_ctrl_c_stops_the_answer_and_not_the_program(segue: Segue, gate: Gate) -> None:
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("A very long|<wait>| story.\n")
        await gate.somebody_waits()
        terminal.type(CTRL_C)
        await terminal.see("(stopped)\n> ")
        terminal.type("Gladly.\n")
        await terminal.see("Gladly.\nGladly.\n> ")
        terminal.type(CTRL_D)
        assert await terminal.end() == 0


async def test_ctrl_c_takes_back_a_message_that_waits_behind_another(segue: Segue, gate: Gate) -> None:
    async with chatting(segue) as terminal:
        await begun(terminal)
        async with Kernel(segue.database, agent=_nobody) as kernel:
            running = await kernel.receive("terminal:default", "From elsewhere|<wait>|.")
            await gate.somebody_waits()
            terminal.type("Never mind.\n")
            await terminal.see("(1 before it)")
            terminal.type(CTRL_C)
            await terminal.see("(taken back)")
            await terminal.see("> ")
            gate.open()
            assert (await kernel.wait(running.turn_id)).outcome is Outcome.OK


async def test_ctrl_c_twice_leaves_and_hands_the_turn_back(segue: Segue, gate: Gate) -> None:
    segue.env["SEGUE_SHUTDOWN_GRACE_SECONDS"] = "0"
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("never mind")
        await terminal.see("never mind")
        await terminal.rests()
        terminal.type(CTRL_C)
        await terminal.see("Ctrl-C again, or Ctrl-D, leaves.")
        await terminal.see("> ")
        await terminal.rests()
        terminal.type(CTRL_C)
        assert await terminal.end() == 0


async def test_tools_and_thoughts_are_shown(segue: Segue, gate: Gate) -> None:
    async with chatting(segue) as terminal:
        await begun(terminal)
        # Thoughts are in no log: who sees an answer to its end listens, and will hear them.
        terminal.type("Listen.\n")
        await terminal.see("Listen.\nListen.\n> ")
        terminal.type("<think>|I look.|<look>|Seen.\n")
        await terminal.see('Hm.\nI look.\n· look {"at": "it"}\nSeen.\n> ')


async def test_a_turn_that_fails_is_told_and_the_talk_goes_on(segue: Segue, gate: Gate) -> None:
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("I am|<fail>\n")
        await terminal.see("I am\nThis turn failed; its record says why.\n> ")
        terminal.type("Still there?\n")
        await terminal.see("Still there?\nStill there?\n> ")


async def test_what_a_job_says_appears_above_what_is_being_typed(segue: Segue) -> None:
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("half a sent")
        await terminal.see("half a sent")
        async with Kernel(segue.database, agent=_nobody) as kernel:
            await kernel.schedule("terminal:default", At("in 1 second"), Ask("hello"), name="greeting")
        await terminal.see("[cron: greeting] ")
        await terminal.see("> half a sent")


async def test_an_answer_that_was_quicker_than_the_ear_is_heard(
    kernel: Kernel, agent: ScriptedAgent, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a busy machine a turn may end before the terminal has begun to listen."""
    agent.script("Quickly.")
    session = (await kernel.open("web:1")).session
    talk = ChatClient(kernel, "web:1", session.owner, Screen(), after=session.last_seq)
    saying = asyncio.create_task(talk.say("Hurry."))
    while not await kernel.store.queued_turns(session.id):  # noqa: ASYNC110 — it has no other sign
        await asyncio.sleep(0)
    await quiet(kernel)
    listening = asyncio.create_task(talk.listen())
    async with asyncio.timeout(60):
        assert (await saying).reply == "Quickly."
    listening.cancel()
    assert capsys.readouterr().out == "Quickly.\n"


async def test_words_cannot_steer_the_terminal(segue: Segue, gate: Gate) -> None:
    async with Kernel(segue.database, agent=_nobody) as kernel:
        await kernel.write("terminal:default", "assistant", "\x1b]0;owned\x07clean")
    async with chatting(segue) as terminal:
        assert "\x07" not in await terminal.see("clean\n")


async def test_each_line_of_a_pipe_is_a_message(segue: Segue, gate: Gate) -> None:
    ended = await segue.process("chat", text="first\n\nsecond\n")
    assert (ended.code, ended.out, ended.err) == (0, "first\nsecond\n", "")


async def test_a_pipe_tells_a_failure_by_its_exit_code(segue: Segue, gate: Gate) -> None:
    ended = await segue.process("chat", text="<fail>\nsecond\n")
    assert (ended.code, ended.out) == (1, "second\n")
    assert ended.err == "Error: the turn ended as error: there is no paper\n"


async def test_a_pipe_can_have_json(segue: Segue) -> None:
    ended = await segue.process("chat", "--json", "--session", "pipe:1", text="hello\n")
    (told,) = [json.loads(line) for line in ended.out.splitlines()]
    assert (told["state"], told["outcome"]) == ("done", Outcome.OK)
    assert "offline" in told["reply"]


async def test_it_talks_beside_a_running_server(segue: Segue, gate: Gate) -> None:
    async with segue.serving() as server, chatting(segue, "--session", "web:1") as terminal:
        await begun(terminal)
        terminal.type("Hi.\n")
        await terminal.see("Hi.\nHi.\n> ")
        await server.client.post("/sessions/web:1/turns?wait=30", json={"content": "From the page."})
        await terminal.see("From the page.")
