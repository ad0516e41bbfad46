"""Telegram: a bot by its HTTP API, heard by long polling or by webhook.

Its sends are not idempotent. A message that Telegram may have taken is never repeated; one that it refused,
or never got, is. While a turn goes on, its answer is shown in a message that is edited as it grows, and the
complete answer takes that message's place.

Invariants
  - the token is in no error and no log: errors say what happened in words of their own
  - an update is confirmed after it was kept, so a crash makes it come again and not go missing
  - nothing is shown of a turn after its answer was sent
"""

import asyncio
import hmac
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import httpx2

from segue.channels.drafts import Drafts
from segue.channels.markup import telegram_html
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
from segue.record import record
from segue.times.clock import Clock, SystemClock

_log = logging.getLogger(__name__)

NAME = "telegram"
LONGEST = 4000
"""Telegram's 4,096, less what bullets and breaks may add."""
TOPIC = "message_thread_id"
"""Telegram's name for a topic, in a session's metadata and on the wire."""
_POLL_SECONDS = 50
_MOST_PATIENCE = 30
"""Seconds that a part of a message waits when Telegram asks for a pause after an earlier part was taken."""
_BREATH_MS = 2000
_TOKEN_PAUSE_MS = 300_000
"""Between two tries with a token that was refused: the right one needs a new start of the process anyway."""
_TOKEN_REFUSED = (401, 404)


@record
class Webhook:
    """Where Telegram calls us, and the word by which we know that it is Telegram."""

    url: str
    secret: str


class _Refused(Exception):
    """What the API answered when it did not do it."""

    def __init__(self, status: int, description: str, retry_after: float | None) -> None:
        super().__init__(description)
        self.status = status
        self.retry_after = retry_after


class WrongToken(Unreachable):
    """Telegram knows no bot by this token."""

    def __init__(self) -> None:
        super().__init__(
            "Telegram refuses the token; set SEGUE_TELEGRAM_TOKEN, or telegram.token in the file, to the one "
            "that @BotFather shows for this bot"
        )


