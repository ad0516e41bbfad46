"""Files of a client, with the verbs of `kernel.files`."""

from collections.abc import Sequence
from urllib.parse import unquote

from segue.client.transport import Transport
from segue.errors import BadFile
from segue.kernel.api.files import FileRef
from segue.model.files import MOST_PARTS, File, file_from_json
from segue.model.text_checks import check_key


class ClientFiles:
    """Files of a session: `client.files`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def add(self, key: str, name: str, data: bytes, *, idempotency_key: str | None = None) -> File:
        """Stores a file in a session, which is made if it is missing, as `kernel.files.add` does.

        Send it with a message: `receive(key, text, parts=[file])`. Raises `BadFile`, `TooManyFiles`.
        """
        if not data:
            raise BadFile("the file is empty; send one that has at least one byte")
        answer = await self._transport.upload(
            *("sessions", check_key(key), "files"), content=data, idempotency_key=idempotency_key, name=name
        )
        return answer.read(file_from_json)

    async def get(self, file_id: str) -> File:
        """Returns the `File` of an id. Raises `NotFound`."""
        async with self._transport.download("files", file_id) as response:
            headers = response.headers
            name = headers["content-disposition"].rpartition("filename*=UTF-8''")[2]
            return File(
                id=file_id,
                name=unquote(name),
                media_type=headers["content-type"].partition(";")[0],
                size=int(headers["content-length"]),
            )

    async def read(self, file: FileRef) -> bytes:
        """Returns the content of a file. Raises `NotFound`."""
        async with self._transport.download("files", file if isinstance(file, str) else file.id) as response:
            return await response.aread()


def part_bodies(parts: Sequence[FileRef]) -> list[dict[str, str]]:
    """The parts of a message, as a request names them. Raises `BadFile`."""
    if isinstance(parts, str) or len(parts) > MOST_PARTS:
        raise BadFile(f"the parts of a message are a list of at most {MOST_PARTS} files")
    return [{"id": part if isinstance(part, str) else part.id} for part in parts]
