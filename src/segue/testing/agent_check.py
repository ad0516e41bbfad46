"""Agent conformance: checks that an agent, an adapter's or your own, does what Segue relies on.

    def make(parts: AgentParts) -> Agent:
        model = OpenAIChatModel("any", provider=OpenAIProvider(base_url=parts.base_url, api_key="sk-test"))
        return adapt(pydantic_ai.Agent(model, tools=[parts.note]))

    @pytest.mark.parametrize("check", AGENT_CHECKS)
    async def test_my_agent(check: str) -> None:
        await check_agent(make, checks=[check])

Each check makes an agent of its own, with a scripted model provider on loopback. A failed check raises
AssertionError.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable

from segue.errors import BadSetting
from segue.kernel.live.hub import LiveText
from segue.model.action import Ask
from segue.model.states import JobKind, Outcome
from segue.testing.agent_parts import CHAT, HANG, MakeAgent, Trial, trial
from segue.testing.scripted_provider import Fails, says
from segue.testing.wire_formats import Calls, Waits
from segue.times.trigger import Every

STOP_SECONDS = 1.0
STREAM_SECONDS = 10.0


async def check_agent(
    make: MakeAgent,
    *,
    checks: Iterable[str] | None = None,
    tool_name: Callable[[str], str] = str,
) -> None:
    """Run the checks, by default all of `AGENT_CHECKS`, against agents that `make` returns.

    Leave out what your agent is not made for, such as `approval`. `tool_name` turns the name of a tool into
    the one that the model knows it by. Raises AssertionError, and `BadSetting` for an unknown check.
    """
    for name in AGENT_CHECKS if checks is None else checks:
        if name not in _CHECKS:
            raise BadSetting(f"there is no check {name!r}; there are: {', '.join(AGENT_CHECKS)}")
        async with trial(make, tool_name) as opened:
            await _CHECKS[name](opened)


async def _history(trial: Trial) -> None:
    """The model gets the conversation in its order, and what was asked last."""
    trial.provider.script(says("Good luck, Anna."), says("Anna."))
    await trial.ask("I am Anna.")
    await trial.ask("Who am I?")
    sent = [text for role, text in trial.provider.asked[-1].words if role in ("user", "assistant")]
    assert len(sent) >= 3, f"the history is missing: the model got {sent}"
    for wanted, found in zip(("I am Anna.", "Good luck, Anna.", "Who am I?"), sent[-3:], strict=True):
        assert wanted in found, f"the model should get {wanted!r} here, and got {found!r} in {sent}"


async def _outside(trial: Trial) -> None:
    """The model also gets what was written outside of its turns."""
    await trial.ask("Hello.")
    await trial.kernel.log.write(CHAT, "assistant", "The launch moved to Friday.")
    await trial.ask("What is new?")
    sent = " ".join(text for _, text in trial.provider.asked[-1].words)
    assert "The launch moved to Friday." in sent, f"a message from outside is missing in {sent}"


async def _streaming(trial: Trial) -> None:
    """Readers see the text while the model still speaks."""
    gate = Waits()
    trial.provider.script(says("Good ", gate, "morning."))
    async with trial.running():
        asked = await trial.kernel.receive(CHAT, "Hello")
        await trial.provider.waiting.wait()
        try:
            async with asyncio.timeout(STREAM_SECONDS):
                await _live_text(trial, "Good")
        except TimeoutError:
            raise AssertionError("no text came while the model spoke; yield it as it comes") from None
        gate.gate.set()
        turn = await trial.kernel.wait(asked.turn_id)
    assert turn.reply == "Good morning.", f"the answer is 'Good morning.', and the turn has {turn.reply!r}"


async def _live_text(trial: Trial, text: str) -> None:
    async for heard in trial.kernel.follow(CHAT):
        if isinstance(heard, LiveText) and text in heard.text:
            return


async def _usage(trial: Trial) -> None:
    """The turn stores how many tokens it took, over all its requests."""
    name = trial.tool_name("note")
    trial.provider.script(says(Calls(name, '{"text": "milk"}')), says("Noted."))
    turn = await trial.ask("Note milk.")
    usage = turn.usage or {}
    found = {key: usage.get(key) for key in ("input_tokens", "output_tokens")}
    wanted = {"input_tokens": 22, "output_tokens": 14}
    assert found == wanted, f"the requests took {wanted}, and the turn has {dict(usage)}"


async def _failure(trial: Trial) -> None:
    """A request that the provider refuses makes the turn fail, and the next turn works."""
    trial.provider.script(Fails(400), says("Here I am."))
    turn = await trial.ask("Hello")
    assert turn.outcome is Outcome.ERROR, f"the provider refused, and the turn ended as {turn.outcome}"
    turn = await trial.ask("Hello?")
    assert turn.reply == "Here I am.", f"after a failed turn, the next one answered {turn.reply!r}"


async def _tools(trial: Trial) -> None:
    """A tool runs once, its call is in the log with its result, and was there before it ran."""
    name = trial.tool_name("note")
    trial.provider.script(says(Calls(name, '{"text": "milk"}')), says("Noted."))
    turn = await trial.ask("Note milk.")
    assert trial.parts.notes == ["milk"], f"note('milk') should run once, and ran: {trial.parts.notes}"
    assert turn.reply is not None
    assert turn.reply.endswith("Noted."), f"the answer after the tool is missing: {turn.reply!r}"
    started, called = await trial.events("tool_started"), await trial.events("tool_call")
    assert len(started) == 1, f"one ToolStarted is wanted, and there are {[event.body for event in started]}"
    assert len(called) == 1, f"one ToolCalled is wanted, and there are {[event.body for event in called]}"
    assert called[0].body["call_id"] == started[0].body["call_id"]
    assert "noted: milk" in str(called[0].body["result"]), f"the result is missing in {called[0].body}"
    assert "noted: milk" in str(trial.provider.asked[-1].body), "the model did not get the tool's result"
    if trial.agent.reports_tools:
        assert trial.parts.reported == [True], "the tool ran before its report was stored: a crash repeats it"


async def _tool_history(trial: Trial) -> None:
    """Later turns see the calls of earlier ones and their results."""
    name = trial.tool_name("note")
    trial.provider.script(says(Calls(name, '{"text": "milk"}')), says("Noted."), says("Milk."))
    await trial.ask("Note milk.")
    await trial.ask("What did you note?")
    assert "noted: milk" in str(trial.provider.asked[-1].body), "the earlier tool result is missing"


async def _scheduling(trial: Trial) -> None:
    """The model can use Segue's own tools."""
    arguments = {"action": "add", "name": "log", "message": "Read the build log.", "every_seconds": 3600}
    trial.provider.script(says(Calls(trial.tool_name("cron"), json.dumps(arguments))), says("Every hour."))
    await trial.ask("Read the build log every hour.")
    jobs = await trial.kernel.jobs.list(CHAT)
    assert [job.name for job in jobs] == ["log"], f"the tool cron should have made a job: {jobs}"
    called = await trial.events("tool_call")
    assert len(called) == 1, f"the call of cron should be in the log once: {[event.body for event in called]}"


