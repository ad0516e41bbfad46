"""`segue chat`: in a terminal, and through a pipe."""

import asyncio
import json

from segue import Ask, At, Kernel, Outcome
from tests.agents.double import Calls, Double, Fails, Waits, says
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


async def test_ctrl_c_stops_the_answer_and_not_the_program(segue: Segue, provider: Double) -> None:
    provider.script(says("A very long", Waits()), says("Gladly."))
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("Tell me everything.\n")
        await terminal.see("A very long")
        terminal.type(CTRL_C)
        await terminal.see("(stopped)\n> ")
        terminal.type("Shorter, please.\n")
        await terminal.see("Gladly.\n> ")
        terminal.type(CTRL_D)
        assert await terminal.end() == 0


async def test_ctrl_c_twice_leaves(segue: Segue) -> None:
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("never mind" + CTRL_C)
        await terminal.see("Ctrl-C again, or Ctrl-D, leaves.")
        await terminal.see("> ")
        terminal.type(CTRL_C)
        assert await terminal.end() == 0


async def test_a_tool_is_shown_before_it_is_called(segue: Segue, provider: Double) -> None:
    (segue.folder / "notes").mkdir()
    segue.env["SEGUE_WORKSPACE"] = str(segue.folder / "notes")
    provider.script(says(Calls("list_files", "{}")), says("There is nothing."))
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("What is there?\n")
        await terminal.see("· list_files {}\n")
        await terminal.see("There is nothing.\n> ")


async def test_what_a_job_says_appears_above_what_is_being_typed(segue: Segue) -> None:
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("half a sent")
        await terminal.see("half a sent")
        async with Kernel(segue.database, agent=_nobody) as kernel:
            await kernel.schedule("terminal:default", At("in 1 second"), Ask("hello"), name="greeting")
        await terminal.see("[cron: greeting] ")
        await terminal.see("> half a sent")


async def test_words_cannot_steer_the_terminal(segue: Segue, provider: Double) -> None:
    provider.script(says("\x1b]0;owned\x07clean"))
    async with chatting(segue) as terminal:
        await begun(terminal)
        terminal.type("Hi.\n")
        assert "\x07" not in await terminal.see("clean\n> ")


async def test_each_line_of_a_pipe_is_a_message(segue: Segue, provider: Double) -> None:
    provider.script(says("One."), says("Two."))
    ended = await segue.process("chat", text="first\n\nsecond\n")
    assert (ended.code, ended.out, ended.err) == (0, "One.\nTwo.\n", "")
    assert [asked.body["messages"][-1]["content"] for asked in provider.asked] == ["first", "second"]


async def test_a_pipe_tells_a_failure_by_its_exit_code(segue: Segue, provider: Double) -> None:
    provider.script(Fails(400), says("Two."))
    ended = await segue.process("chat", text="first\nsecond\n")
    assert (ended.code, ended.out) == (1, "Two.\n")
    assert ended.err.startswith("Error: the turn ended as error")


async def test_a_pipe_can_have_json(segue: Segue) -> None:
    ended = await segue.process("chat", "--json", "--session", "pipe:1", text="hello\n")
    (told,) = [json.loads(line) for line in ended.out.splitlines()]
    assert (told["state"], told["outcome"]) == ("done", Outcome.OK)
    assert "offline" in told["reply"]


async def test_it_talks_beside_a_running_server(segue: Segue, provider: Double) -> None:
    provider.script(says("Hello."))
    async with segue.serving() as server, chatting(segue, "--session", "web:1") as terminal:
        await begun(terminal)
        terminal.type("Hi.\n")
        await terminal.see("Hello.\n> ")
        provider.script(says("Hello, page."))
        await server.client.post("/sessions/web:1/turns?wait=30", json={"content": "From the page."})
        await terminal.see("Hello, page.")
