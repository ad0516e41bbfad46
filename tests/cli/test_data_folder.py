"""A data folder that cannot be used: every command reports it in a sentence."""

import ctypes
import os
import sys
from pathlib import Path

import pytest

from tests.cli.process import Ended, Segue

COMMANDS = (
    ("serve", "--port", "0"),
    ("worker",),
    ("chat",),
    ("sessions", "list"),
    ("sessions", "add-message", "web:1", "Hello."),
    ("jobs", "list", "web:1"),
    ("recalls", "list", "web:1"),
    ("messages", "list", "web:1"),
    ("channels", "list"),
    ("runs", "list", "web:1"),
    ("memories", "list"),
    ("import", "jobs.json"),
    ("doctor",),
    ("db", "status"),
    ("db", "migrate"),
)

STAYING = ("serve", "worker", "chat")
"""They need their own process, because they handle signals."""

_CAPABILITIES = 0x20080522
"""The version of the structures that Linux reads."""
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2


def give_up_rights_of_root() -> None:
    """Let file permissions apply to this process, as they do for any other user."""
    if os.getuid():
        return
    system = ctypes.CDLL(None)
    header, sets = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    assert system.capget(header, sets) == 0
    for effective_or_permitted in (0, 1):
        sets[effective_or_permitted] &= ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    assert system.capset(header, sets) == 0


def check_refused(ended: Ended, words: str) -> None:
    told = ended.out + ended.err
    assert ended.code == 1, told
    assert words in told
    assert "Traceback" not in told
    assert "Error: " in ended.err or "wrong" in ended.out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("below", ["", "below"])
async def test_a_file_in_place_of_the_folder_is_refused(
    segue: Segue, command: tuple[str, ...], below: str
) -> None:
    (segue.folder / "jobs.json").write_text('{"jobs": []}')
    segue.data.write_text("a file")
    segue.env["SEGUE_DATA"] = str(segue.data / below)
    run = segue.process if command[0] in STAYING else segue
    check_refused(await run(*command), "part of its path is a file where a folder is wanted")


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder without read permission for its owner."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="root gives up its rights as Linux has it")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
async def test_an_unreadable_folder_is_refused(
    tmp_path: Path, closed: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "jobs.json").write_text('{"jobs": []}')
    segue = Segue(tmp_path, {"SEGUE_DATA": str(closed)}, before=give_up_rights_of_root)
    check_refused(
        await segue.process(*command), "(permission denied); let this user read and write its folder"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="root gives up its rights as Linux has it")
async def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    segue = Segue(tmp_path, before=give_up_rights_of_root)
    segue.data.mkdir(mode=0o555)
    for command in (("serve", "--port", "0"), ("doctor",)):
        ended = await segue.process(*command)
        check_refused(ended, "may not be written to" if command[0] == "serve" else "there is no database")


@pytest.mark.skipif(os.getuid() != 0 or sys.platform != "linux", reason="only root can start a process there")
async def test_an_unreadable_working_folder_has_no_settings(tmp_path: Path, closed: Path) -> None:
    data = str(tmp_path / "data")
    segue = Segue(closed, {"HOME": str(tmp_path), "SEGUE_DATA": data}, before=give_up_rights_of_root)
    migrated = await segue.process("db", "migrate")
    assert migrated.code == 0, migrated.err