async def _stop(trial: Trial) -> None:
    """A stop ends the turn within a second, and with it the request to the model."""
    trial.provider.script(says("One ", Waits(), "two."))
    async with trial.running():
        asked = await trial.kernel.receive(CHAT, "Count.")
        await trial.provider.waiting.wait()
        await _stop_now(trial, asked.turn_id)
        await trial.provider.left.wait()


async def _stop_in_tool(trial: Trial) -> None:
    """A stop ends the turn within a second, and with it the running tool."""
    trial.provider.script(says(Calls(trial.tool_name("note"), json.dumps({"text": HANG}))))
    async with trial.running():
        asked = await trial.kernel.receive(CHAT, "Hang.")
        await trial.parts.hanging.wait()
        await _stop_now(trial, asked.turn_id)
        await trial.parts.released.wait()


async def _stop_now(trial: Trial, turn_id: str) -> None:
    await trial.kernel.turns.stop(CHAT)
    try:
        async with asyncio.timeout(STOP_SECONDS):
            turn = await trial.kernel.wait(turn_id)
    except TimeoutError:
        raise AssertionError(f"the turn did not end within {STOP_SECONDS:g} s of the stop") from None
    assert turn.outcome is Outcome.STOPPED, f"a stopped turn ends as stopped, and this as {turn.outcome}"


async def _schedule(trial: Trial) -> None:
    """A job's turn gets the prompt with the facts of its slot, and its answer joins the conversation."""
    trial.provider.script(says("Hello."), says("The build is green."), says("Green, as I said."))
    await trial.ask("Hello")
    await trial.kernel.schedule(CHAT, Every(600), Ask("Read the build log."), kind=JobKind.CRON)
    trial.clock.advance(minutes=10)
    await trial.settle()
    assert len(trial.provider.asked) == 2, "the job's turn did not ask the model"
    role, text = trial.provider.asked[-1].words[-1]
    assert "Read the build log." in text, f"the model should get the job's prompt last, and got {text!r}"
    assert text != "Read the build log.", "the model got turn.text instead of turn.prompt"
    assert role == "user", f"the prompt of a job has the role user, and came as {role}"
    await trial.ask("And the build?")
    sent = " ".join(text for _, text in trial.provider.asked[-1].words)
    assert "The build is green." in sent, f"the job's answer is missing in the next turn: {sent}"


