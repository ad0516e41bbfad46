"""Users of one bot share nothing: not on Telegram, not on Matrix, not in a group."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from segue import Kernel, Owner, Settings
from segue.channels.telegram import Telegram
from segue.model.channel import Door
from segue.testing import ScriptedAgent
from tests.channels.bot_api import TOKEN, BotApi, bot_api
from tests.channels.matrix_client import Homeserver, Person, matrix_of, until_joined, until_shown
from tests.channels.two_people import SECRET, fill, served, try_every_route, try_every_tool
from tests.eventually import eventually

ADA, BOB = "telegram:7", "telegram:8"


@pytest_asyncio.fixture
async def api() -> AsyncIterator[BotApi]:
    async with bot_api() as api:
        yield api


async def test_two_people_on_telegram_share_nothing(api: BotApi, database_url: str) -> None:
    async with Telegram(TOKEN, url=api.url) as telegram:  # noqa: SIM117
        async with Kernel(database_url, agent=ScriptedAgent(), channels=[telegram]) as kernel:
            async with served(kernel) as http:
                await api.write(SECRET, sender=7)
                await api.write("Hello", sender=8)
                await eventually(lambda: api.shown("7") and api.shown("8"), "an answer for both")
                things = await fill(kernel, ADA)
                await try_every_tool(kernel, BOB, ADA, things)
                await try_every_route(http, ADA, things)
            assert not await kernel.audit()


async def test_two_people_on_matrix_share_nothing(home: Homeserver, tmp_path: Path) -> None:
    bot, ada = await home.pair()
    _, bob = await home.pair()
    url = f"sqlite:///{tmp_path}/segue.db"
    async with matrix_of(bot, home) as matrix:  # noqa: SIM117
        async with Kernel(url, agent=ScriptedAgent(), channels=[matrix]) as kernel:
            hers, his = await ada.open_room(bot.user), await bob.open_room(bot.user)
            async with served(kernel) as http:
                await _write_when_heard(bot, (ada, hers, SECRET), (bob, his, "Hello"))
                things = await fill(kernel, f"matrix:{hers}")
                await try_every_tool(kernel, f"matrix:{his}", f"matrix:{hers}", things)
                await try_every_route(http, f"matrix:{hers}", things)
            assert not await kernel.audit()


async def _write_when_heard(bot: Person, *said: tuple[Person, str, str]) -> None:
    for person, room, text in said:
        await until_joined(bot, person, room)
        await person.write(room, text)
        await until_shown(person, room, "ok")


async def test_a_group_belongs_to_the_group(api: BotApi, database_url: str) -> None:
    """Also if a member's private chat is bound to a user."""
    async with Telegram(TOKEN, url=api.url) as telegram:  # noqa: SIM117
        async with Kernel(database_url, agent=ScriptedAgent(), channels=[telegram]) as kernel:
            await kernel.guests.bind("telegram", "7", user="ada")
            async with served(kernel):
                await api.write("Hello all", sender=7, chat=-100, type="supergroup", title="The team")
                await api.write("Hello", sender=7)
                await eventually(lambda: api.shown("-100") and api.shown("7"), "answers")
            assert (await kernel.sessions.get("telegram:-100")).owner == Owner(user="telegram:-100")
            assert (await kernel.sessions.get(ADA)).owner == Owner(user="ada")


async def test_a_pairing_binds_the_chats_of_a_person(api: BotApi, database_url: str) -> None:
    """In unified mode they share one conversation; the chats of others do not."""
    door, agent = Door(allow=frozenset({"8"}), pairing=True), ScriptedAgent()
    settings = Settings(unified_session=True)
    async with Telegram(TOKEN, url=api.url, door=door) as telegram:  # noqa: SIM117
        async with Kernel(database_url, agent=agent, channels=[telegram], settings=settings) as kernel:
            async with served(kernel):
                await api.write("Let me in", sender=7)
                await eventually(lambda: api.shown("7"), "a code")
                [guest] = await kernel.guests.list()
                assert (await kernel.guests.allow(guest.code, user="ada")).user == "ada"
                await kernel.wait(await kernel.receive("web:1", "I am Ada.", owner=Owner(user="ada")))
                await api.write("Who am I?", sender=7)
                await eventually(lambda: len(api.shown("7")) == 2, "an answer for Ada")
                await api.write("And who am I?", sender=8)
                await eventually(lambda: api.shown("8"), "an answer for Bob")
            assert (await kernel.sessions.get(ADA)).owner == Owner(user="ada")
            assert (await kernel.sessions.get(BOB)).owner == Owner(user=BOB)
            seen = {asked.text: [message.content for message in asked.history] for asked in agent.asked}
            assert seen["Who am I?"] == ["I am Ada.", "ok"]
            assert seen["And who am I?"] == []


async def test_a_pairing_holds_when_the_settings_let_the_person_in_too(
    api: BotApi, database_url: str
) -> None:
    async with Telegram(TOKEN, url=api.url, door=Door(allow=frozenset({"7"}))) as telegram:  # noqa: SIM117
        async with Kernel(database_url, agent=ScriptedAgent(), channels=[telegram]) as kernel:
            await kernel.guests.bind("telegram", "7", user="ada")
            async with served(kernel):
                await api.write("Hello", sender=7)
                await api.write("Hello", sender=9)
                await eventually(lambda: api.shown("7"), "an answer")
            assert [session.owner.user for session in await kernel.sessions.list()] == ["ada"]
