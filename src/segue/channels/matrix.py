"""Matrix: a user of a homeserver, spoken for with an access token.

A send carries a transaction id, by which the homeserver knows a repeat: it is idempotent, for as long as the
token is the same. While a turn goes on, its answer is shown in a message that is replaced as it grows, and
the complete answer takes that message's place. How far the channel has listened is kept in the database, so
what was written while nobody listened is heard later, once.

Invariants
  - the access token is in no error and no log
  - a batch of events is marked as heard after its messages were kept
  - nothing is shown of a turn after its answer was sent
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import aiohttp
from nio import (
    AsyncClient,
    AsyncClientConfig,
    ErrorResponse,
    InviteMemberEvent,
    MatrixRoom,
    RoomMessageText,
    RoomSendResponse,
    SyncResponse,
)

from segue.channels.drafts import Drafts
from segue.channels.markup import matrix_html
from segue.channels.splitting import split
from segue.model.channel import (
    OPEN,
    Arrival,
    Capabilities,
    Channel,
    Door,
    Markdown,
    NotTaken,
    Receipt,
    Reception,
    Rejected,
    Unreachable,
)
from segue.model.records import Delivery
from segue.times.clock import Clock, SystemClock

_log = logging.getLogger(__name__)

NAME = "matrix"
LONGEST = 10_000
"""An event holds 65,536 bytes; this fits in three-byte letters, twice, with room for its marks."""
_FALLBACK = 500
"""Characters for clients that do not know replacements: the whole would not fit a second time."""
_LEAST_PAUSE_MS = 2000
"""Between two changes of what is shown. Homeservers commonly take ten events at once, then one in 5 s."""
_SYNC_MS = 30_000
_BREATH_MS = 2000
_PRIVATE_MEMBERS = 2


class Matrix(Channel):
    name = NAME

    def __init__(
        self, homeserver: str, user: str, token: str, *, door: Door = OPEN, clock: Clock | None = None
    ) -> None:
        self.door = door
        self._clock = clock or SystemClock()
        # It repeats nothing by itself: when and whether to try again is the courier's to say.
        config = AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, request_timeout=60)
        self._client = AsyncClient(homeserver, user, config=config)
        self._client.restore_login(user, "segue", token)
        self._drafts: Drafts[str] = Drafts()

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(idempotent=True, edits=True, longest=LONGEST, markdown=Markdown.HTML, groups=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    # Out

    async def send(self, delivery: Delivery) -> Receipt:
        first, *others = split(delivery.content, LONGEST)
        event_id = await self._begin(delivery, first)
        for number, part in enumerate(others, 2):
            event_id = await self._say(delivery.chat_id, part, f"{delivery.id}-{number}")
        return Receipt(event_id)

    async def _begin(self, delivery: Delivery, text: str) -> str:
        """In place of the draft, if there is one. A repeat is known by its id, whichever of both it was."""
        transaction = f"{delivery.id}-1"
        draft_id = await self._drafts.end(delivery.turn_id)
        if draft_id is not None:
            try:
                await self._say(delivery.chat_id, text, transaction, replaces=draft_id)
                return draft_id
            except Rejected as refusal:
                _log.info("an answer does not take the place of what was shown of it: %s", refusal)
        return await self._say(delivery.chat_id, text, transaction)

    async def show(
        self, chat_id: str, turn_id: str, text: str, *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Each change waits for as long as there was something to see: a long answer needs only a few."""
        async with self._drafts.drawing:
            draft, now = self._drafts.of(turn_id), self._clock.ms()
            if draft.over or now < draft.again_at or not text.strip():
                return
            draft.began_at = now if draft.began_at is None else draft.began_at
            draft.again_at = now + max(_LEAST_PAUSE_MS, now - draft.began_at)
            shown = f"{split(text, LONGEST)[0]} …"
            try:
                if draft.message_id is None:
                    draft.message_id = await self._say(chat_id, shown, f"draft-{turn_id}")
                else:
                    await self._say(chat_id, shown, replaces=draft.message_id)
            except (NotTaken, ConnectionError) as error:
                _log.info("an answer is not shown while it is being said: %s", error)

    async def _say(
        self, room_id: str, text: str, transaction: str | None = None, *, replaces: str | None = None
    ) -> str:
        said = {
            "msgtype": "m.text",
            "body": text,
            "format": "org.matrix.custom.html",
            "formatted_body": await asyncio.to_thread(matrix_html, text),  # hostile Markdown takes a while
        }
        content = said if replaces is None else _replacement(said, replaces)
        try:
            answer = await self._client.room_send(room_id, "m.room.message", content, tx_id=transaction)
        except aiohttp.ClientConnectorError:
            raise Unreachable("the homeserver cannot be reached") from None
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ConnectionError(
                f"the connection to the homeserver broke ({type(error).__name__})"
            ) from None
        if isinstance(answer, RoomSendResponse):
            event_id: str = answer.event_id
            return event_id
        raise _meaning(answer)

    # In

    async def receive(self, take: Reception) -> None:
        since = await take.mark()
        if since is None:  # what was written before we came is not for us
            since = await self._first_mark(take)
        _log.info("listening to the homeserver")
        while True:
            batch = await self._sync(since)
            if batch is None:
                continue
            for room_id, inviter in _invitations(batch):
                if await take.welcomes(inviter):
                    await self._client.join(room_id)
            for arrival in self._arrivals(batch):
                if answer := await take.take(arrival):
                    await self._answer(arrival.chat_id, answer)
            if batch.next_batch != since:
                since = batch.next_batch
                if batch.rooms.join or batch.rooms.invite:
                    await take.set_mark(since)

    async def _first_mark(self, take: Reception) -> str:
        while (batch := await self._sync(None)) is None:
            pass
        for room_id, inviter in _invitations(batch):
            if await take.welcomes(inviter):
                await self._client.join(room_id)
        mark: str = batch.next_batch
        await take.set_mark(mark)
        return mark

    async def _sync(self, since: str | None) -> SyncResponse | None:
        """What is new, when something is; None after a failure, and a breath."""
        timeout = 0 if since is None else _SYNC_MS
        try:
            answer = await self._client.sync(timeout=timeout, since=since, full_state=since is None)
        except (aiohttp.ClientError, TimeoutError) as error:
            _log.warning("the homeserver cannot be heard (%s)", type(error).__name__)
        else:
            if isinstance(answer, SyncResponse):
                return answer
            _log.warning("the homeserver does not let us listen: %s", answer.message)
        await self._clock.wait(asyncio.Event(), self._clock.ms() + _BREATH_MS)
        return None

    def _arrivals(self, batch: SyncResponse) -> Iterator[Arrival]:
        for room_id, joined in batch.rooms.join.items():
            room: MatrixRoom | None = self._client.rooms.get(room_id)
            members = room.joined_count if room else _PRIVATE_MEMBERS
            for event in joined.timeline.events:
                if not isinstance(event, RoomMessageText) or event.sender == self._client.user_id:
                    continue
                if _is_edit(event.source):
                    continue
                yield Arrival(
                    chat_id=room_id,
                    text=event.body,
                    id=event.event_id,
                    chat_type="private" if members <= _PRIVATE_MEMBERS else "group",
                    title=room.name if room and members > _PRIVATE_MEMBERS else None,
                    sender=event.sender,
                    sender_name=room.user_name(event.sender) if room else None,
                )

    async def _answer(self, room_id: str, words: str) -> None:
        try:
            await self._say(room_id, words)
        except (NotTaken, ConnectionError) as error:
            _log.info("somebody unknown was not answered: %s", error)


