"""Counts lines of code: without blank lines, comments and docstrings.

    python -m bench.code_lines src/segue/store [more folders or files]

A line counts when a token of code is on it. SQL files are not counted.
"""

import sys
import tokenize
from pathlib import Path

_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def code_lines(path: Path) -> int:
    lines: set[int] = set()
    statement_starts = True
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            is_docstring = token.type == tokenize.STRING and statement_starts
            if token.type not in _NOT_CODE and not is_docstring:
                lines.update(range(token.start[0], token.end[0] + 1))
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                statement_starts = token.type in _NOT_CODE
    return len(lines)


def main() -> None:
    total = 0
    for name in sys.argv[1:]:
        path = Path(name)
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        for file in files:
            total += (count := code_lines(file))
            print(f"{count:6} {file}")
    print(f"{total:6} in all")


if __name__ == "__main__":
    main()