class Telegram(Channel):
    name = NAME

    def __init__(
        self,
        token: str,
        *,
        url: str = "https://api.telegram.org",
        webhook: Webhook | None = None,
        door: Door = OPEN,
        clock: Clock | None = None,
    ) -> None:
        self._base = f"{url.rstrip('/')}/bot{token}"
        self.door = door
        self._webhook = webhook
        self._clock = clock or SystemClock()
        self._client = httpx2.AsyncClient(timeout=httpx2.Timeout(30, read=_POLL_SECONDS + 20))
        self._drafts: Drafts[int] = Drafts()
        self._take: Reception | None = None
        self._token_refused = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(edits=True, longest=LONGEST, markdown=Markdown.HTML, groups=True, per_second=25)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    # Out

    async def send(self, delivery: Delivery) -> Receipt:
        first, *others = split(delivery.content, LONGEST)
        try:
            message_id = await self._begin(delivery, first)
        except _Refused as refusal:
            raise _meaning(refusal) from None
        for number, part in enumerate(others, 2):
            try:
                message_id = await self._patiently(delivery.chat_id, part, delivery.metadata)
            except (NotTaken, _Refused) as refusal:
                raise ConnectionError(f"parts from {number} on were not taken: {refusal}") from None
        return Receipt(str(message_id))

    async def _begin(self, delivery: Delivery, text: str) -> int:
        """In place of the draft, if there is one: an edit says the same however often it is made."""
        draft_id = await self._drafts.end(delivery.turn_id)
        if draft_id is not None:
            try:
                await self._write("editMessageText", text, chat_id=delivery.chat_id, message_id=draft_id)
                return draft_id
            except _Refused as refusal:
                if "not modified" in str(refusal):
                    return draft_id
                if refusal.status != 400:
                    raise
        return await self._say(delivery.chat_id, text, delivery.metadata)

    async def show(
        self, chat_id: str, turn_id: str, text: str, *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        async with self._drafts.drawing:
            draft = self._drafts.of(turn_id)
            if draft.over:
                return
            shown = split(text, LONGEST)[0] if text.strip() else ""
            if not shown:
                return
            try:
                if draft.message_id is None:
                    draft.message_id = await self._say(chat_id, f"{shown} …", metadata or {})
                else:
                    await self._write(
                        "editMessageText", f"{shown} …", chat_id=chat_id, message_id=draft.message_id
                    )
            except (_Refused, NotTaken, ConnectionError) as error:
                _log.info("an answer is not shown while it is being said: %s", error)

    async def _patiently(self, chat_id: str, text: str, metadata: Mapping[str, Any]) -> int:
        try:
            return await self._say(chat_id, text, metadata)
        except _Refused as refusal:
            if refusal.retry_after is None or refusal.retry_after > _MOST_PATIENCE:
                raise
            pause_ms = round(refusal.retry_after * 1000)
            await self._clock.wait(asyncio.Event(), self._clock.ms() + pause_ms)
            return await self._say(chat_id, text, metadata)

    async def _say(self, chat_id: str, text: str, metadata: Mapping[str, Any]) -> int:
        sent = await self._write("sendMessage", text, chat_id=chat_id, **_topic(metadata))
        message_id: int = sent["message_id"]
        return message_id

    async def _write(self, method: str, text: str, **where: Any) -> Any:
        html = await asyncio.to_thread(telegram_html, text)  # hostile Markdown takes a while
        try:
            return await self._call(method, text=html or text, parse_mode="HTML", **where)
        except _Refused as refusal:
            if "parse entities" not in str(refusal):
                raise
            return await self._call(method, text=text, **where)  # it was not taken, and reads well as it is

    # In

    async def receive(self, take: Reception) -> None:
        self._take = take
        if self._webhook is not None:
            await self._insist("setWebhook", url=self._webhook.url, secret_token=self._webhook.secret)
            _log.info("Telegram calls us")
            return
        await self._insist("deleteWebhook")
        _log.info("listening to Telegram")
        offset = 0
        while True:
            updates = await self._insist(
                "getUpdates", offset=offset, timeout=_POLL_SECONDS, allowed_updates=["message"]
            )
            for update in updates:
                await self.arrived(update)
                offset = update["update_id"] + 1

    async def who(self) -> str:
        """The bot's name. Raises `WrongToken`, another `NotTaken`, or `ConnectionError`."""
        try:
            bot = await self._call("getMe")
        except _Refused as refusal:
            raise _meaning(refusal) from None
        return f"@{bot.get('username')}"

    async def _insist(self, method: str, **arguments: Any) -> Any:
        """What Telegram answers, after as many tries as it takes."""
        while True:
            try:
                result = await self._call(method, **arguments)
            except (_Refused, NotTaken, ConnectionError) as error:
                await self._clock.wait(asyncio.Event(), self._clock.ms() + self._pause_after(error))
            else:
                self._token_refused = False
                return result

    def _pause_after(self, error: Exception) -> int:
        """Says once that the token is wrong; whatever else is wrong, it says each time."""
        if isinstance(error, _Refused) and error.status in _TOKEN_REFUSED:
            if not self._token_refused:
                _log.error("%s; until then nothing arrives from there", WrongToken())
            self._token_refused = True
            return _TOKEN_PAUSE_MS
        _log.warning("Telegram cannot be listened to: %s", error)
        if isinstance(error, _Refused) and error.retry_after is not None:
            return round(error.retry_after * 1000)
        return _BREATH_MS

    def knows(self, secret: str) -> bool:
        """Whether a call that brings this word comes from Telegram."""
        return self._webhook is not None and hmac.compare_digest(
            secret.encode("utf-8", "surrogatepass"), self._webhook.secret.encode()
        )

    async def arrived(self, update: Mapping[str, Any]) -> bool:
        """Kept, or nothing for us. False: nobody here listens yet."""
        if self._take is None:
            return False
        arrival = _arrival(update)
        if arrival is not None and (answer := await self._take.take(arrival)):
            try:
                await self._say(arrival.chat_id, answer, arrival.metadata)
            except (_Refused, NotTaken, ConnectionError) as error:
                _log.info("somebody unknown was not answered: %s", error)
        return True

    # The wire

    async def _call(self, method: str, **arguments: Any) -> Any:
        try:
            response = await self._client.post(f"{self._base}/{method}", json=arguments)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            raise Unreachable("Telegram cannot be reached") from None
        except httpx2.HTTPError as error:
            raise ConnectionError(f"the connection to Telegram broke ({type(error).__name__})") from None
        return _result(response)


def _result(response: httpx2.Response) -> Any:
    try:
        answer = response.json()
    except ValueError:
        raise ConnectionError(f"Telegram answered {response.status_code} without a word") from None
    if answer.get("ok") is True:
        return answer["result"]
    if response.status_code >= 500:
        raise ConnectionError(f"Telegram answered {response.status_code}")
    retry_after = answer.get("parameters", {}).get("retry_after")
    raise _Refused(response.status_code, str(answer.get("description", "no reason given")), retry_after)


def _meaning(refusal: _Refused) -> NotTaken:
    if refusal.status == 429:
        return NotTaken("Telegram asks for a pause", retry_after=refusal.retry_after or 1)
    if refusal.status in _TOKEN_REFUSED:
        return WrongToken()
    return Rejected(f"Telegram refused it: {refusal}")


def _arrival(update: Mapping[str, Any]) -> Arrival | None:
    """None if it is nothing for us, or not the shape that Telegram documents."""
    message = update.get("message")
    if not isinstance(message, Mapping) or not isinstance(message.get("text"), str):
        return None
    chat, sender = message.get("chat"), message.get("from") or {}
    if not isinstance(chat, Mapping) or not isinstance(sender, Mapping) or sender.get("is_bot"):
        return None
    if not _is_id(chat.get("id")) or not _is_id(update.get("update_id")):
        return None
    return Arrival(
        chat_id=str(chat["id"]),
        text=message["text"],
        id=str(update["update_id"]),
        chat_type="private" if chat.get("type") == "private" else "group",
        title=_words(chat.get("title")),
        sender=str(sender.get("id", "")),
        sender_name=_words(sender.get("username")) or _words(sender.get("first_name")),
        metadata=_place(chat, message),
    )


def _place(chat: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """The topic of a chat that has topics. Other chats number threads of replies, which take no messages."""
    if message.get("is_topic_message"):
        return {TOPIC: message.get(TOPIC)}
    return {TOPIC: None} if chat.get("is_forum") else {}


def _topic(metadata: Mapping[str, Any]) -> dict[str, int]:
    topic = metadata.get(TOPIC)
    if isinstance(topic, str) and topic.isdecimal():
        topic = int(topic)
    return {TOPIC: topic} if isinstance(topic, int) and not isinstance(topic, bool) else {}


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _words(value: object) -> str | None:
    return value if isinstance(value, str) else None