async def _recall(trial: Trial) -> None:
    """The instruction of a recall, which the agent wrote itself, is not given as the user's words."""
    trial.provider.script(says("Good luck."), says("How did it go?"))
    await trial.ask("The launch is tonight.")
    await trial.kernel.recalls.add(CHAT, "Ask how the launch went.", when="in 10 minutes")
    trial.clock.advance(minutes=10)
    await trial.settle()
    roles = [role for role, text in trial.provider.asked[-1].words if "Ask how the launch went." in text]
    assert roles, "the model did not get the instruction of the recall"
    assert set(roles) <= {"system", "developer"}, f"turn.role is system, and the model got {roles}"


async def _two_chats(trial: Trial) -> None:
    """Turns of two chats run at the same time, and do not see each other."""
    gates = [Waits(), Waits()]
    trial.provider.script(*(says(gate, "Done.") for gate in gates))
    async with trial.running():
        first = await trial.kernel.receive("web:anna", "I am Anna.")
        second = await trial.kernel.receive("web:ben", "I am Ben.")
        while len(trial.provider.asked) < 2:
            await trial.provider.waiting.wait()
            trial.provider.waiting.clear()
        for gate in gates:
            gate.gate.set()
        turns = [await trial.kernel.wait(each.turn_id) for each in (first, second)]
    assert [turn.reply for turn in turns] == ["Done.", "Done."]
    both = [asked for asked in trial.provider.asked if "Anna" in str(asked.body) and "Ben" in str(asked.body)]
    assert not both, "a request has the words of both chats: the adapter keeps state of a turn in the agent"


async def _approval(trial: Trial) -> None:
    """An approved tool runs once, also if a job is due and a process ends before the answer."""
    payment = says(Calls(trial.tool_name("pay"), '{"amount": 5}'))
    trial.provider.script(payment, says("I have paid."), says("The build is green."))
    turn = await trial.ask("Pay 5.")
    assert turn.outcome is Outcome.ASKED, f"the turn should end with Waiting, and ended as {turn.outcome}"
    assert "pay" in (turn.reply or ""), f"the question should name the tool, and is {turn.reply!r}"
    await trial.kernel.schedule(CHAT, Every(600), Ask("Read the build log."), kind=JobKind.CRON)
    trial.clock.advance(minutes=10)
    await trial.settle()
    assert len(trial.provider.asked) == 1, "the job ran although the agent waits for an answer"
    assert trial.parts.payments == [], "the tool ran before it was approved"
    await trial.restart()
    turn = await trial.ask("yes")
    assert trial.parts.payments == [5], f"pay(5) should have run once, and ran: {trial.parts.payments}"
    assert (turn.reply or "").endswith("I have paid."), f"the agent did not continue: {turn.reply!r}"
    assert "paid: 5" in str(trial.provider.asked[1].body), "the model did not get the approved tool's result"
    sent = str(trial.provider.asked[-1].body)
    assert "Read the build log." in sent, "the job that was held did not run after the answer"
    assert trial.parts.payments == [5], "the payment was made again"


async def _refusal(trial: Trial) -> None:
    """A tool that the user refuses does not run, and the conversation goes on."""
    trial.provider.script(
        says(Calls(trial.tool_name("pay"), '{"amount": 5}')), says("Then not."), says("Yes.")
    )
    await trial.ask("Pay 5.")
    turn = await trial.ask("No, it is too much")
    assert trial.parts.payments == [], "the tool ran although the user refused it"
    assert turn.outcome is Outcome.OK, f"after a refusal the turn ends as ok, and this as {turn.outcome}"
    assert "it is too much" in str(trial.provider.asked[1].body), "the model did not get the user's words"
    turn = await trial.ask("yes")
    assert trial.parts.payments == [], "a later yes approved a call that had been refused"


_CHECKS: dict[str, Callable[[Trial], Awaitable[None]]] = {
    "history": _history,
    "outside": _outside,
    "streaming": _streaming,
    "usage": _usage,
    "failure": _failure,
    "tools": _tools,
    "tool_history": _tool_history,
    "scheduling": _scheduling,
    "stop": _stop,
    "stop_in_tool": _stop_in_tool,
    "schedule": _schedule,
    "recall": _recall,
    "two_chats": _two_chats,
    "approval": _approval,
    "refusal": _refusal,
}
AGENT_CHECKS = tuple(_CHECKS)
"""The names of the checks."""
