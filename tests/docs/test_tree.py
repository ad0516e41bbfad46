"""The page about the tree lists every file of the package, and the tree keeps its rules."""

import re
from collections import Counter

from tests.docs.tree import BEGIN, END, PAGE, SOURCE, describe, entries, folders

SECTION = re.compile(r"^### `(.+?)/`\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_MODULES = 20
SAME_CONCEPT = {"Kernel"}  # `segue.sync.Kernel` is `segue.Kernel` without `await`


def test_the_page_lists_every_entry_of_every_folder() -> None:
    listing = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    listed = {
        f"{folder}/{line.split()[0].rstrip('/')}"
        for folder, lines in SECTION.findall(listing)
        for line in lines.splitlines()
    }
    there = {path.relative_to(SOURCE.parent).as_posix() for folder in folders() for path in entries(folder)}
    assert listed == there, "`python -m tests.docs.tree` writes the page"


def test_every_entry_says_what_it_is() -> None:
    assert [path for folder in folders() for path in entries(folder) if not describe(path)] == []


def test_a_folder_has_at_most_twenty_modules() -> None:
    counts = {folder.name: len([*folder.glob("*.py")]) for folder in folders()}
    counts = {name: count for name, count in counts.items() if count - 1 > MOST_MODULES}  # without __init__
    assert counts == {}


def test_no_class_name_is_used_twice() -> None:
    names = Counter(
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE)
        if not name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == SAME_CONCEPT
