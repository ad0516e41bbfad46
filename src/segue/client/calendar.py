"""Calendar of a session for a client, with the verbs of `kernel.calendar`."""

from segue.client import parse
from segue.client.records import RemoteImportedEvents
from segue.client.transport import Transport
from segue.model.text_checks import check_key


class ClientCalendar:
    """What is coming in a session, for calendar programs: `client.calendar`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def share(self, key: str) -> str:
        """Makes a private address for the session's calendar and returns it. It is shown once.

        An address that the session had is void. Raises `NotFound`.
        """
        answer = await self._transport.post("sessions", check_key(key), "calendar")
        return answer.read(parse.calendar_address)

    async def shared_at(self, key: str) -> int | None:
        """Returns when the address of the session's calendar was made, in milliseconds; None: there is none.

        Raises `NotFound`.
        """
        answer = await self._transport.get("sessions", check_key(key), "calendar")
        return answer.read(parse.calendar_shared_at)

    async def revoke(self, key: str) -> None:
        """Takes the address of the session's calendar back. Raises `NotFound`, also if there is none."""
        await self._transport.delete("sessions", check_key(key), "calendar")

    async def import_events(self, key: str, ics: str, *, make: bool = False) -> RemoteImportedEvents:
        """Returns the jobs that the timed events of an `.ics` file would be, and with `make` makes them.

        As `kernel.calendar.import_events`. Raises `BadCalendar`, `ZoneNeeded`, `NotFound`.
        """
        answer = await self._transport.upload(
            *("sessions", check_key(key), "calendar", "import"),
            content=ics.encode("utf-8", "replace"),
            make="true" if make else None,
        )
        return answer.read(parse.imported_events)
