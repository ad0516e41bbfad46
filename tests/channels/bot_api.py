"""Telegram's Bot API on loopback, down to the bytes: what it is sent is what Telegram would be sent.

It holds chats, hands out updates to long polls, refuses what its script says, and remembers everything.
"""

import asyncio
import html
import json
import re
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.channels.loopback import on_loopback

TOKEN = "12345:the-token-of-the-bot"
_TAGS = {"b", "i", "s", "code", "pre", "a", "blockquote"}


@dataclass
class Refusal:
    """The next call of this method is refused in this way."""

    method: str
    status: int = 400
    description: str = "Bad Request"
    retry_after: int | None = None


@dataclass
class BotApi:
    url: str = ""
    messages: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Message id to chat and text."""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    refusals: deque[Refusal] = field(default_factory=deque)
    refused_tokens: int = 0
    """Calls with a token that is not the bot's."""
    hold: asyncio.Event | None = None
    """If not None, a message that was accepted is answered only when this is set."""
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    webhook: dict[str, Any] | None = None
    stored: dict[str, bytes] = field(default_factory=dict)
    """The files that users have sent, by file id."""
    uploads: list[tuple[str, str, str, bytes]] = field(default_factory=list)
    """The files that the bot has sent: method, chat, name and content."""
    broken_downloads: int = 0
    """So many downloads break in the middle."""
    _updates: list[dict[str, Any]] = field(default_factory=list)
    _arrived: asyncio.Condition = field(default_factory=asyncio.Condition)

    def shown(self, chat_id: str) -> list[str]:
        return [text for chat, text in self.messages.values() if chat == chat_id]

    async def write(
        self,
        text: str,
        *,
        sender: int = 7,
        chat: int | None = None,
        topic: int | None = None,
        file: dict[str, Any] | None = None,
        quoted: int | None = None,
        **about: Any,
    ) -> None:
        """Write to the bot as a user, in a topic or as a reply; with a file, the text is its caption."""
        number = len(self._updates) + 1
        message = {
            "message_id": 1000 + number,
            "date": 0,
            **({"text": text} if file is None else {"caption": text, **file}),
            "from": {"id": sender, "is_bot": False, "first_name": "Ada"},
            "chat": {"id": chat or sender, "type": "private", **about},
        }
        if file is not None and not text:
            del message["caption"]
        if topic is not None:
            message |= {"message_thread_id": topic, "is_topic_message": True}
        if quoted is not None:
            message["reply_to_message"] = {"message_id": quoted, "chat": message["chat"]}
        await self._add({"update_id": number, "message": message})

    async def tap(self, message_id: int, data: str, *, sender: int = 7) -> None:
        """Tap a button under a message of the bot."""
        number = len(self._updates) + 1
        message = {"message_id": message_id, "chat": {"id": sender, "type": "private"}}
        query = {"id": f"tap {number}", "from": {"id": sender}, "message": message, "data": data}
        await self._add({"update_id": number, "callback_query": query})

    async def _add(self, update: dict[str, Any]) -> None:
        async with self._arrived:
            self._updates.append(update)
            self._arrived.notify_all()

    def photo(self, data: bytes) -> dict[str, Any]:
        """A photo as a message has it, for `write`."""
        small, large = self._keep(data[:10]), self._keep(data)
        return {"photo": [{"file_id": small, "file_size": 10}, {"file_id": large, "file_size": len(data)}]}

    def document(self, name: str, data: bytes, *, size: int | None = None) -> dict[str, Any]:
        """A document as a message has it, for `write`."""
        return {"document": {"file_id": self._keep(data), "file_name": name, "file_size": size or len(data)}}

    def _keep(self, data: bytes) -> str:
        self.stored[f"file-{len(self.stored)}"] = data
        return f"file-{len(self.stored) - 1}"

    async def download(self, request: Request) -> Response:
        if request.path_params["token"] != TOKEN:
            return Response(status_code=404)
        data = self.stored.get(request.path_params["file_id"])
        if data is None:
            return Response(status_code=404)
        if self.broken_downloads:
            self.broken_downloads -= 1
            return Response(data[:5], headers={"Content-Length": str(len(data))})
        return Response(data)

    async def answer(self, request: Request) -> Response:
        if request.path_params["token"] != TOKEN:
            self.refused_tokens += 1
            return _no(401, "Unauthorized")
        method = request.path_params["method"]
        if request.headers.get("content-type", "").startswith("multipart/form-data"):
            return await self._upload(method, request)
        given: dict[str, Any] = json.loads(await request.body() or b"{}")
        self.calls.append((method, given))
        if self.refusals and self.refusals[0].method == method:
            refusal = self.refusals.popleft()
            return _no(refusal.status, refusal.description, refusal.retry_after)
        match method:
            case "getUpdates":
                return _yes(await self._poll(given))
            case "sendMessage":
                return await self._send(given)
            case "editMessageText":
                return self._edit(given)
            case "getFile" if given["file_id"] in self.stored:
                return _yes({"file_id": given["file_id"], "file_path": given["file_id"]})
            case "setWebhook":
                self.webhook = given
                return _yes(True)
            case "deleteWebhook":
                return _yes(True)
            case "answerCallbackQuery":
                return _yes(True)
            case "getMe":
                return _yes({"id": 12345, "is_bot": True, "username": "segue_bot"})
        return _no(404, "Not Found")

    async def _upload(self, method: str, request: Request) -> Response:
        if self.refusals and self.refusals[0].method == method:
            refusal = self.refusals.popleft()
            return _no(refusal.status, refusal.description, refusal.retry_after)
        async with request.form() as form:
            sent = form["photo" if method == "sendPhoto" else "document"]
            assert isinstance(sent, UploadFile)
            data = await sent.read()
            chat = str(form["chat_id"])
            self.calls.append((method, {name: value for name, value in form.items() if value is not sent}))
        self.uploads.append((method, chat, sent.filename or "", data))
        message_id = len(self.messages) + 1
        self.messages[message_id] = (chat, f"<{sent.filename}>")
        self.taken.set()
        if self.hold is not None:
            await self.hold.wait()
        return _yes({"message_id": message_id})

    async def _poll(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        offset = given.get("offset", 0)

        def new() -> list[dict[str, Any]]:
            return [update for update in self._updates if update["update_id"] >= offset]

        try:
            async with asyncio.timeout(min(given.get("timeout", 0), 5)), self._arrived:
                await self._arrived.wait_for(lambda: bool(new()))
        except TimeoutError:
            pass
        return new()

    async def _send(self, given: dict[str, Any]) -> Response:
        try:
            text = _parsed(given)
        except ValueError as error:
            return _no(400, f"Bad Request: can't parse entities: {error}")
        if len(text) > 4096:
            return _no(400, "Bad Request: message is too long")
        message_id = len(self.messages) + 1
        self.messages[message_id] = (str(given["chat_id"]), text)
        self.taken.set()
        if self.hold is not None:
            await self.hold.wait()
        return _yes({"message_id": message_id})

    def _edit(self, given: dict[str, Any]) -> Response:
        message_id = given["message_id"]
        if message_id not in self.messages:
            return _no(400, "Bad Request: message to edit not found")
        text = _parsed(given)
        if self.messages[message_id][1] == text:
            return _no(400, "Bad Request: message is not modified")
        self.messages[message_id] = (str(given["chat_id"]), text)
        return _yes({"message_id": message_id})


def _parsed(given: dict[str, Any]) -> str:
    """Return the text that a chat shows. Raises ValueError for HTML that Telegram refuses."""
    if given.get("parse_mode") != "HTML":
        return str(given["text"])
    opened: list[str] = []
    for slash, tag in re.findall(r"<(/?)([a-z]+)(?: [^>]*)?>", given["text"]):
        if tag not in _TAGS:
            raise ValueError(f"unsupported start tag {tag}")
        if not slash:
            opened.append(tag)
        elif not opened or opened.pop() != tag:
            raise ValueError(f"unexpected end tag {tag}")
    if opened:
        raise ValueError("can't find end tag")
    return html.unescape(re.sub(r"<[^>]+>", "", given["text"]))


def _yes(result: Any) -> Response:
    return JSONResponse({"ok": True, "result": result})


def _no(status: int, description: str, retry_after: int | None = None) -> Response:
    body: dict[str, Any] = {"ok": False, "error_code": status, "description": description}
    if retry_after is not None:
        body["parameters"] = {"retry_after": retry_after}
    return JSONResponse(body, status)


@asynccontextmanager
async def bot_api() -> AsyncIterator[BotApi]:
    api = BotApi()
    app = Starlette(
        routes=[
            Route("/bot{token}/{method}", api.answer, methods=["POST"]),
            Route("/file/bot{token}/{file_id}", api.download, methods=["GET"]),
        ]
    )
    async with on_loopback(app) as api.url:
        yield api
