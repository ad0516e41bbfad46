"""Incoming files: fetches what arrived with a message through a channel, and stores it in the session.

A failed download is tried again. Then, and for a file that is refused, the sender is told, and the words of
the message still become a turn.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace

from segue.errors import Conflict, Invalid
from segue.kernel.api.context import ApiContext
from segue.kernel.api.files import FilesApi
from segue.kernel.transactions.idempotency import Request
from segue.model.channel import IncomingFile, NotTaken, Rejected
from segue.model.files import MOST_PARTS, File, safe_name
from segue.model.records import Owner
from segue.record import positional

_log = logging.getLogger(__name__)

_ATTEMPTS = 3
_PAUSE_MS = 1000


@positional
class TakenFiles:
    files: tuple[File, ...]
    refused: str | None
    """What to tell the sender about the others."""


class IncomingFiles:
    def __init__(self, context: ApiContext, files: FilesApi) -> None:
        self._context = context
        self._files = files

    async def take(
        self, key: str, files: Sequence[IncomingFile], *, owner: Owner, request: Request | None
    ) -> TakenFiles:
        """Store the files that can be had. `request`: that of the message, for each file once."""
        stored, refused = [], []
        for number, file in enumerate(files[:MOST_PARTS], 1):
            again = request and replace(request, name=f"{request.name}:file-{number}")
            try:
                data = await self._fetch(file)
                stored.append(await self._files.add(key, file.name, data, owner=owner, request=again))
            except (NotTaken, ConnectionError, Invalid, Conflict) as error:
                _log.warning("file not taken, arrived in %s: %s", key, error)
                refused.append(f"I could not take {safe_name(file.name, '')}: {error}.")
        return TakenFiles(tuple(stored), "\n".join(refused) or None)

    async def _fetch(self, file: IncomingFile) -> bytes:
        most = self._files.most_bytes
        if file.size is not None and file.size > most:
            raise Rejected(f"it has {file.size:,} bytes, and may have {most:,}; send a smaller one")
        for attempt in range(1, _ATTEMPTS):
            try:
                return await file.fetch(most + 1)
            except Rejected:
                raise
            except (NotTaken, ConnectionError) as error:
                _log.info("download failed, retrying: %s", error)
            await self._context.pause(_PAUSE_MS * attempt)
        return await file.fetch(most + 1)
