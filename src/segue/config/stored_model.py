"""Stored model connection: the model that an admin connected on the page, in a file of the data folder.

Only its owner may read the file. It is a file and not a row, so that a backup of conversations holds no key.
Every process that shares the folder reads it. Processes on other machines take the model from their
environment.
"""

import json
import os
import secrets
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

from segue.config.channels import MaybeAddress
from segue.config.parts import Part, Secret, Wanted, part
from segue.config.readers import choice, secret, text
from segue.errors import BadSetting
from segue.record import record
from segue.store.sqlite.permissions import FILE_MODE, make_folder

FILE = "model.json"
LONGEST_KEY = 4_096

Version: TypeAlias = tuple[int, int, int]


class ModelProvider(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    OLLAMA = "ollama"
    COMPATIBLE = "compatible"
    """Any server with OpenAI's chat completions."""


ADDRESSES = {
    ModelProvider.OPENAI: "https://api.openai.com/v1",
    ModelProvider.ANTHROPIC: "https://api.anthropic.com",
    ModelProvider.OLLAMA: "http://127.0.0.1:11434/v1",
}
"""The addresses of the providers. Ollama is on this machine."""


def _check_key(key: str) -> None:
    if not key.isascii() or not key.isprintable() or " " in key or not 0 < len(key) <= LONGEST_KEY:
        raise ValueError("a key is a string of ASCII letters, digits and signs without spaces")


@record
class ModelConnection(Part):
    provider: Annotated[ModelProvider, Wanted("a provider", choice(ModelProvider))]
    name: Annotated[str, Wanted("a name", text(pattern=r"[^\s\x00-\x1f\x7f]{1,200}"))]
    """As the provider calls it."""
    base_url: MaybeAddress = None
    """Unset: the provider's own address. A compatible server has no such address."""
    key: Annotated[Secret | None, Wanted("the provider's key", secret(_check_key))] = None

    def same_place(self, other: "ModelConnection | None") -> bool:
        """Whether both send their key to the same address."""
        return other is not None and (self.provider, self.base_url) == (other.provider, other.base_url)


class StoredModel:
    def __init__(self, data: Path) -> None:
        self._path = data / FILE

    def version(self) -> Version | None:
        """Changes whenever the file does; None if there is none."""
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def read(self) -> ModelConnection | None:
        """Return the stored connection. Raises `BadSetting` if the file cannot be read."""
        try:
            return part(ModelConnection)(json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not what Segue wrote"
            raise BadSetting(
                f"the connected model in {self._path} cannot be read: {why}; connect it again"
            ) from None

    def write(self, connection: ModelConnection | None) -> None:
        """Replace the file in one step, or remove it. Raises `OSError`."""
        if connection is None:
            self._path.unlink(missing_ok=True)
            return
        make_folder(self._path.parent)
        key = connection.key.reveal() if connection.key is not None else None
        content = json.dumps({**asdict(connection), "key": key})
        new = self._path.with_name(f"{FILE}.{secrets.token_hex(8)}")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        finally:
            new.unlink(missing_ok=True)
