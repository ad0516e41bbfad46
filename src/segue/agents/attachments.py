"""Attachments: what a model is given of the files of a conversation.

Images, and what else an agent says it `takes`, are given as they are; text files as text; of any other file
the model is told that it was sent. What does not fit is named only, the oldest first. So is a file of a turn
that failed: a provider that refuses it would otherwise refuse every later turn of the conversation.
"""

import base64
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from segue.errors import NotFound
from segue.model.agent import OpenTurn
from segue.model.files import IMAGE_TYPES, MOST_TEXT_BYTES, PDF, TEXT, File
from segue.model.states import Outcome
from segue.model.transcript import Message
from segue.record import record

MOST_BYTES = 20 << 20
MOST_FILES = 20
"""Of all files that a model is given in one request."""
IMAGES_AND_PDF = IMAGE_TYPES | {PDF}

_REFERENCE = re.compile(r"segue-file:(plain|url):([0-9a-z-]+)")


@record
class Attachment:
    """A file that a model is given as it is."""

    file: File
    data: bytes

    @property
    def base64(self) -> str:
        return base64.b64encode(self.data).decode()

    @property
    def data_url(self) -> str:
        return f"data:{self.file.media_type};base64,{self.base64}"


class Attachments:
    """The files of a turn's conversation. `takes`: the media types that its model is given as they are."""

    def __init__(self, turn: OpenTurn, takes: Collection[str] = IMAGE_TYPES) -> None:
        self._turn = turn
        self._takes = takes
        self._given: dict[str, Attachment | str] = {}

    async def load(self, messages: Iterable[Message] = ()) -> None:
        """Read the files of the turn and of these messages, the newest first, as far as they fit."""
        messages = list(messages)
        failed = {each.turn_id for each in messages if each.outcome == Outcome.ERROR} - {None, self._turn.id}
        bytes_left, files_left = MOST_BYTES, MOST_FILES
        shown = [file for each in messages if each.turn_id not in failed for file in each.parts]
        for file in (*self._turn.parts, *reversed(shown)):
            if file.id in self._given:
                continue
            if file.size > bytes_left or not files_left:
                self._given[file.id] = f"[{file.name} was sent earlier, and is not shown again.]"
                continue
            self._given[file.id] = given = await self._read(file)
            if isinstance(given, Attachment) or file.media_type == TEXT:
                bytes_left, files_left = bytes_left - file.size, files_left - 1
        for file in (file for each in messages for file in each.parts):
            self._given.setdefault(
                file.id, f"[{file.name} was sent in a turn that failed; ask for it again.]"
            )

    async def _read(self, file: File) -> Attachment | str:
        if file.media_type not in self._takes and file.media_type != TEXT:
            return (
                f"[The user sent {file.name} ({file.media_type}, {file.size:,} bytes). You cannot see its "
                "content.]"
            )
        try:
            data = await self._turn.kernel.files.read(file, owner=self._turn.session.owner)
        except NotFound:
            return f"[{file.name} was deleted.]"
        return Attachment(file=file, data=data) if file.media_type in self._takes else _quoted(file, data)

    def text(self, text: str, files: Sequence[File], role: str = "user") -> str:
        """A message's text with its text files, and with a sentence for what is not given as it is."""
        told = [given for file in files if isinstance(given := self._given.get(file.id), str)]
        if role != "user":
            told = [f"[With this message: {file.name}]" for file in files]
        return "\n\n".join([text, *told])

    def of(self, files: Sequence[File], role: str = "user") -> tuple[Attachment, ...]:
        """What the model is given as it is. Providers take it in messages of users only."""
        given = [self._given.get(file.id) for file in files if role == "user"]
        return tuple(each for each in given if isinstance(each, Attachment))

    # A framework's state of a paused run may contain the content of files, which is too long to be kept.

    def detached(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state with a reference in place of each content."""
        text = json.dumps(state)
        for given in self._given.values():
            if isinstance(given, Attachment):
                text = text.replace(given.base64, f"segue-file:plain:{given.file.id}")
                url = base64.urlsafe_b64encode(given.data).decode()
                text = text.replace(url, f"segue-file:url:{given.file.id}")
        result: dict[str, Any] = json.loads(text)
        return result

    async def attached(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """The state with the contents in place of their references."""
        text = json.dumps(state)
        for form, file_id in set(_REFERENCE.findall(text)):
            owner = self._turn.session.owner
            file = await self._turn.kernel.files.get(file_id, owner=owner)
            data = await self._turn.kernel.files.read(file, owner=owner)
            self._given[file_id] = Attachment(file=file, data=data)
            encode = base64.b64encode if form == "plain" else base64.urlsafe_b64encode
            text = text.replace(f"segue-file:{form}:{file_id}", encode(data).decode())
        result: dict[str, Any] = json.loads(text)
        return result


def _quoted(file: File, data: bytes) -> str:
    text = data[:MOST_TEXT_BYTES].decode(errors="ignore")
    cut = "" if len(data) <= MOST_TEXT_BYTES else f"\n[The first {MOST_TEXT_BYTES:,} bytes of {len(data):,}]"
    return f"[File {file.name}]\n{text}\n[End of {file.name}]{cut}"
