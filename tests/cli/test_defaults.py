"""Defaults of the machine for settings that are not given: data folder and time zone."""

from pathlib import Path

import pytest

from segue.config.defaults import system_zone, user_data_folder


@pytest.mark.parametrize(
    ("platform", "env", "folder"),
    [
        ("linux", {"HOME": "/home/ann"}, "/home/ann/.local/share/segue"),
        ("linux", {"HOME": "/home/ann", "XDG_DATA_HOME": "/data"}, "/data/segue"),
        ("linux", {"HOME": "/home/ann", "XDG_DATA_HOME": "data"}, "/home/ann/.local/share/segue"),
        ("darwin", {"HOME": "/Users/ann"}, "/Users/ann/Library/Application Support/segue"),
        ("win32", {"LOCALAPPDATA": "/c/Users/ann/AppData/Local"}, "/c/Users/ann/AppData/Local/segue"),
    ],
)
def test_the_data_folder_follows_the_platform(platform: str, env: dict[str, str], folder: str) -> None:
    assert user_data_folder(env, platform) == Path(folder)


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
    ],
)
def test_tz_names_the_zone(zone: str, name: str, tmp_path: Path) -> None:
    assert system_zone({"TZ": zone}, tmp_path) == name


def test_localtime_links_to_the_zone(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "localtime").symlink_to("/usr/share/zoneinfo/America/New_York")
    assert system_zone({}, tmp_path) == "America/New_York"


def test_a_copied_localtime_uses_the_name_in_etc_timezone(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "localtime").write_bytes(b"TZif")
    assert system_zone({}, tmp_path) is None
    (tmp_path / "etc" / "timezone").write_text("Asia/Tokyo\n")
    assert system_zone({}, tmp_path) == "Asia/Tokyo"


def test_a_machine_without_a_zone_has_none(tmp_path: Path) -> None:
    assert system_zone({}, tmp_path) is None


def test_a_posix_zone_has_no_name(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "localtime").symlink_to("/usr/share/zoneinfo/America/New_York")
    assert system_zone({"TZ": "CET-1CEST"}, tmp_path) is None
