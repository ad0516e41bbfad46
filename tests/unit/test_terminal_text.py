"""Text for a terminal: tables that fit, Markdown by lines, times for a person."""

from datetime import datetime

import pytest

from segue.cli.chat.markdown_lines import MarkdownLines, styled
from segue.cli.chat.screen import Screen
from segue.cli.support.human_time import exact_time, human_interval, human_time
from segue.cli.support.table import cells, record_lines, table_lines
from segue.times.clock import to_ms

BOLD, RED, CODE, RESET = "\x1b[1m", "\x1b[31m", "\x1b[36m", "\x1b[0m"
ROWS = [["01a1", "error", "a long reason that says why"], ["01a2", "ok", ""]]
COLUMNS = ("run", "outcome", "reason")


def test_a_table_without_a_width_shows_everything() -> None:
    assert table_lines(COLUMNS, ROWS, width=None, colour=False) == [
        "run   outcome  reason",
        "01a1  error    a long reason that says why",
        "01a2  ok",
    ]


@pytest.mark.parametrize("width", [30, 25, 22])
def test_a_table_fits_the_terminal_and_keeps_its_first_column(width: int) -> None:
    lines = table_lines(COLUMNS, ROWS, width=width, colour=False)
    assert all(cells(line) <= width for line in lines)
    assert [line.split()[0] for line in lines] == ["run", "01a1", "01a2"]
    assert lines[1].endswith("…")


def test_names_of_columns_are_cut_before_a_row_takes_two_lines() -> None:
    rows = [["01a1", "at 09:00 on weekdays", "tomorrow 09:00"]]
    lines = table_lines(("job", "schedule", "next run"), rows, width=20, colour=False)
    assert lines == ["job   sched…  next …", "01a1  at 09…  tomor…"]


def test_a_column_without_a_text_is_left_out_of_a_table_that_does_not_fit() -> None:
    rows = [["01a1", "", "a long reason"], ["01a2", "", "none"]]
    columns = ("run", "error", "reason")
    assert table_lines(columns, rows, width=20, colour=False)[0] == "run   reason"
    assert table_lines(columns, rows, width=40, colour=False)[0] == "run   error  reason"


def test_a_terminal_too_narrow_for_the_table_gets_a_record_for_each_row() -> None:
    lines = table_lines(COLUMNS, ROWS, width=15, colour=False)
    assert lines == [
        "run      01a1",
        "outcome  error",
        "reason   a long reason that says why",
        "",
        "run      01a2",
        "outcome  ok",
    ]


def test_a_note_of_the_chat_breaks_between_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("NO_COLOR", "1")
    Screen().note("/help  lists commands, Ctrl-D leaves.\n◷ today")
    assert capsys.readouterr().out == "/help  lists\ncommands, Ctrl-D\nleaves.\n◷ today\n"


def test_states_have_a_colour_and_plain_text_has_none() -> None:
    head, first, _ = table_lines(COLUMNS, ROWS, width=None, colour=True)
    assert head.startswith(BOLD)
    assert f"{RED}error  {RESET}" in first
    assert "\x1b" not in "".join(table_lines(COLUMNS, ROWS, width=None, colour=False))


def test_wide_characters_take_two_cells() -> None:
    lines = table_lines(("名", "b"), [["每天检查", "1"], ["x", "2"]], width=None, colour=False)
    assert lines == ["名        b", "每天检查  1", "x         2"]
    assert cells("e\u0301") == 1


def test_a_record_indents_further_lines() -> None:
    lines = record_lines([("name", "x"), ("message", "one\ntwo")], colour=False)
    assert lines == ["name     x", "message  one", "         two"]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("## Report", f"{BOLD}Report{RESET}"),
        ("It is **green**.", f"It is {BOLD}green{RESET}."),
        ("run `make`", f"run {CODE}make{RESET}"),
        ("- one", "• one"),
        ("  - [x] done", "  ☑ done"),
        ("see [the log](https://example.org)", "see the log (https://example.org)"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        ("plain", "plain"),
    ],
)
def test_a_line_of_markdown_is_styled(line: str, shown: str) -> None:
    assert MarkdownLines().line(line) == shown


def test_code_keeps_its_text() -> None:
    shown = styled("```\n**not bold**\n- no item\n```\n**bold**").split("\n")
    assert shown[1:3] == [f"{CODE}**not bold**{RESET}", f"{CODE}- no item{RESET}"]
    assert shown[4] == f"{BOLD}bold{RESET}"


NOW = to_ms(datetime.fromisoformat("2026-11-17T12:00:00+01:00"))


@pytest.mark.parametrize(
    ("at", "shown"),
    [
        ("2026-11-17T09:00:00+01:00", "today 09:00"),
        ("2026-11-17T23:30:00+00:00", "tomorrow 00:30"),
        ("2026-11-16T09:00:00+01:00", "yesterday 09:00"),
        ("2026-11-20T09:00:00+01:00", "Fri 20 Nov 09:00"),
        ("2030-01-02T09:00:00+01:00", "2 Jan 2030 09:00"),
    ],
)
def test_a_time_is_told_as_a_person_would(at: str, shown: str) -> None:
    assert human_time(to_ms(datetime.fromisoformat(at)), "Europe/Berlin", NOW) == shown


def test_one_thing_shows_the_second_and_the_zone() -> None:
    assert exact_time(NOW, "Europe/Berlin") == "2026-11-17 12:00:00 Europe/Berlin"
    assert (exact_time(None, "UTC"), human_time(None, "UTC", NOW), human_interval(None)) == ("", "", "")
    assert human_interval(600) == "10 min"
