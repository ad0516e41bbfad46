"""`segue chat`: in a terminal, and through a pipe."""

import asyncio
import json

import pytest

from segue import Ask, At, Kernel, Outcome
from segue.cli.chat.conversation import ChatClient
from segue.cli.chat.screen import Screen
from segue.testing import ScriptedAgent, quiet
from segue.testing.scripted_provider import ScriptedProvider, says
from segue.testing.wire_formats import Waits
from tests.cli.gate import Gate
from tests.cli.process import Segue
from tests.cli.terminal import CTRL_C, CTRL_D, Terminal, chatting
from tests.eventually import eventually

pytestmark = pytest.mark.usefixtures("ready")


async def wait_for_prompt(terminal: Terminal) -> None:
    await terminal.see("Ctrl-D leaves.")
    await terminal.see("> ")


async def _no_agent(turn: object) -> str:
    raise AssertionError("this process must run no turn")


async def test_an_answer_is_shown_as_it_streams(segue: Segue, provider: ScriptedProvider) -> None:
    segue.forked = False
    gate = asyncio.Event()
    provider.script(says("It is", Waits(gate), " raining."))
    async with chatting(segue) as terminal:
        await wait_for_prompt(terminal)
        terminal.type("What is the weather?\n")
        await terminal.see("It is")
        gate.set()
        await terminal.see(" raining.\n> ")
        terminal.type(CTRL_D)
        assert await terminal.end() == 0


async def test_earlier_messages_are_shown_at_the_start(segue: Segue) -> None:
    await segue("sessions", "add-message", "terminal:default", "Remember the milk.")
    await segue("sessions", "add-message", "terminal:default", "--role", "assistant", "I will.")
    async with chatting(segue) as terminal:
        await terminal.see("> Remember the milk.\nI will.\n")
        await wait_for_prompt(terminal)


async def test_ctrl_c_stops_the_answer_and_not_the_program(segue: Segue, gate: Gate) -> None:
    async with chatting(segue) as terminal:
        await wait_for_prompt(terminal)
        terminal.type("A very long|<wait>| story.\n")
        await gate.wait_for_agent()
        terminal.type(CTRL_C)
        await terminal.see("(stopped)\n> ")
        terminal.type("Gladly.\n")
        await terminal.see("Gladly.\nGladly.\n> ")
        terminal.type(CTRL_D)
        assert await terminal.end() == 0


async def test_ctrl_c_cancels_a_queued_message(segue: Segue, gate: Gate) -> None:
    async with chatting(segue) as terminal:
        await wait_for_prompt(terminal)
        async with Kernel(segue.database, agent=_no_agent) as kernel:
            running = await kernel.receive("terminal:default", "From elsewhere|<wait>|.")
            await gate.wait_for_agent()
            terminal.type("Never mind.\n")
            await terminal.see("(1 queued before it)")
            terminal.type(CTRL_C)
            await terminal.see("(cancelled)")
            await terminal.see("> ")
            gate.open()
            assert (await kernel.wait(running.turn_id)).outcome is Outcome.OK


async def test_ctrl_c_twice_leaves(segue: Segue, gate: Gate) -> None:
    segue.env["SEGUE_SHUTDOWN_GRACE_SECONDS"] = "0"
    async with chatting(segue) as terminal:
        await wait_for_prompt(terminal)
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
        await wait_for_prompt(terminal)
        # Thoughts are not in the log: wait for a first answer, so that the terminal listens.
        terminal.type("Listen.\n")
        await terminal.see("Listen.\nListen.\n> ")
        terminal.type("<think>|I look.|<look>|Seen.\n")
        await terminal.see('Hm.\nI look.\n· look {"at": "it"}\nSeen.\n> ')


async def test_a_failed_turn_is_shown_and_the_chat_continues(segue: Segue, gate: Gate) -> None:
    async with chatting(segue) as terminal:
        await wait_for_prompt(terminal)
        terminal.type("I am|<fail>\n")
        await terminal.see("I am\nThis turn failed; its record says why.\n> ")
        terminal.type("Still there?\n")
        await terminal.see("Still there?\nStill there?\n> ")


async def test_a_message_of_a_job_appears_above_the_typed_text(segue: Segue) -> None:
    async with chatting(segue) as terminal:
        await wait_for_prompt(terminal)
        terminal.type("half a sent")
        await terminal.see("half a sent")
        async with Kernel(segue.database, agent=_no_agent) as kernel:
            await kernel.schedule("terminal:default", At("in 1 second"), Ask("hello"), name="greeting")
        await terminal.see("[cron: greeting] ")
        await terminal.see("> half a sent")


async def test_an_answer_from_before_listening_is_shown(
    kernel: Kernel, agent: ScriptedAgent, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a busy machine a turn may end before the terminal listens."""
    agent.script("Quickly.")
    session = (await kernel.sessions.open("web:1")).session
    client = ChatClient(kernel, "web:1", session.owner, Screen(), after=session.last_seq)
    sending = asyncio.create_task(client.say("Hurry."))
    await eventually(lambda: kernel.store.queued_turns(session.id), "a queued turn")
    await quiet(kernel)
    listening = asyncio.create_task(client.listen())
    async with asyncio.timeout(60):
        assert (await sending).reply == "Quickly."
    listening.cancel()
    assert capsys.readouterr().out == "Quickly.\n"


async def test_messages_cannot_control_the_terminal(segue: Segue, gate: Gate) -> None:
    async with Kernel(segue.database, agent=_no_agent) as kernel:
        await kernel.log.write("terminal:default", "assistant", "\x1b]0;owned\x07clean")
    async with chatting(segue) as terminal:
        assert "\x07" not in await terminal.see("clean\n")


async def test_each_line_of_a_pipe_is_a_message(segue: Segue, gate: Gate) -> None:
    ended = await segue.process("chat", text="first\n\nsecond\n")
    assert (ended.code, ended.out, ended.err) == (0, "first\nsecond\n", "")


async def test_a_failed_turn_in_a_pipe_sets_the_exit_code(segue: Segue, gate: Gate) -> None:
    ended = await segue.process("chat", text="<fail>\nsecond\n")
    assert (ended.code, ended.out) == (1, "second\n")
    assert ended.err == "Error: the turn ended as error: there is no paper\n"


async def test_a_pipe_can_print_json(segue: Segue) -> None:
    ended = await segue.process("chat", "--json", "--session", "pipe:1", text="hello\n")
    (answer,) = [json.loads(line) for line in ended.out.splitlines()]
    assert (answer["state"], answer["outcome"]) == ("done", Outcome.OK)
    assert "offline" in answer["reply"]


async def test_chat_works_beside_a_running_server(segue: Segue, gate: Gate) -> None:
    async with segue.serving() as server, chatting(segue, "--session", "web:1") as terminal:
        await wait_for_prompt(terminal)
        terminal.type("Hi.\n")
        await terminal.see("Hi.\nHi.\n> ")
        await server.client.post("/sessions/web:1/turns?wait=30", json={"content": "From the page."})
        await terminal.see("From the page.")
