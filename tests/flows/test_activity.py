"""Activity: sessions are listed by what last happened in them, by a user or a schedule."""

from datetime import timedelta

from segue import Ask, At, Kernel, Say
from segue.testing import ManualClock, quiet

CHATS = ("web:1", "web:2", "web:3")


async def talk(kernel: Kernel, clock: ManualClock) -> None:
    for key in CHATS:
        await kernel.receive(key, "hello")
        await quiet(kernel)
        clock.advance(minutes=1)


async def listed(kernel: Kernel) -> list[str]:
    return [session.key for session in await kernel.sessions.list()]


async def test_a_scheduled_message_makes_its_chat_rise(kernel: Kernel, clock: ManualClock) -> None:
    await talk(kernel, clock)
    assert await listed(kernel) == ["web:3", "web:2", "web:1"]
    heard = (await kernel.sessions.get("web:1")).last_message_at
    await kernel.schedule("web:1", At(clock.now() + timedelta(minutes=1)), Say("The tea is ready."))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await listed(kernel) == ["web:1", "web:3", "web:2"]
    overview = await kernel.sessions.overview("web:1")
    assert overview.last_activity_at == clock.ms()
    assert overview.session.last_message_at == heard  # the idle clock


async def test_the_end_of_a_scheduled_turn_makes_its_chat_rise(kernel: Kernel, clock: ManualClock) -> None:
    await talk(kernel, clock)
    await kernel.schedule("web:2", At(clock.now() + timedelta(minutes=1)), Ask("Look around"))
    clock.advance(minutes=1)
    await quiet(kernel)
    assert await listed(kernel) == ["web:2", "web:3", "web:1"]


async def test_a_stored_message_makes_its_chat_rise(kernel: Kernel, clock: ManualClock) -> None:
    await talk(kernel, clock)
    await kernel.log.write("web:1", "assistant", "By the way")
    assert await listed(kernel) == ["web:1", "web:3", "web:2"]


async def test_pages_of_the_list_follow_the_same_order(kernel: Kernel, clock: ManualClock) -> None:
    """Also of sessions that were active in the same moment."""
    for number in range(9):
        await kernel.sessions.open(f"web:{number}")
        clock.advance(minutes=number % 2)
    await kernel.schedule("web:4", At(clock.now() + timedelta(minutes=1)), Say("Hello"))
    clock.advance(minutes=1)
    await quiet(kernel)
    page = await kernel.sessions.overviews(limit=2)
    seen = [*page]
    while page:
        page = await kernel.sessions.overviews(limit=2, before=page[-1].page_start)
        seen += page
    assert [each.session.key for each in seen] == await listed(kernel)
    assert len(seen) == 9
    assert [each.last_activity_at for each in seen] == sorted(
        (each.last_activity_at for each in seen), reverse=True
    )
