"""Defaults from the machine: the data folder and the time zone."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

from segue.errors import BadSetting

_ZONES = "zoneinfo/"
LOCAL_DATA = ".segue"
"""A data folder in the working folder, as `make run` creates it."""


def data_folder(env: Mapping[str, str], here: Path = Path()) -> Path:
    """Return `.segue` in the working folder if it exists, else the folder for user data on this platform."""
    local = here / LOCAL_DATA
    # `os.path.isdir` is False for a folder that this user may not read; `Path.is_dir` would raise.
    return local if os.path.isdir(local) else user_data_folder(env)


def user_data_folder(env: Mapping[str, str], platform: str = sys.platform) -> Path:
    """Return the folder for user data on this platform. Raises `BadSetting` without a home folder."""
    if platform == "win32" and (local := env.get("LOCALAPPDATA")):
        return Path(local) / "segue"
    if platform == "darwin":
        return _home(env) / "Library" / "Application Support" / "segue"
    folder = env.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a relative path.
    return (Path(folder) if os.path.isabs(folder) else _home(env) / ".local" / "share") / "segue"


def system_zone(env: Mapping[str, str], root: Path = Path("/")) -> str | None:
    """Return the IANA name of the zone that this terminal or machine is set to, or None if not known."""
    if terminal := env.get("TZ", "").removeprefix(":"):
        return _after_zones(terminal)
    clock = root / "etc" / "localtime"
    if clock.is_symlink() and (name := _after_zones(os.readlink(clock))):
        return name
    written = root / "etc" / "timezone"
    if written.is_file() and (name := _after_zones(written.read_text("utf-8", "replace").strip())):
        return name
    return None


def is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not found · not a name · a folder
        return False
    return True


def _after_zones(name: str) -> str | None:
    """Return the zone in `Europe/Berlin` or in `/usr/share/zoneinfo/Europe/Berlin`, or None."""
    name = name.rpartition(_ZONES)[2]
    return name if name and is_zone(name) else None


def _home(env: Mapping[str, str]) -> Path:
    if home := env.get("HOME"):
        return Path(home)
    try:
        return Path.home()
    except RuntimeError as error:
        raise BadSetting("this user has no home folder; name a folder for the data by SEGUE_DATA") from error
