"""Commands of `segue chat`: `/help`, `/jobs`, `/retry`, `/stop`. Other text is sent as a message."""

import re

from segue.cli.chat.background import Background
from segue.cli.chat.screen import Screen
from segue.cli.support.human_time import human_time
from segue.model.records import Asker, Job

HELP = """\
/help  shows this list
/jobs  shows what is scheduled in this chat
/retry asks your last message again; the new answer takes the place of the old one
/stop  stops the turn that is running here
Ctrl-C stops an answer, Ctrl-D leaves. Everything else is sent as a message."""
RETRY = "/retry"
"""Run by the chat itself, because it waits for the answer."""
_MOST_SHOWN = 5
_COMMAND = re.compile(r"/[a-z]+")


class SlashCommands:
    def __init__(self, background: Background, screen: Screen, key: str, owner: Asker, zone: str) -> None:
        self._background = background
        self._screen = screen
        self._key = key
        self._owner = owner
        self._zone = zone

    def run(self, text: str) -> bool:
        """Run the command. Returns False if the text is a message."""
        if not _COMMAND.fullmatch(text):
            return False
        match text:
            case "/help":
                self._screen.note(HELP)
            case "/jobs":
                self.show_scheduled(empty="Nothing is scheduled here.", most=None)
            case "/stop":
                self._stop()
            case _:
                self._screen.note(f"There is no command {text}; /help lists them.")
        return True

    def show_scheduled(self, *, empty: str = "", most: int | None = _MOST_SHOWN) -> None:
        jobs = self._background.call(self._scheduled())
        now = self._background.kernel.clock.ms()
        for job in jobs[:most]:
            self._screen.note(f"◷ {human_time(job.next_at, self._zone, now)}  {job.name}")
        left = 0 if most is None else len(jobs) - most
        if left > 0:
            self._screen.note(f"  and {left} more; /jobs shows them")
        if not jobs and empty:
            self._screen.note(empty)

    async def _scheduled(self) -> list[Job]:
        jobs = await self._background.kernel.jobs.list(self._key, owner=self._owner, limit=100)
        coming = [job for job in jobs if job.next_at is not None and not job.protected]
        return sorted(coming, key=lambda job: job.next_at or 0)

    def _stop(self) -> None:
        turn_id = self._background.call(self._background.kernel.turns.stop(self._key, owner=self._owner))
        self._screen.note("No turn is running." if turn_id is None else "The turn was asked to stop.")
