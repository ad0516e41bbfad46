"""Plain English: lists every use of a word that Segue does not use, with file and line.

To add a word, add it to `AVOIDED` with what to write in its place. A place that needs one of the words, such
as a name that another program gives, goes into `ALLOWED`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT

AVOIDED = (
    # Code has a name: a worker, a caller, a client, a turn. People are users, operators, senders, readers.
    ("nobody", "no worker, no caller, no user"),
    ("somebody", "a user, a caller"),
    ("everybody", "all callers, all users"),
    ("anybody", "any user, any caller"),
    ("whoever", "the worker that, the caller that"),
    ("whomever", "name the subject"),
    ("whom", "name the subject"),
    # Old or literary words.
    ("befall", "happen to"),
    ("befell", "happened to"),
    ("befallen", "happened to"),
    ("anew", "again"),
    ("shall", "must, will"),
    ("stumbled?", "failed"),
    ("mend(ed|s)?", "fixed"),
    ("breed", "multiply"),
    ("for ever", "forever, without end"),
    ("c[ao]mes? to pass", "happen"),
    ("dear(er|est)?", "expensive"),
    # Metaphors that are not in docs/concepts.md.
    ("(the|our) house", "Segue, the process, the system"),
    ("cellar", "the store"),
    ("common_room|room of (its|their) own", "the common session, a session of its own"),
    ("guilty", "at fault"),
    ("innocents?", "the other transactions"),
    ("(is|are|was|were|be|been) let go", "cancelled, abandoned, lease lost"),
    ("takes? back", "reclaims"),
    ("the dead(?!.letter)", "expired leases, lost workers"),
)

ALLOWED = (
    # path, word, why
    ("tests/docs/test_language.py", "", "this list"),
    ("docs/design/tree.md", "", "quotes modules as they were before the rule"),
    ("src/segue/store/migrations/", "", "a released migration does not change"),
    ("src/segue/model/prompts/templates.py", "", "a published prompt does not change"),
    ("src/segue/agents/prompt.py", "", "a model's prompt is behaviour, and the words stand for people"),
    ("src/segue/memory/search.py", "", "stop words of users' texts"),
    ("tests/postgres.py", "nobody", "the operating system's user that owns PostgreSQL's files"),
)

WHERE = ("src", "tests", "bench", "examples", "docs")
SUFFIXES = {".py", ".js", ".sql", ".md", ".html", ".css", ".svg"}
# What stands around a word is looked at once, not once for each word: that takes a fourth of the time.
WORDS = re.compile(rf"(?<![a-z])(?:{'|'.join(word for word, _ in AVOIDED)})(?![a-z])", re.IGNORECASE)


def test_every_text_is_in_plain_english() -> None:
    found = [
        f"{name}:{line}: {word!r}: {text.strip()[:100]}"
        for path in texts()
        for name in [path.relative_to(ROOT).as_posix()]
        for line, text in enumerate(path.read_text("utf-8").splitlines(), 1)
        for word in (match[0].lower() for match in WORDS.finditer(text))
        if not any(name.startswith(place) and said in ("", word) for place, said, _ in ALLOWED)
    ]
    assert not found, f"{len(found)} places; AVOIDED says what to write:\n" + "\n".join(found)


def texts() -> Iterator[Path]:
    yield from sorted(ROOT.glob("*.md"))
    for folder in WHERE:
        yield from sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
