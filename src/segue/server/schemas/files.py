"""Models of files: parts of messages, in requests and responses."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias, cast

from pydantic import BaseModel, Field, model_validator

from segue.model.files import MOST_PARTS, File
from segue.model.text_checks import MAX_TEXT
from segue.server.schemas.body import Body, broken_rule

FileId: TypeAlias = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]


class PartIn(Body):
    """A file of the session, by its id. The other fields may be given as the server sent them; they are not
    read."""

    id: FileId
    type: Literal["image", "file"] | None = None
    media_type: str | None = None
    name: str | None = None
    size: int | None = None


class PartOut(BaseModel):
    type: Literal["image", "file"] = Field(description="`image`: one that a model can look at.")
    media_type: str = Field(description="Found from the content.", examples=["image/png"])
    name: str = Field(description="Made safe to save under.", examples=["photo.png"])
    id: str = Field(description="Read the content with `GET /files/ID`.")
    size: int = Field(description="Bytes.")


class WithParts(Body):
    """A message of a request."""

    content: str = Field(
        max_length=MAX_TEXT,
        pattern=r"^[^\x00]*$",
        description="The text. With parts it may be empty: the names of the files then stand in its place.",
    )
    parts: list[PartIn] = Field(default_factory=list, max_length=MOST_PARTS)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self._is_empty():
            raise broken_rule("content", "write at least one word, or give a part")
        return self

    def _is_empty(self) -> bool:
        return not self.parts and not self.content.strip()

    @property
    def file_ids(self) -> list[str]:
        return [part.id for part in self.parts]


class Sent(WithParts):
    """A user's message, which may take the place of an earlier one."""

    content: str = Field(
        "",
        max_length=MAX_TEXT,
        pattern=r"^[^\x00]*$",
        description="The text. With parts it may be empty: the names of the files then stand in its place. "
        "With `replaces` and without parts, an empty text repeats what the user wrote in that turn.",
    )
    replaces: FileId | None = Field(
        None,
        description="The turn whose place this one takes: one of the session, of a user, that has ended.",
    )

    def _is_empty(self) -> bool:
        return self.replaces is None and super()._is_empty()


def part(file: File) -> PartOut:
    return PartOut(
        type=cast(Any, file.type), media_type=file.media_type, name=file.name, id=file.id, size=file.size
    )


def parts_out(files: Sequence[File]) -> list[PartOut]:
    return [part(file) for file in files]
