"""AsyncClient: a Segue server by HTTP, with the parts and shortcuts of the kernel."""

from typing import Self

from segue.client.calendar import ClientCalendar
from segue.client.days import ClientDays
from segue.client.files import ClientFiles
from segue.client.guests import ClientGuests
from segue.client.log import ClientLog
from segue.client.memory import ClientHealth, ClientMemory
from segue.client.replies import ClientReplies
from segue.client.scheduling import ClientJobs, ClientRecalls, ClientRuns, ClientScheduledMessages
from segue.client.sessions import ClientSessions
from segue.client.transport import Transport
from segue.client.turns import ClientTurns


class AsyncClient:
    """A Segue server by HTTP. Use it as `async with AsyncClient(url, key=…) as client`, or call `close`.

    `url` is the server's address, with the path that it is mounted below, if any. `key` is an API key of the
    server; without keys a server admits its own machine only. `user`: with a key of the role admin, the user
    of the account that the calls are made for. `timeout`: how many seconds a response may take.

    The parts are `sessions`, `turns`, `replies`, `log`, `files`, `jobs`, `days`, `calendar`, `runs`,
    `recalls`, `scheduled_messages`, `memory`, `guests` and `health`, the shortcuts `receive`, `wait`, `ask`,
    `schedule`, `messages` and `follow`. A method takes the arguments of the kernel's method, except `owner=`,
    which the key decides, and raises its errors; an error has the server's `code`. All methods also raise
    `NotAllowed`, `WrongServer` and `ServerUnreachable`. One that makes something sends an idempotency key:
    its own, or the one that is given.
    """

    def __init__(
        self, url: str, *, key: str | None = None, user: str | None = None, timeout: float = 30.0
    ) -> None:
        self._transport = transport = Transport(url, key=key, user=user, timeout=timeout)
        self.sessions = ClientSessions(transport)
        self.log = ClientLog(transport, self.sessions)
        self.turns = ClientTurns(transport, self.sessions, self.log)
        self.files = ClientFiles(transport)
        self.replies = ClientReplies(transport)
        self.jobs = ClientJobs(transport)
        self.days = ClientDays(transport)
        self.calendar = ClientCalendar(transport)
        self.runs = ClientRuns(transport)
        self.recalls = ClientRecalls(transport)
        self.scheduled_messages = ClientScheduledMessages(transport)
        self.memory = ClientMemory(transport)
        self.guests = ClientGuests(transport)
        self.health = ClientHealth(transport)
        # Shortcuts
        self.receive = self.turns.receive
        self.wait = self.turns.wait
        self.ask = self.turns.ask
        self.schedule = self.jobs.add
        self.messages = self.log.messages
        self.follow = self.log.follow

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Closing twice does nothing."""
        await self._transport.close()
