"""The owner of a session: the chat's key decides, and the operator reaches every session of the account."""

import pytest

from segue import Ask, At, Every, Kernel, Operator, Owner, Settings
from segue.errors import AmbiguousKey, NotFound
from segue.kernel.transactions.unified import KEY
from segue.model.channel import Channel, Reception, network_names
from segue.model.records import user_of
from segue.model.states import JobKind, UnifiedOwner
from segue.testing import ManualClock, RecordingChannel, ScriptedAgent, quiet
from tests.flows.house import OpenKernel

CHAT = "telegram:42"
PERSON = Owner(user=CHAT)
ALICE, BOB = Owner(user="alice"), Owner(user="bob")


class Pager(RecordingChannel):
    """A channel of a program's own that brings messages in."""

    async def receive(self, take: Reception) -> None:
        return


@pytest.mark.parametrize(
    ("key", "user"),
    [
        ("telegram:42", "telegram:42"),
        ("telegram:-100", "telegram:-100"),
        ("matrix:!r:home", "matrix:!r:home"),
        ("pager:1", "pager:1"),
        ("websocket:3f2a", None),
        ("web:1", None),
        ("chat:anna", None),
        ("terminal:default", None),
        ("unified:default", None),
        ("system:dream", None),
        ("telegrams:42", None),
    ],
)
def test_a_key_names_its_user(key: str, user: str | None) -> None:
    channels: list[Channel] = [Pager("pager"), RecordingChannel("web")]
    assert user_of(key, network_names(channels)) == user


def test_a_network_is_one_whether_or_not_it_is_switched_on() -> None:
    assert network_names([]) == {"telegram", "matrix"}


async def test_a_call_without_an_owner_reaches_the_session_of_the_chats_user(
    kernel: Kernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    admitted = await kernel.receive(CHAT, "Hello")
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    await kernel.recalls.add(CHAT, "Look.", when="in 2 hours")
    await quiet(kernel)
    assert (await kernel.sessions.get(CHAT)).owner == PERSON
    assert job.id in {one.id for one in await kernel.jobs.list(CHAT, owner=PERSON, ended=True)}
    assert (await kernel.turns.get(admitted.turn_id, owner=PERSON)).reply == "ok"
    assert await kernel.recalls.get(CHAT, owner=PERSON) == await kernel.recalls.get(CHAT)
    with pytest.raises(NotFound):
        await kernel.sessions.get(CHAT, owner=Owner())
    with pytest.raises(NotFound):
        await kernel.jobs.get(job.id, owner=ALICE)


async def test_of_two_sessions_of_one_key_the_operators_own_comes_first(kernel: Kernel) -> None:
    """Else the only one; and of several, the operator has to choose."""
    await kernel.log.write("web:1", "user", "Of Alice.", owner=ALICE)
    assert (await kernel.sessions.get("web:1")).owner == ALICE
    await kernel.log.write("web:1", "user", "To Alice.")
    assert len(await kernel.messages("web:1", owner=ALICE)) == 2
    await kernel.log.write("web:1", "user", "Of Bob.", owner=BOB)
    calls = (
        kernel.sessions.get("web:1"),
        kernel.receive("web:1", "Which?"),
        kernel.sessions.open("web:1"),
        kernel.log.write("web:1", "user", "Which?"),
        kernel.schedule("web:1", Every(3600), Ask("Look.")),
    )
    for call in calls:
        with pytest.raises(AmbiguousKey, match="alice, bob; say whose you mean"):
            await call
    await kernel.log.write("web:1", "user", "My own.", owner=Owner())
    assert (await kernel.sessions.get("web:1")).owner == Owner()
    assert (await kernel.receive("web:1", "Hello")).session_id == (await kernel.sessions.get("web:1")).id
    listed = {session.owner for session in await kernel.sessions.list()}
    assert listed == {Owner(), ALICE, BOB}
    assert [session.owner for session in await kernel.sessions.list(owner=BOB)] == [BOB]


async def test_another_account_is_not_the_operators(kernel: Kernel) -> None:
    await kernel.log.write("web:1", "user", "Hello", owner=Owner("acme", "ann"))
    with pytest.raises(NotFound):
        await kernel.sessions.get("web:1")
    assert (await kernel.sessions.get("web:1", owner=Operator("acme"))).owner == Owner("acme", "ann")
    assert await kernel.sessions.list() == []


async def test_in_unified_mode_each_person_has_a_lane(open_kernel: OpenKernel, agent: ScriptedAgent) -> None:
    kernel = await open_kernel(settings=Settings(unified_session=True))
    for key in (CHAT, "telegram:43", "web:1", "web:2", CHAT):
        await kernel.receive(key, f"By {key}.")
        await quiet(kernel)
    seen = [[message.content for message in asked.history if message.role == "user"] for asked in agent.asked]
    assert seen == [[], [], [], ["By web:1."], [f"By {CHAT}."]]
    assert {asked.turn.session.owner for asked in agent.asked} == {PERSON, Owner(user="telegram:43"), Owner()}
    # The same key, for many: the operator's own.
    assert (await kernel.sessions.get(KEY)).owner == Owner()


async def test_what_all_chats_of_a_person_own_is_the_persons(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    settings = Settings(unified_session=True, unified_owner=UnifiedOwner.UNIFIED)
    kernel = await open_kernel(settings=settings)
    job = await kernel.schedule(CHAT, Every(3600), Ask("Look."))
    session = await kernel.store.session_by_id(job.session_id)
    assert (session.key, session.owner) == (KEY, PERSON)


async def test_a_legacy_job_belongs_to_the_chat_in_which_it_speaks(
    open_kernel: OpenKernel, clock: ManualClock, agent: ScriptedAgent
) -> None:
    telegram = RecordingChannel("telegram")
    kernel = await open_kernel(channels=[telegram])
    await kernel.receive(CHAT, "Hello")
    await quiet(kernel)
    await kernel.schedule("cron:1", At("in 1 hour"), Ask("Look.", to=CHAT), kind=JobKind.LEGACY)
    assert (await kernel.sessions.get("cron:1")).owner == PERSON
    agent.script("All is well.")
    clock.advance(hours=1)
    await quiet(kernel)
    assert telegram.texts[-1] == "All is well."
    assert [session.key for session in await kernel.sessions.list(owner=Owner())] == []
