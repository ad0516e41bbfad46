"""Matrix channel: sends and receives as a user of a homeserver, with an access token.

Sends are idempotent: the homeserver recognises a repeat by its transaction id while the token stays the same.
During a turn, a draft message shows the growing answer, and the complete answer replaces it. The sync token
is stored in the database, so messages that were written while no process listened are received later, once.

Invariants
  - the access token is in no error and no log
  - the sync token is stored after the messages of its batch
  - no draft is shown after the turn's answer was sent
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
    InviteMemberEvent,
    MatrixRoom,
    RoomMessage,
    RoomMessageText,
    RoomSendResponse,
    SyncResponse,
)

from segue.channels.drafts import Drafts
from segue.channels.markup import matrix_html
from segue.channels.matrix_media import MatrixMedia, caption_of, connection_error, to_send_error
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
)
from segue.model.records import Delivery
from segue.times.clock import Clock, SystemClock

_log = logging.getLogger(__name__)

NAME = "matrix"
LONGEST = 10_000
"""An event holds 65,536 bytes: this many three-byte characters fit twice, with their markup."""
_FALLBACK = 500
"""Characters shown by clients that do not support edits: the whole text would not fit a second time."""
_LEAST_PAUSE_MS = 2000
"""Between two edits of a draft. Homeservers commonly accept ten events at once, then one in 5 s."""
_SYNC_MS = 30_000
_RETRY_MS = 2000
_PRIVATE_MEMBERS = 2


class Matrix(Channel):
    name = NAME

    def __init__(
        self, homeserver: str, user: str, token: str, *, door: Door = OPEN, clock: Clock | None = None
    ) -> None:
        self.door = door
        self._clock = clock or SystemClock()
        # The client does not retry: the courier decides that.
        config = AsyncClientConfig(max_limit_exceeded=0, max_timeouts=0, request_timeout=60)
        self._client = AsyncClient(homeserver, user, config=config)
        self._client.restore_login(user, "segue", token)
        self._drafts: Drafts[str] = Drafts()
        self._media = MatrixMedia(self._client)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            idempotent=True, edits=True, longest=LONGEST, markdown=Markdown.HTML, groups=True, files=True
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    # Sending

    async def send(self, delivery: Delivery) -> Receipt:
        ids = []
        if delivery.words or not delivery.parts:
            first, *others = split(delivery.content, LONGEST)
            ids.append(await self._send_first(delivery, first))
            for number, part in enumerate(others, 2):
                ids.append(await self._send_text(delivery.chat_id, part, f"{delivery.id}-{number}"))
        for number, file in enumerate(delivery.parts, 1):
            content = await self._media.upload(file, delivery.contents[file.id])
            ids.append(await self._send(delivery.chat_id, content, f"{delivery.id}-file-{number}"))
        return Receipt(ids[-1], tuple(ids))

    async def _send_first(self, delivery: Delivery, text: str) -> str:
        """Replace the draft if there is one, else send. A repeat has the same transaction id either way."""
        transaction = f"{delivery.id}-1"
        draft_id = await self._drafts.end(delivery.turn_id)
        if draft_id is not None:
            try:
                await self._send_text(delivery.chat_id, text, transaction, replaces=draft_id)
                return draft_id
            except Rejected as refusal:
                _log.info("draft not replaced, sending a new message: %s", refusal)
        return await self._send_text(delivery.chat_id, text, transaction)

    async def show(
        self, chat_id: str, turn_id: str, text: str, *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Show a draft. The pause between edits grows with its age, so a long answer needs only a few."""
        async with self._drafts.lock:
            draft, now = self._drafts.of(turn_id), self._clock.ms()
            if draft.answered or now < draft.next_edit_at or not text.strip():
                return
            draft.began_at = now if draft.began_at is None else draft.began_at
            draft.next_edit_at = now + max(_LEAST_PAUSE_MS, now - draft.began_at)
            shown = f"{split(text, LONGEST)[0]} …"
            try:
                if draft.message_id is None:
                    draft.message_id = await self._send_text(chat_id, shown, f"draft-{turn_id}")
                else:
                    await self._send_text(chat_id, shown, replaces=draft.message_id)
            except (NotTaken, ConnectionError) as error:
                _log.info("draft not shown: %s", error)

    async def _send_text(
        self, room_id: str, text: str, transaction: str | None = None, *, replaces: str | None = None
    ) -> str:
        message = {
            "msgtype": "m.text",
            "body": text,
            "format": "org.matrix.custom.html",
            "formatted_body": await asyncio.to_thread(matrix_html, text),  # hostile Markdown takes a while
        }
        content = message if replaces is None else _replacement(message, replaces)
        return await self._send(room_id, content, transaction)

    async def _send(self, room_id: str, content: Mapping[str, Any], transaction: str | None) -> str:
        try:
            answer = await self._client.room_send(room_id, "m.room.message", content, tx_id=transaction)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise connection_error(error) from None
        if isinstance(answer, RoomSendResponse):
            event_id: str = answer.event_id
            return event_id
        raise to_send_error(answer)

    # Receiving

    async def receive(self, take: Reception) -> None:
        since = await take.mark()
        if since is None:  # messages from before the first start are not answered
            since = await self._first_sync(take)
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

    async def _first_sync(self, take: Reception) -> str:
        while (batch := await self._sync(None)) is None:
            pass
        for room_id, inviter in _invitations(batch):
            if await take.welcomes(inviter):
                await self._client.join(room_id)
        mark: str = batch.next_batch
        await take.set_mark(mark)
        return mark

    async def _sync(self, since: str | None) -> SyncResponse | None:
        """Return the next batch of events; None after an error and a pause."""
        timeout = 0 if since is None else _SYNC_MS
        try:
            answer = await self._client.sync(timeout=timeout, since=since, full_state=since is None)
        except (aiohttp.ClientError, TimeoutError) as error:
            _log.warning("homeserver sync failed, retrying: %s", type(error).__name__)
        else:
            if isinstance(answer, SyncResponse):
                return answer
            _log.warning("homeserver sync refused, retrying: %s", answer.message)
        await self._clock.wait(asyncio.Event(), self._clock.ms() + _RETRY_MS)
        return None

    def _arrivals(self, batch: SyncResponse) -> Iterator[Arrival]:
        for room_id, joined in batch.rooms.join.items():
            room: MatrixRoom | None = self._client.rooms.get(room_id)
            members = room.joined_count if room else _PRIVATE_MEMBERS
            for event in joined.timeline.events:
                is_text = isinstance(event, RoomMessageText)
                files = () if is_text else self._media.files_in(event)
                if not (is_text or files) or event.sender == self._client.user_id or _is_edit(event.source):
                    continue
                quoted = _quoted_id(event.source)
                yield Arrival(
                    chat_id=room_id,
                    text=_words(event, quoted),
                    files=files,
                    reply_to=quoted,
                    id=event.event_id,
                    chat_type="private" if members <= _PRIVATE_MEMBERS else "group",
                    title=room.name if room and members > _PRIVATE_MEMBERS else None,
                    sender=event.sender,
                    sender_name=room.user_name(event.sender) if room else None,
                )

    async def _answer(self, room_id: str, text: str) -> None:
        try:
            await self._send_text(room_id, text)
        except (NotTaken, ConnectionError) as error:
            _log.info("sender not answered: %s", error)


