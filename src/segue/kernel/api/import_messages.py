"""Import of messages: stores a conversation that was held elsewhere, once, in batches that can be resumed.

What is stored already is recognised by role, text and time, in the order of the conversation. So a repeated
import adds nothing, one that was cut off goes on where it ended, and a longer version of the same
conversation adds what is new.

Invariants
  - a batch is written only if the log is still the one that was compared
  - only what users and assistants said is imported: a file cannot bring instructions for the system
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from segue.errors import BadSetting, ChangedMeanwhile, NotFound
from segue.kernel.api.context import ApiContext
from segue.model.records import Asker, Event, Session
from segue.model.written_message import GivenMessage, WrittenMessage, written_message
from segue.record import record

AT_ONCE = 100
IMPORTED_ROLES = ("user", "assistant")
_PAGE = 500
_MOST_TRIES = 50

Write: TypeAlias = Callable[[Sequence[GivenMessage], int], Awaitable[int]]
"""Stores messages if the newest event of the log has this number, else raises `ChangedMeanwhile`. Returns the
number of the last message."""


@record
class ImportedMessages:
    added: int
    present: int
    """How many were there before."""


class MessageImport:
    """One conversation on its way into a session's log."""

    def __init__(
        self, context: ApiContext, key: str, messages: Sequence[GivenMessage], owner: Asker, write: Write
    ) -> None:
        now = context.clock.ms()
        self._context = context
        self._key = key
        self._owner = owner
        self._given = messages
        self._wanted = [_checked(each, now) for each in messages]
        self._write = write
        self._done = 0
        self._compared_seq = 0

    async def run(self, progress: Callable[[int], object] | None = None) -> ImportedMessages:
        await self._compare()
        present = self._done
        tries = 0
        while self._done < len(self._given):
            batch = self._given[self._done : self._done + AT_ONCE]
            try:
                self._compared_seq = await self._write(batch, self._compared_seq)
                self._done += len(batch)
            except ChangedMeanwhile:
                tries += 1
                if tries == _MOST_TRIES:
                    raise
                await self._compare()
            if progress is not None:
                progress(self._done)
        return ImportedMessages(added=self._done - present, present=present)

    async def _compare(self) -> None:
        """Read what is new in the log, and count how much of the conversation it holds."""
        try:
            session: Session = await self._context.session(self._key, self._owner)
        except NotFound:
            return
        after = self._compared_seq
        while after < session.last_seq:
            page = await self._context.store.messages(session.id, after=after, limit=_PAGE)
            for event in page:
                if event.seq <= session.last_seq and self._is_next(event):
                    self._done += 1
            after = page[-1].seq if len(page) == _PAGE else session.last_seq
        self._compared_seq = session.last_seq

    def _is_next(self, event: Event) -> bool:
        if self._done == len(self._wanted) or event.turn_id is not None:
            return False
        wanted = self._wanted[self._done]
        dated = len(self._given[self._done]) == 3 and self._given[self._done][2:] != (None,)
        said = event.at if dated else wanted.at
        return (event.role, event.content, said) == (wanted.role, wanted.text, wanted.at)


def _checked(given: GivenMessage, now: int) -> WrittenMessage:
    message = written_message(*given, now=now)
    if message.role not in IMPORTED_ROLES:
        raise BadSetting(
            f"an imported message is a user's or an assistant's, got {message.role!r}; leave it out"
        )
    return message
