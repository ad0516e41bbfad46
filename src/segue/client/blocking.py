"""Client: the verbs of `AsyncClient` without `await`, for scripts and programs with threads.

    with Client("http://localhost:8000") as client:
        turn = client.wait(client.receive("websocket:home", "Good morning"))

A thread runs the event loop; each call waits until that loop has done it. Each verb below is the async method
itself, so its parameters, its result and its documentation are the same.
"""

from typing import Self

from segue.client.async_client import AsyncClient
from segue.client.calendar import ClientCalendar
from segue.client.days import ClientDays
from segue.client.files import ClientFiles
from segue.client.guests import ClientGuests
from segue.client.log import ClientLog
from segue.client.memory import ClientHealth, ClientMemory
from segue.client.replies import ClientReplies
from segue.client.scheduling import ClientJobs, ClientRecalls, ClientRuns, ClientScheduledMessages
from segue.client.sessions import ClientSessions
from segue.client.turns import ClientTurns
from segue.kernel.loop_thread import BlockingCall, BlockingPart, BlockingStream, LoopThread, made_like


class BlockingClientSessions(BlockingPart[ClientSessions]):
    open = BlockingCall(ClientSessions.open)
    get = BlockingCall(ClientSessions.get)
    find = BlockingCall(ClientSessions.find)
    overview = BlockingCall(ClientSessions.overview)
    overviews = BlockingCall(ClientSessions.overviews)
    update = BlockingCall(ClientSessions.update)
    send_held = BlockingCall(ClientSessions.send_held)
    budget = BlockingCall(ClientSessions.budget)
    raise_budget = BlockingCall(ClientSessions.raise_budget)
    mark_read = BlockingCall(ClientSessions.mark_read)
    delete = BlockingCall(ClientSessions.delete)
    list = BlockingCall(ClientSessions.list)


class BlockingClientReplies(BlockingPart[ClientReplies]):
    take = BlockingCall(ClientReplies.take)


class BlockingClientTurns(BlockingPart[ClientTurns]):
    receive = BlockingCall(ClientTurns.receive)
    ask = BlockingStream(ClientTurns.ask)
    wait = BlockingCall(ClientTurns.wait)
    get = BlockingCall(ClientTurns.get)
    follow = BlockingStream(ClientTurns.follow)
    running = BlockingCall(ClientTurns.running)
    list = BlockingCall(ClientTurns.list)
    stop = BlockingCall(ClientTurns.stop)
    stop_turn = BlockingCall(ClientTurns.stop_turn)
    cancel = BlockingCall(ClientTurns.cancel)


class BlockingClientLog(BlockingPart[ClientLog]):
    messages = BlockingCall(ClientLog.messages)
    newest = BlockingCall(ClientLog.newest)
    events = BlockingCall(ClientLog.events)
    follow = BlockingStream(ClientLog.follow)
    search = BlockingCall(ClientLog.search)
    export = BlockingStream(ClientLog.export)
    deliveries = BlockingCall(ClientLog.deliveries)
    write = BlockingCall(ClientLog.write)
    write_all = BlockingCall(ClientLog.write_all)


class BlockingClientFiles(BlockingPart[ClientFiles]):
    add = BlockingCall(ClientFiles.add)
    get = BlockingCall(ClientFiles.get)
    read = BlockingCall(ClientFiles.read)


class BlockingClientJobs(BlockingPart[ClientJobs]):
    add = BlockingCall(ClientJobs.add)
    preview = BlockingCall(ClientJobs.preview)
    forecast = BlockingCall(ClientJobs.forecast)
    get = BlockingCall(ClientJobs.get)
    update = BlockingCall(ClientJobs.update)
    pause = BlockingCall(ClientJobs.pause)
    resume = BlockingCall(ClientJobs.resume)
    skip = BlockingCall(ClientJobs.skip)
    delete = BlockingCall(ClientJobs.delete)
    explain = BlockingCall(ClientJobs.explain)
    raise_budget = BlockingCall(ClientJobs.raise_budget)
    list = BlockingCall(ClientJobs.list)


class BlockingClientDays(BlockingPart[ClientDays]):
    get = BlockingCall(ClientDays.get)
    add = BlockingCall(ClientDays.add)
    delete = BlockingCall(ClientDays.delete)
    list = BlockingCall(ClientDays.list)


