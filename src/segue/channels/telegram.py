"""Telegram channel: sends and receives as a bot, by long polling or by webhook.

Sends are not idempotent. A message that Telegram may have accepted is never repeated; one that it refused, or
did not receive, is. During a turn, a draft message shows the growing answer, and the complete answer replaces
it.

Invariants
  - the token is in no error and no log: errors do not quote the HTTP library's messages
  - an update is confirmed after it was stored, so after a crash it comes again and is not lost
  - no draft is shown after the turn's answer was sent
"""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias

import httpx2

from segue.channels.buttons import keyboard, tap
from segue.channels.drafts import Drafts
from segue.channels.markup import telegram_html
from segue.channels.splitting import split
from segue.channels.telegram_files import (
    AS_DOCUMENT,
    download,
    files_in,
    method_of,
    refused_as_photo,
    text_or_none,
)
from segue.model.channel import (
    OPEN,
    Arrival,
    Capabilities,
    Channel,
    Door,
    IncomingFile,
    Markdown,
    NotTaken,
    Receipt,
    Reception,
    Rejected,
    Unreachable,
)
from segue.model.files import File
from segue.model.records import Delivery
from segue.record import record
from segue.times.clock import Clock, SystemClock

_log = logging.getLogger(__name__)

NAME = "telegram"
LONGEST = 4000
"""Telegram's limit of 4,096, less what bullets and line breaks may add."""
TOPIC = "message_thread_id"
"""The key of a topic, in a session's metadata and in the Bot API."""
_POLL_SECONDS = 50
_LONGEST_PAUSE_SECONDS = 30
"""How long a later part of a message waits if Telegram asks for a pause."""
_RETRY_MS = 2000
_TOKEN_PAUSE_MS = 300_000
"""Between two attempts with a refused token: the correct one needs a restart of the process anyway."""
_TOKEN_REFUSED = (401, 404)

_Piece: TypeAlias = Callable[[], Awaitable[int]]
"""A call that sends a piece of a message, and returns the id of what was sent."""


@record
class Webhook:
    """The URL that Telegram calls, and the secret that authenticates its calls."""

    url: str
    secret: str


