"""Files: stores a file in its session, within the session's limit.

Invariants
  - a file's row and its bytes are committed together, or not at all
  - the total is read and the file is added under the session's row lock, so uploads at once keep the limit
"""

from collections.abc import Mapping
from typing import Any

from segue.errors import NotFound, TooManyFiles
from segue.kernel.transactions import session_log
from segue.kernel.transactions.unified import Address
from segue.model.files import File
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows


def add(address: Address, file: File, data: bytes, now: int, *, most: int) -> Transaction[File]:
    """Store a file in the session of a key, which is created if it is missing. Raises `TooManyFiles`."""
    yield queries.files.put_content, {"id": file.id, "content": data}
    session = yield from session_log.open_by_lookup(
        address.lookup, address.key, address.new_id, now, policy=address.policy
    )
    found = yield queries.files.total, {"session_id": session.id}
    used = found[0]["bytes"]
    if used + file.size > most:
        raise TooManyFiles(
            f"the files of {session.key} have {used:,} bytes, and may have {most:,}: {file.name} has "
            f"{file.size:,}; delete the session, or use another one"
        )
    yield (
        queries.files.add,
        {
            "id": file.id,
            "session_id": session.id,
            "name": file.name,
            "media_type": file.media_type,
            "size": file.size,
            "now": now,
        },
    )
    return file


def load(data: Mapping[str, Any]) -> Transaction[File]:
    """The file that an earlier request has stored. Raises `NotFound` if it was deleted since."""
    found = yield queries.files.by_id, {"id": data["file_id"]}
    if not found:
        raise NotFound(f"there is no file {data['file_id']}")
    return rows.file(found[0])