def _invitations(batch: SyncResponse) -> Iterator[tuple[str, str]]:
    for room_id, invited in batch.rooms.invite.items():
        for event in invited.invite_state:
            if isinstance(event, InviteMemberEvent) and event.membership == "invite":
                yield room_id, event.sender


def _replacement(said: dict[str, str], event_id: str) -> dict[str, object]:
    return {
        "msgtype": said["msgtype"],
        "body": f"* {said['body'][:_FALLBACK]}",
        "m.new_content": said,
        "m.relates_to": {"rel_type": "m.replace", "event_id": event_id},
    }


def _is_edit(source: Mapping[str, Any]) -> bool:
    relation = source.get("content", {}).get("m.relates_to") or {}
    return relation.get("rel_type") == "m.replace"


def _meaning(answer: ErrorResponse) -> Exception:
    match answer.status_code:
        case "M_LIMIT_EXCEEDED":
            return NotTaken(
                "the homeserver asks for a pause", retry_after=(answer.retry_after_ms or 1000) / 1000
            )
        case "M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN":
            return Unreachable("the homeserver does not know the token")
        case "M_FORBIDDEN" | "M_NOT_FOUND" | "M_TOO_LARGE" | "M_BAD_JSON":
            return Rejected(f"the homeserver refused it: {answer.message}")
        case _:
            return ConnectionError(f"the homeserver answered {answer.status_code or answer.message}")
