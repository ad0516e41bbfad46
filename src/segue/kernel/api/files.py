"""Files: stores what users send with a message, and reads it back."""

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

from segue.errors import BadFile, NotFound
from segue.kernel.api.context import OPERATOR, ApiContext
from segue.kernel.transactions import files
from segue.kernel.transactions.idempotency import Request
from segue.model.files import MOST_PARTS, File, media_type_of, safe_name
from segue.model.records import Asker
from segue.model.text_checks import check_key

MEGABYTE = 1 << 20

FileRef: TypeAlias = File | str
"""A file, or its id."""


class FilesApi:
    """Files of a session: `kernel.files`."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context

    @property
    def most_bytes(self) -> int:
        """The size of the largest file that is accepted."""
        return round(self._context.settings.file_megabytes * MEGABYTE)

    async def add(
        self,
        key: str,
        name: str,
        data: bytes,
        *,
        owner: Asker = OPERATOR,
        request: Request | None = None,
    ) -> File:
        """Stores a file in a session, which is made if it is missing, and returns it as a `File`.

        Send it with a message: `receive(key, text, parts=[file])`. Its type is found from its content, and
        its name is made safe. Raises `BadKey`; `BadFile` if it is empty or too large; `TooManyFiles` if the
        session has no room for it.
        """
        context = self._context
        check_key(key)
        self._check(name, data)
        now = context.clock.ms()
        media_type = media_type_of(data)
        file = File(
            id=context.ids(now), name=safe_name(name, media_type), media_type=media_type, size=len(data)
        )
        most = round(context.settings.session_files_megabytes * MEGABYTE)
        work = partial(files.add, context.address(key, owner, now), file, bytes(data), now, most=most)
        return await context.commit_once(
            request, work, now, keep=lambda stored: {"file_id": stored.id}, again=files.load, alone=True
        )

    def _check(self, name: object, data: object) -> None:
        if not isinstance(name, str):
            raise BadFile(f"the name of a file is a string, got {type(name).__name__}")
        if not isinstance(data, bytes | bytearray | memoryview):
            raise BadFile(f"the content of a file is bytes, got {type(data).__name__}")
        if not len(data):
            raise BadFile("the file is empty; send one that has at least one byte")
        if len(data) > self.most_bytes:
            raise BadFile(
                f"the file has {len(data):,} bytes, and may have {self.most_bytes:,} "
                f"(file_megabytes = {self._context.settings.file_megabytes:g}); send a smaller one"
            )

    async def get(self, file_id: str, *, owner: Asker = OPERATOR) -> File:
        """Returns the `File` of an id. Raises `NotFound`."""
        file, session_id = await self._context.store.file(file_id)
        await self._context.session_of(session_id, owner, f"file {file_id}")
        return file

    async def read(self, file: FileRef, *, owner: Asker = OPERATOR) -> bytes:
        """Returns the content of a file. Raises `NotFound`."""
        found = await self.get(file if isinstance(file, str) else file.id, owner=owner)
        return await self._context.store.file_content(found.id)

    async def of_message(self, key: str, parts: Sequence[FileRef], owner: Asker) -> tuple[File, ...]:
        """Returns the files that a new message names, as they are stored. They must be of its session.

        Raises `NotFound` for any other, `BadFile` for too many.
        """
        if isinstance(parts, str) or len(parts) > MOST_PARTS:
            raise BadFile(f"the parts of a message are a list of at most {MOST_PARTS} files")
        session = await self._context.find(key, owner)
        reached = {session.id, (await self._context.lane_of(session)).id} if session else set()
        return tuple([await self._in_session(part, reached, key) for part in parts])

    async def _in_session(self, part: FileRef, reached: set[str], key: str) -> File:
        file_id = part if isinstance(part, str) else part.id
        missing = NotFound(f"there is no file {file_id} in {key}; upload it there first")
        try:
            file, session_id = await self._context.store.file(file_id)
        except NotFound:
            raise missing from None
        if session_id not in reached:
            raise missing
        return file