class _CallRefused(Exception):
    """The API refused a call; the message is its description."""

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
        reply_buttons: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self._buttons = reply_buttons
        self._base = f"{url.rstrip('/')}/bot{token}"
        self._files = f"{url.rstrip('/')}/file/bot{token}"
        self.door = door
        self._webhook = webhook
        self._clock = clock or SystemClock()
        self._client = httpx2.AsyncClient(timeout=httpx2.Timeout(30, read=_POLL_SECONDS + 20))
        self._drafts: Drafts[int] = Drafts()
        self._take: Reception | None = None
        self._token_refused = False

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            edits=True,
            longest=LONGEST,
            markdown=Markdown.HTML,
            groups=True,
            files=True,
            per_second=25,
            buttons=self._buttons,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.aclose()

    # Sending

    async def send(self, delivery: Delivery) -> Receipt:
        """Send the text, in pieces if it is long, and then each file."""
        first, *others = self._pieces(delivery)
        try:
            ids = [await first()]
        except _CallRefused as refusal:
            raise _to_not_taken(refusal) from None
        for number, piece in enumerate(others, 2):
            try:
                ids.append(await self._after_a_pause(piece))
            except (NotTaken, _CallRefused) as refusal:
                raise ConnectionError(f"parts from {number} on were not taken: {refusal}") from None
        return Receipt(str(ids[-1]), tuple(map(str, ids)))

    def _pieces(self, delivery: Delivery) -> list[_Piece]:
        """The calls that send a delivery, in order. The buttons are below the last piece of the text."""
        pieces: list[_Piece] = [partial(self._send_file, delivery, file) for file in delivery.parts]
        if delivery.parts and not delivery.words:
            return pieces
        buttons = keyboard(delivery) if self._buttons else {}
        first, *others = split(delivery.content, LONGEST)
        send = partial(self._send_text, delivery.chat_id, metadata=delivery.metadata)
        later = [
            partial(send, text, buttons=buttons if number == len(others) else {})
            for number, text in enumerate(others, 1)
        ]
        return [partial(self._send_first, delivery, first, {} if others else buttons), *later, *pieces]

    async def _send_file(self, delivery: Delivery, file: File) -> int:
        """Send a file as a photo or a document. A photo that Telegram cannot show is sent as a document."""
        method, field = method_of(file)
        try:
            return await self._upload(method, field, delivery, file)
        except _CallRefused as refusal:
            if (method, field) == AS_DOCUMENT or not refused_as_photo(refusal):
                raise
            return await self._upload(*AS_DOCUMENT, delivery, file)

    async def _upload(self, method: str, field: str, delivery: Delivery, file: File) -> int:
        where = {"chat_id": delivery.chat_id, **_topic(delivery.metadata)}
        content = {field: (file.name, delivery.contents[file.id], file.media_type)}
        message_id: int = (await self._post(method, data=where, files=content))["message_id"]
        return message_id

    async def _send_first(self, delivery: Delivery, text: str, buttons: Mapping[str, Any]) -> int:
        """Edit the draft, if there is one: an edit is idempotent. Else send a new message."""
        draft_id = await self._drafts.end(delivery.turn_id)
        if draft_id is not None:
            try:
                await self._write(
                    "editMessageText", text, chat_id=delivery.chat_id, message_id=draft_id, **buttons
                )
                return draft_id
            except _CallRefused as refusal:
                if "not modified" in str(refusal):
                    return draft_id
                if refusal.status != 400:
                    raise
        return await self._send_text(delivery.chat_id, text, delivery.metadata, buttons)

    async def show(
        self, chat_id: str, turn_id: str, text: str, *, metadata: Mapping[str, Any] | None = None
    ) -> None:
        async with self._drafts.lock:
            draft = self._drafts.of(turn_id)
            if draft.answered:
                return
            shown = split(text, LONGEST)[0] if text.strip() else ""
            if not shown:
                return
            try:
                if draft.message_id is None:
                    draft.message_id = await self._send_text(chat_id, f"{shown} …", metadata or {})
                else:
                    await self._write(
                        "editMessageText", f"{shown} …", chat_id=chat_id, message_id=draft.message_id
                    )
            except (_CallRefused, NotTaken, ConnectionError) as error:
                _log.info("draft not shown: %s", error)

    async def _after_a_pause(self, piece: _Piece) -> int:
        """Send a later piece of a message; if Telegram asks for a short pause, wait and try once more."""
        try:
            return await piece()
        except _CallRefused as refusal:
            if refusal.retry_after is None or refusal.retry_after > _LONGEST_PAUSE_SECONDS:
                raise
            pause_ms = round(refusal.retry_after * 1000)
            await self._clock.wait(asyncio.Event(), self._clock.ms() + pause_ms)
            return await piece()

    async def _send_text(
        self, chat_id: str, text: str, metadata: Mapping[str, Any], buttons: Mapping[str, Any] | None = None
    ) -> int:
        sent = await self._write("sendMessage", text, chat_id=chat_id, **_topic(metadata), **(buttons or {}))
        message_id: int = sent["message_id"]
        return message_id

    async def _write(self, method: str, text: str, **where: Any) -> Any:
        html = await asyncio.to_thread(telegram_html, text)  # hostile Markdown takes a while
        try:
            return await self._call(method, text=html or text, parse_mode="HTML", **where)
        except _CallRefused as refusal:
            if "parse entities" not in str(refusal):
                raise
            return await self._call(method, text=text, **where)  # not sent; plain Markdown is readable too

    # Receiving

    async def receive(self, take: Reception) -> None:
        self._take = take
        if self._webhook is not None:
            await self._call_until_done(
                "setWebhook", url=self._webhook.url, secret_token=self._webhook.secret
            )
            _log.info("webhook set, Telegram calls this server")
            return
        await self._call_until_done("deleteWebhook")
        _log.info("listening to Telegram")
        offset = 0
        wanted = ["message", "callback_query"] if self._buttons else ["message"]
        while True:
            updates = await self._call_until_done(
                "getUpdates", offset=offset, timeout=_POLL_SECONDS, allowed_updates=wanted
            )
            for update in updates:
                await self.arrived(update)
                offset = update["update_id"] + 1

    async def who(self) -> str:
        """Return the bot's name. Raises `WrongToken`, another `NotTaken`, or `ConnectionError`."""
        try:
            bot = await self._call("getMe")
        except _CallRefused as refusal:
            raise _to_not_taken(refusal) from None
        return f"@{bot.get('username')}"

    async def _call_until_done(self, method: str, **arguments: Any) -> Any:
        """Call the API until it succeeds; return its result."""
        while True:
            try:
                result = await self._call(method, **arguments)
            except (_CallRefused, NotTaken, ConnectionError) as error:
                await self._clock.wait(asyncio.Event(), self._clock.ms() + self._pause_after(error))
            else:
                self._token_refused = False
                return result

    def _pause_after(self, error: Exception) -> int:
        """Log the error and return the milliseconds to wait. A wrong token is logged only once."""
        if isinstance(error, _CallRefused) and error.status in _TOKEN_REFUSED:
            if not self._token_refused:
                _log.error("%s; until then no messages are received", WrongToken())
            self._token_refused = True
            return _TOKEN_PAUSE_MS
        _log.warning("Telegram call failed, retrying: %s", error)
        if isinstance(error, _CallRefused) and error.retry_after is not None:
            return round(error.retry_after * 1000)
        return _RETRY_MS

    def knows(self, secret: str) -> bool:
        """Whether this is the webhook's secret, so that the call comes from Telegram."""
        return self._webhook is not None and hmac.compare_digest(
            secret.encode("utf-8", "surrogatepass"), self._webhook.secret.encode()
        )

    async def arrived(self, update: Mapping[str, Any]) -> bool:
        """Store the message of an update, if it has one. Return False if the kernel does not listen yet."""
        if self._take is None:
            return False
        if tapped := tap(update):
            await self._answer_tap(*tapped, self._take)
            return True
        arrival = self._arrival(update)
        if arrival is not None and (answer := await self._take.take(arrival)):
            try:
                await self._send_text(arrival.chat_id, answer, arrival.metadata)
            except (_CallRefused, NotTaken, ConnectionError) as error:
                _log.info("sender not answered: %s", error)
        return True

    def _arrival(self, update: Mapping[str, Any]) -> Arrival | None:
        """The message of an update with its files; None if it has neither a text nor a file."""
        arrival = _arrival(update)
        if arrival is None:
            return None
        files = [
            IncomingFile(name=file.name, size=file.size, fetch=partial(self._fetch, file.id))
            for file in files_in(update["message"])
        ]
        return replace(arrival, files=files) if arrival.text or files else None

    async def _fetch(self, file_id: str, most: int) -> bytes:
        try:
            found = await self._call("getFile", file_id=file_id)
        except _CallRefused as refusal:
            if refusal.status == 429:
                raise _to_not_taken(refusal) from None
            raise Rejected(f"Telegram does not give it out: {refusal}") from None
        return await download(self._client, f"{self._files}/{found.get('file_path')}", most)

    async def _answer_tap(self, tap_id: str, arrival: Arrival, take: Reception) -> None:
        """Do what a button says. A tap that does nothing any more is answered beside the button."""
        told = await take.take(arrival)
        try:
            await self._call(
                "answerCallbackQuery", callback_query_id=tap_id, **({"text": told} if told else {})
            )
        except (_CallRefused, NotTaken, ConnectionError) as error:
            _log.info("tap not answered: %s", error)

    # HTTP

    async def _call(self, method: str, **arguments: Any) -> Any:
        return await self._post(method, json=arguments)

    async def _post(self, method: str, **content: Any) -> Any:
        try:
            response = await self._client.post(f"{self._base}/{method}", **content)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            raise Unreachable("Telegram cannot be reached") from None
        except httpx2.HTTPError as error:
            raise ConnectionError(f"the connection to Telegram broke ({type(error).__name__})") from None
        return _result(response)