def _invitations(batch: SyncResponse) -> Iterator[tuple[str, str]]:
    for room_id, invited in batch.rooms.invite.items():
        for event in invited.invite_state:
            if isinstance(event, InviteMemberEvent) and event.membership == "invite":
                yield room_id, event.sender


def _words(event: RoomMessage, quoted: str | None) -> str:
    """The text of a message without what it quotes, or the caption of its file."""
    if not isinstance(event, RoomMessageText):
        return caption_of(event)
    return event.body if quoted is None else _without_quote(event.body)


def _quoted_id(event: Mapping[str, Any]) -> str | None:
    """The id of the event that a message replies to."""
    relation: Any = event.get("content", {}).get("m.relates_to")
    quoted = relation.get("m.in_reply_to") if isinstance(relation, Mapping) else None
    event_id = quoted.get("event_id") if isinstance(quoted, Mapping) else None
    return event_id if isinstance(event_id, str) else None


def _without_quote(body: str) -> str:
    """The text without the quoted lines that some clients put before a reply."""
    lines = body.split("\n")
    kept = next((number for number, line in enumerate(lines) if not line.startswith("> ")), len(lines))
    return "\n".join(lines[kept:]).strip() or body


def _replacement(message: dict[str, str], event_id: str) -> dict[str, object]:
    return {
        "msgtype": message["msgtype"],
        "body": f"* {message['body'][:_FALLBACK]}",
        "m.new_content": message,
        "m.relates_to": {"rel_type": "m.replace", "event_id": event_id},
    }


def _is_edit(source: Mapping[str, Any]) -> bool:
    relation = source.get("content", {}).get("m.relates_to") or {}
    return relation.get("rel_type") == "m.replace"