class BlockingClientCalendar(BlockingPart[ClientCalendar]):
    share = BlockingCall(ClientCalendar.share)
    shared_at = BlockingCall(ClientCalendar.shared_at)
    revoke = BlockingCall(ClientCalendar.revoke)
    import_events = BlockingCall(ClientCalendar.import_events)


class BlockingClientRuns(BlockingPart[ClientRuns]):
    get = BlockingCall(ClientRuns.get)
    list = BlockingCall(ClientRuns.list)
    usage = BlockingCall(ClientRuns.usage)


class BlockingClientRecalls(BlockingPart[ClientRecalls]):
    get = BlockingCall(ClientRecalls.get)
    add = BlockingCall(ClientRecalls.add)
    cancel = BlockingCall(ClientRecalls.cancel)
    skip = BlockingCall(ClientRecalls.skip)
    list = BlockingCall(ClientRecalls.list)


class BlockingClientScheduledMessages(BlockingPart[ClientScheduledMessages]):
    add = BlockingCall(ClientScheduledMessages.add)
    get = BlockingCall(ClientScheduledMessages.get)
    cancel = BlockingCall(ClientScheduledMessages.cancel)
    list = BlockingCall(ClientScheduledMessages.list)


class BlockingClientMemory(BlockingPart[ClientMemory]):
    commit = BlockingCall(ClientMemory.commit)
    archives = BlockingCall(ClientMemory.archives)
    archive = BlockingCall(ClientMemory.archive)
    archived_messages = BlockingCall(ClientMemory.archived_messages)
    undo = BlockingCall(ClientMemory.undo)
    task = BlockingCall(ClientMemory.task)
    tasks = BlockingCall(ClientMemory.tasks)
    cancel_task = BlockingCall(ClientMemory.cancel_task)
    get = BlockingCall(ClientMemory.get)
    search = BlockingCall(ClientMemory.search)
    update = BlockingCall(ClientMemory.update)
    delete = BlockingCall(ClientMemory.delete)
    context = BlockingCall(ClientMemory.context)
    list = BlockingCall(ClientMemory.list)


class BlockingClientGuests(BlockingPart[ClientGuests]):
    allow = BlockingCall(ClientGuests.allow)
    bind = BlockingCall(ClientGuests.bind)
    delete = BlockingCall(ClientGuests.delete)
    list = BlockingCall(ClientGuests.list)


class BlockingClientHealth(BlockingPart[ClientHealth]):
    check = BlockingCall(ClientHealth.check)


class Client(BlockingPart[AsyncClient]):
    """A Segue server by HTTP, without `await`. Takes the arguments of `AsyncClient` and has its parts.

    Use it as `with Client(url, key=…) as client`, or call `close`. Any thread may call it. After a fork, make
    a new one.
    """

    @made_like(AsyncClient)
    def __init__(self, client: AsyncClient) -> None:
        loop = LoopThread("client", "client", "it was closed; make a new one")
        super().__init__(loop, lambda: client)
        self.sessions = BlockingClientSessions(loop, lambda: client.sessions)
        self.turns = BlockingClientTurns(loop, lambda: client.turns)
        self.replies = BlockingClientReplies(loop, lambda: client.replies)
        self.log = BlockingClientLog(loop, lambda: client.log)
        self.files = BlockingClientFiles(loop, lambda: client.files)
        self.jobs = BlockingClientJobs(loop, lambda: client.jobs)
        self.days = BlockingClientDays(loop, lambda: client.days)
        self.calendar = BlockingClientCalendar(loop, lambda: client.calendar)
        self.runs = BlockingClientRuns(loop, lambda: client.runs)
        self.recalls = BlockingClientRecalls(loop, lambda: client.recalls)
        self.scheduled_messages = BlockingClientScheduledMessages(loop, lambda: client.scheduled_messages)
        self.memory = BlockingClientMemory(loop, lambda: client.memory)
        self.guests = BlockingClientGuests(loop, lambda: client.guests)
        self.health = BlockingClientHealth(loop, lambda: client.health)
        self.receive = self.turns.receive
        self.wait = self.turns.wait
        self.ask = self.turns.ask
        self.schedule = self.jobs.add
        self.messages = self.log.messages
        self.follow = self.log.follow
        loop.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the thread. Closing twice does nothing."""
        if self._loop.is_running:
            try:
                self._loop.run(self._find().close)
            finally:
                self._loop.stop()