def _result(response: httpx2.Response) -> Any:
    try:
        answer = response.json()
    except ValueError:
        raise ConnectionError(f"Telegram answered {response.status_code} without JSON") from None
    if answer.get("ok") is True:
        return answer["result"]
    if response.status_code >= 500:
        raise ConnectionError(f"Telegram answered {response.status_code}")
    retry_after = answer.get("parameters", {}).get("retry_after")
    raise _CallRefused(response.status_code, str(answer.get("description", "no reason given")), retry_after)


def _to_not_taken(refusal: _CallRefused) -> NotTaken:
    if refusal.status == 429:
        return NotTaken("Telegram asks for a pause", retry_after=refusal.retry_after or 1)
    if refusal.status in _TOKEN_REFUSED:
        return WrongToken()
    return Rejected(f"Telegram refused it: {refusal}")


def _arrival(update: Mapping[str, Any]) -> Arrival | None:
    """Return None if the update is no message of a person. The text of a file is its caption."""
    message = update.get("message")
    if not isinstance(message, Mapping):
        return None
    chat, sender = message.get("chat"), message.get("from") or {}
    if not isinstance(chat, Mapping) or not isinstance(sender, Mapping) or sender.get("is_bot"):
        return None
    if not _is_id(chat.get("id")) or not _is_id(update.get("update_id")):
        return None
    return Arrival(
        chat_id=str(chat["id"]),
        text=text_or_none(message.get("text")) or text_or_none(message.get("caption")) or "",
        id=str(update["update_id"]),
        chat_type="private" if chat.get("type") == "private" else "group",
        title=text_or_none(chat.get("title")),
        sender=str(sender.get("id", "")),
        sender_name=text_or_none(sender.get("username")) or text_or_none(sender.get("first_name")),
        reply_to=_quoted_id(message),
        metadata=_topic_metadata(chat, message),
    )


def _quoted_id(message: Mapping[str, Any]) -> str | None:
    quoted = message.get("reply_to_message")
    message_id = quoted.get("message_id") if isinstance(quoted, Mapping) else None
    return str(message_id) if _is_id(message_id) else None


def _topic_metadata(chat: Mapping[str, Any], message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the topic of a chat with topics. Elsewhere the id is a reply thread, which cannot be sent to."""
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
