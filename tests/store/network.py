"""Faulty network: a proxy between a PostgreSQL client and its server that a test can break."""

import asyncio
from enum import Enum
from pathlib import Path
from urllib.parse import parse_qs, urlsplit


class Lost(Enum):
    """What happens to a COMMIT when the connection breaks."""

    THE_ANSWER = "it is done, and the client gets no answer"
    THE_COMMIT = "it never arrives"
    THE_CONNECTION_FOR_A_WHILE = "it arrives after its client was disconnected"


class Network:
    """Passes data between clients and the server until a test breaks it."""

    REFUSAL = b"SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: statement_timeout\0\0"

    NOTIFICATION = b"A"

    def __init__(
        self, url: str, folder: Path, *, takes_settings: bool = True, drops_notifications: bool = False
    ) -> None:
        folder_of_server = parse_qs(urlsplit(url).query)["host"][0]
        self.url = url.replace(folder_of_server, str(folder))
        self._server = f"{folder_of_server}/.s.PGSQL.5432"
        self._socket = folder / ".s.PGSQL.5432"
        self._takes_settings = takes_settings
        self._drops_notifications = drops_notifications
        self.dropped = 0
        """Notifications that did not arrive."""
        self._working: set[asyncio.StreamReader] = set()
        self._servers: dict[asyncio.StreamReader, asyncio.StreamReader] = {}
        self._answers: dict[asyncio.StreamReader, asyncio.StreamWriter] = {}
        self._next_commit: Lost | None = None
        self._lost_on: asyncio.StreamReader | None = None
        self._is_over = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "Network":
        self._listening = await asyncio.start_unix_server(self._serve, self._socket)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*self._serving)

    def swallow_open_connections(self) -> None:
        """Drop all further data of open connections without closing them."""
        self._working.clear()

    def refuse_new_connections(self) -> None:
        """Open connections stay open."""
        self._listening.close()

    def lose_the_next_commit(self, lost: Lost) -> None:
        self._next_commit = lost

    @property
    def has_lost_it(self) -> bool:
        return self._next_commit is None

    async def what_was_late_has_come(self) -> None:
        """Wait until the server has ended the connection on which a COMMIT was lost."""
        async with asyncio.timeout(30):
            await self._is_over.wait()

    async def _serve(self, client: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        length = await client.readexactly(4)
        settings = await client.readexactly(int.from_bytes(length) - 4)
        if b"statement_timeout" in settings and not self._takes_settings:
            answers.write(b"E" + (len(self.REFUSAL) + 4).to_bytes(4) + self.REFUSAL)
            answers.close()
            return
        server, requests = await asyncio.open_unix_connection(self._server)
        self._writers += [answers, requests]
        if task := asyncio.current_task():
            self._serving.add(task)
        requests.write(length + settings)
        self._working |= {client, server}
        self._servers[client], self._answers[client] = server, answers
        answering = self._pass_on_replies if self._drops_notifications else self._pass_on
        await asyncio.gather(self._pass_on(client, requests), answering(server, answers))
        answers.close()

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            if self._next_commit and data.endswith(b"COMMIT\0"):
                await self._lose(data, source, target)
            elif source in self._working:
                target.write(data)
        target.close()
        if source is self._lost_on:
            self._is_over.set()

    async def _pass_on_replies(self, server: asyncio.StreamReader, answers: asyncio.StreamWriter) -> None:
        """Message by message, without notifications."""
        while head := await server.read(1):
            length = await server.readexactly(4)
            body = await server.readexactly(int.from_bytes(length) - 4)
            if head == self.NOTIFICATION:
                self.dropped += 1
            else:
                answers.write(head + length + body)
        answers.close()

    async def _lose(
        self, commit: bytes, client: asyncio.StreamReader, requests: asyncio.StreamWriter
    ) -> None:
        """Disconnect the client; `lost` says whether and when the COMMIT reaches the server."""
        lost, self._next_commit = self._next_commit, None
        self._lost_on = self._servers[client]
        self._is_over.clear()
        self._working -= {client, self._lost_on}
        if lost is Lost.THE_ANSWER:
            requests.write(commit)
            await asyncio.sleep(0.1)
        self._answers[client].close()
        if lost is Lost.THE_CONNECTION_FOR_A_WHILE:
            await asyncio.sleep(0.4)
            requests.write(commit)
