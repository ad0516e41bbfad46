"""What a test needs and may not find here: a program, a package index, a registry.

On a developer's machine such a test is skipped. In continuous integration it fails: there a test that cannot
run is a fault.
"""

import os
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest


def cannot_run(sentence: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(sentence)
    pytest.skip(sentence)


def npm_install(folder: Path, *packages: str) -> None:
    """Install packages from npm into a folder."""
    options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    command = ["npm", "install", *options, *packages]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        names = ", ".join(packages)
        cannot_run(f"npm could not install {names}: it needs npm and a registry ({type(error).__name__})")
