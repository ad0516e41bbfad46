"""The first run: the address in a frame, a quiet log, and the same data for `serve` and other commands."""

import json
import re
import signal
from pathlib import Path

import httpx2

from tests.cli.process import Segue
from tests.cli.terminal import CTRL_C, at_terminal


async def test_a_terminal_shows_the_address_in_a_frame_and_a_quiet_log(segue: Segue) -> None:
    segue.forked = False
    async with at_terminal(segue, "serve", "--port", "0") as terminal:
        shown = await terminal.see(f"Data: {segue.data}\n")
        rule, line, end = [text for text in shown.splitlines() if text][:3]
        assert (rule[0], line[0], end[0], line[-1]) == ("┌", "│", "└", "│")
        assert len(rule) == len(line) == len(end)
        [address] = re.findall(r"http://\S+", line)
        async with httpx2.AsyncClient() as client:
            assert (await client.get(f"{address}/health")).status_code == 200
            assert (await client.get(address)).status_code == 200
        terminal.type(CTRL_C)
        await terminal.see("stopped")
        assert await terminal.end() == 0
    assert "GET /" not in terminal.output
    assert '{"timestamp"' not in terminal.output


async def test_elsewhere_the_line_is_plain_and_requests_are_logged_as_json(segue: Segue) -> None:
    async with segue.serving() as server:
        assert (await server.client.get("/health")).status_code == 200
        assert await server.process.line() == f"Data: {segue.data}\n"
        server.process.tell(signal.SIGTERM)
        assert await server.process.end() == 0
        lines = [json.loads(line) for line in server.process.log.splitlines()]
    assert any("GET /health" in line["message"] for line in lines)


async def test_commands_find_the_data_of_make_run_in_its_folder(segue: Segue, tmp_path: Path) -> None:
    segue.env["SEGUE_DATA"] = ""
    assert (await segue("sessions", "add-message", "web:1", "Hello", "--data", ".segue")).code == 0
    listed = await segue("sessions", "list", "--json")
    assert [each["key"] for each in json.loads(listed.out)["sessions"]] == ["web:1"]
    doctor = await segue("doctor")
    assert str(tmp_path / ".segue") in doctor.out


async def test_without_such_a_folder_the_users_data_folder_is_used(segue: Segue) -> None:
    segue.env |= {"SEGUE_DATA": "", "XDG_DATA_HOME": str(segue.folder / "home")}
    refused = await segue("sessions", "list")
    assert f"there is no database at {segue.folder}/home/segue/segue.db" in refused.err
