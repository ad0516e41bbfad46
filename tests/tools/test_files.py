"""File tools: files of the workspace can be read, and nothing outside it, however a path is written."""

import os
import socket
import threading
from pathlib import Path

import pytest

from segue.agents.tools.files import LARGEST_FILE, LONGEST_PAGE, MOST_NAMES, file_tools
from segue.agents.tools.registry import Tool, ToolContext
from segue.errors import BadSetting
from tests.tools.using import refused, result, use

SECRET = "the password is swordfish"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a secret next to it, and several paths that might lead there."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    inside = tmp_path / "workspace"
    (inside / "notes").mkdir(parents=True)
    (inside / "notes" / "today.md").write_text("Water the plants.\n")
    (inside / "empty.txt").write_text("")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    (inside / "folder").symlink_to(tmp_path / "outside")
    (inside / "inner.md").symlink_to(inside / "notes" / "today.md")
    (inside / "loop").symlink_to(inside / "loop")
    (inside / "root").symlink_to("/")
    os.mkfifo(inside / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(inside / "socket"))
    return inside


@pytest.fixture
def tools(workspace: Path) -> list[Tool]:
    return file_tools(workspace)


@pytest.mark.parametrize(
    "path", ["notes/today.md", "./notes/today.md", "notes//today.md", "notes/./today.md"]
)
async def test_a_file_is_read(context: ToolContext, tools: list[Tool], path: str) -> None:
    assert await result(context, tools, "read_file", path=path) == "Water the plants."


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "notes/../../secret.txt",
        "notes/../notes/today.md",
        "..",
        "/etc/passwd",
        "//etc/passwd",
        "~/secret.txt",
        "~root/secret.txt",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/dev/stdin",
        "..\\secret.txt",
        "link.txt",
        "folder/secret.txt",
        "inner.md",
        "loop",
        "root/etc/passwd",
        "root/proc/self/environ",
        "pipe",
        "socket",
        "notes/today.md/..",
        "notes/today.md/more",
        "notes\0/today.md",
        "notes/today.md\0",
        "\ud800",
        "%2e%2e/secret.txt",
        "file:///etc/passwd",
        "a" * 300,
        "x/" * 5000,
        "nothing.txt",
        "notes",
        "",
    ],
)
async def test_no_path_leads_out(context: ToolContext, tools: list[Tool], path: str) -> None:
    told = await refused(context, tools, "read_file", path=path)
    assert "swordfish" not in told


@pytest.mark.parametrize(
    "path", ["..", "folder", "root", "root/etc", "/", "/proc", "link.txt", "notes/today.md"]
)
async def test_no_folder_outside_is_listed(context: ToolContext, tools: list[Tool], path: str) -> None:
    assert "secret" not in await refused(context, tools, "list_files", path=path)


async def test_an_open_workspace_leaks_no_descriptors(context: ToolContext, tools: list[Tool]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in ("notes/today.md", "link.txt", "pipe", "nothing", "notes"):
        await use(context, tools, "read_file", path=path)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_a_path_that_is_swapped_while_it_is_walked_leads_nowhere_else(
    context: ToolContext, tools: list[Tool], workspace: Path
) -> None:
    """A folder and a link to the secret's folder alternate under one name, as fast as possible."""
    (workspace / "turning").mkdir()
    (workspace / "turning" / "secret.txt").write_text("harmless")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            os.rename(workspace / "turning", workspace / "aside")
            os.rename(workspace / "folder", workspace / "turning")
            os.rename(workspace / "turning", workspace / "folder")
            os.rename(workspace / "aside", workspace / "turning")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(300):
            called = await use(context, tools, "read_file", path="turning/secret.txt")
            assert called.result in (None, "harmless")
    finally:
        over.set()
        swapper.join()


async def test_a_folder_is_listed_with_its_links_unopened(context: ToolContext, tools: list[Tool]) -> None:
    assert (await result(context, tools, "list_files")).splitlines() == [
        "empty.txt (0 bytes)",
        "folder (cannot be opened: a link)",
        "inner.md (cannot be opened: a link)",
        "link.txt (cannot be opened: a link)",
        "loop (cannot be opened: a link)",
        "notes/",
        "pipe (cannot be opened: no file)",
        "root (cannot be opened: a link)",
        "socket (cannot be opened: no file)",
    ]
    assert await result(context, tools, "list_files", path="notes") == "today.md (18 bytes)"


async def test_a_long_file_is_given_in_pages(
    context: ToolContext, tools: list[Tool], workspace: Path
) -> None:
    lines = [f"line {number} " + "x" * 90 for number in range(1, 501)]
    (workspace / "long.txt").write_text("\n".join(lines))
    shown: list[str] = []
    start = 1
    while start <= len(lines):
        page = (await result(context, tools, "read_file", path="long.txt", start=start)).splitlines()
        read = [line for line in page if not line.startswith("(")]
        assert len("\n".join(read)) <= LONGEST_PAGE
        shown += read
        start += len(read)
    assert shown == lines
    told = await refused(context, tools, "read_file", path="long.txt", start=501)
    assert told == "long.txt has 500 lines; there is no line 501"


async def test_one_endless_line_is_cut(context: ToolContext, tools: list[Tool], workspace: Path) -> None:
    (workspace / "line.txt").write_text("x" * (LONGEST_PAGE * 2))
    assert await result(context, tools, "read_file", path="line.txt") == "x" * LONGEST_PAGE


async def test_a_binary_file_is_refused(context: ToolContext, tools: list[Tool], workspace: Path) -> None:
    (workspace / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (workspace / "nul.txt").write_bytes(b"text\x00text")
    for path in ("photo.png", "nul.txt"):
        assert await refused(context, tools, "read_file", path=path) == f"{path} is not a text file"


async def test_a_huge_file_is_refused(context: ToolContext, tools: list[Tool], workspace: Path) -> None:
    (workspace / "huge.txt").write_bytes(b"x" * (LARGEST_FILE + 1))
    assert "the most is 1,000,000" in await refused(context, tools, "read_file", path="huge.txt")


async def test_many_names_are_counted(context: ToolContext, tools: list[Tool], workspace: Path) -> None:
    (workspace / "many").mkdir()
    for number in range(MOST_NAMES + 3):
        (workspace / "many" / f"{number:04}").touch()
    listed = (await result(context, tools, "list_files", path="many")).splitlines()
    assert len(listed) == MOST_NAMES + 1
    assert listed[-1] == "(and 3 more)"


async def test_a_name_that_is_not_utf8_is_listed(
    context: ToolContext, tools: list[Tool], workspace: Path
) -> None:
    (workspace / "odd").mkdir()
    (workspace / "odd" / os.fsdecode(b"\xff.txt")).touch()
    assert await result(context, tools, "list_files", path="odd") == "\ufffd.txt (0 bytes)"


def test_a_missing_workspace_is_a_wrong_setting(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="the workspace is a folder that exists"):
        file_tools(tmp_path / "nowhere")
