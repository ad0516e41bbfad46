"""The hub: every listener gets each event, and a slow listener does not delay the others."""

from segue.kernel.live.hub import MOST_WAITING, Hub, Lagged, LiveText
from segue.model.records import Event


def _event(seq: int, session: str = "s") -> Event:
    return Event(session_id=session, seq=seq, type="message", at=0)


async def test_only_the_listeners_of_a_session_get_its_events() -> None:
    hub = Hub()
    with hub.listen("s") as one, hub.listen("s") as two, hub.listen("t") as other:
        hub.publish([_event(1), _event(2)])
        hub.publish([_event(9, "t")])
        assert [await one.next(), await one.next()] == [_event(1), _event(2)]
        assert [await two.next(), await two.next()] == [_event(1), _event(2)]
        assert await other.next() == _event(9, "t")


async def test_live_text_also_goes_to_the_session_that_its_turn_came_through() -> None:
    hub = Hub()
    with hub.listen("unified") as runs_in, hub.listen("chat") as came_by:
        text = LiveText(
            session_id="unified",
            via_id="chat",
            turn_id="t",
            attempt=1,
            type="stream_delta",
            seq=3,
            offset=0,
            text="x",
        )
        hub.live(text)
        assert await runs_in.next() == await came_by.next() == text


async def test_a_listener_that_is_too_slow_is_told_so_and_gets_later_events() -> None:
    hub = Hub()
    with hub.listen("s") as listener:
        hub.publish(_event(seq) for seq in range(MOST_WAITING + 1))
        hub.publish([_event(MOST_WAITING + 1)])
        assert await listener.next() == Lagged()
        assert await listener.next() == _event(MOST_WAITING + 1)


async def test_a_look_again_reaches_every_listener() -> None:
    hub = Hub()
    with hub.listen("s") as one, hub.listen("t") as two:
        hub.look_again()
        assert await one.next() == await two.next() == Lagged(look=1)
        hub.look_again()
        assert await one.next() == await two.next() == Lagged(look=2)


async def test_live_text_goes_to_its_session() -> None:
    hub = Hub()
    text = LiveText(session_id="s", turn_id="t", attempt=1, type="stream_delta", seq=3, offset=7, text="en")
    with hub.listen("s") as listener:
        hub.live(text)
        assert await listener.next() == text


def test_without_listeners_nothing_is_kept() -> None:
    hub = Hub()
    with hub.listen("s"):
        pass
    hub.publish([_event(1)])
    hub.look_again()
    assert not hub._listeners
