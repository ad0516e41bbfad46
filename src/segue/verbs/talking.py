"""Talking: a user's words in, a turn's end out, and how to stop one in between."""

from segue import lane, sessions
from segue.bell import Name
from segue.errors import BadSetting
from segue.lane import Admission, Admitted, Left
from segue.model import Owner, Turn
from segue.states import TurnState, WhenBusy
from segue.text import check_key, check_text
from segue.transcript import Message, message_of
from segue.verbs.looking import ME, Looking

_OVER = (TurnState.DONE, TurnState.FAILED, TurnState.CANCELLED)


class Talking(Looking):
    async def receive(
        self, key: str, text: str, *, owner: Owner = ME, when_busy: WhenBusy | str | None = None
    ) -> Admitted:
        """A user's message: it will be a turn of its session."""
        check_key(key)
        check_text(text, "a message")
        now = self.clock.ms()
        words = Admission(
            turn_id=self.ids(now),
            content=text,
            rank=now,
            not_before=now,
            timeout_ms=round(self.settings.turn_timeout_seconds * 1000),
        )
        if when_busy is not None and when_busy not in list(WhenBusy):
            raise BadSetting(f"when_busy is one of {', '.join(WhenBusy)}, got {when_busy!r}")
        admitted = await self.store.commit(
            lane.receive,
            owner,
            key,
            words,
            now,
            new_id=self.ids(now),
            when_busy=None if when_busy is None else WhenBusy(when_busy),
            default=self.settings.when_busy,
        )
        self.hub.publish(admitted.events)
        self.bell.ring(Name.USER, Name.TIMER, Name.KEEPER)
        return admitted

    async def wait(self, turn_id: str) -> Turn:
        """The turn, when it has ended. One that joined another ends with its host."""
        turn = await self.store.turn(turn_id)
        with self.hub.listen(turn.session_id) as listener:
            while True:
                turn = await self.store.turn(turn_id)
                if turn.joined_into is not None:
                    turn_id = turn.joined_into
                elif turn.state in _OVER:
                    return turn
                else:
                    await listener.next()

    async def write(self, key: str, role: str, text: str, *, owner: Owner = ME) -> Message:
        """Store a message without running the agent."""
        check_key(key)
        check_text(text, "a message")
        if role not in ("user", "assistant", "system"):
            raise BadSetting(f"a role is user, assistant or system, got {role!r}")
        now = self.clock.ms()
        events = await self.store.commit(sessions.write, owner, key, role, text, now, new_id=self.ids(now))
        self.hub.publish(events)
        self.bell.ring(Name.TIMER)
        message = message_of(events[0])
        assert message is not None  # it was written as one
        return message

    async def stop(self, key: str, *, owner: Owner = ME) -> str | None:
        """Ask the running turn to stop; its id, or None when nothing runs."""
        session = await self.session(key, owner=owner)
        stopped = await self.store.commit(lane.stop, session.id)
        self.bell.ring(Name.KEEPER)
        return stopped

    async def cancel(self, turn_id: str) -> None:
        """Take a turn that waits out of its lane."""
        now = self.clock.ms()
        self._left(await self.store.commit(lane.cancel, turn_id, "cancelled by request", now))

    def _left(self, left: Left) -> None:
        self.hub.publish(left.events)
        self.bell.ring(Name.USER, Name.SCHEDULE)
