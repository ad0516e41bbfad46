"""The JavaScript on the page about clients runs and prints what it says. Its Python runs in `tests/docs`."""

import asyncio
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks
from tests.wires.conftest import PATIENCE, Wire

PRINTS = "\n// It prints:\n"
EXAMPLES = [block for block in blocks(ROOT / "docs" / "guides" / "clients.md") if block.language == "js"]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.location)
async def test_an_example_prints_what_it_says(wire: Wire, node_folder: Path, block: Block) -> None:
    program, marker, comment = block.text.partition(PRINTS)
    assert marker, f"{block.location} does not say what it prints"
    script = node_folder / f"example_{block.line}.mjs"
    script.write_text(program.replace("http://localhost:8000", wire.url), "utf-8")
    process = await asyncio.create_subprocess_exec("node", str(script), stdout=-1, stderr=-1)
    async with asyncio.timeout(PATIENCE):
        printed, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    expected = [line.removeprefix("// ") for line in comment.splitlines()]
    assert "".join(printed.decode().splitlines()) == "".join(expected)
