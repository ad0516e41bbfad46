"""Files and web pages: the rules that call `read_file`, `list_files` and `fetch_url`."""

import re

from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.model.agent import ToolCalled

_SHOWN = 1_500
"""Characters of a file or page that an answer quotes."""


async def _read(request: RuleRequest, match: re.Match[str]) -> Use:
    path = match["path"]
    return Use("read_file", {"path": path}, lambda called: _quoted(f"Here is {path}:", called))


async def _list(request: RuleRequest, match: re.Match[str]) -> Use:
    folder = match["folder"] or "."
    title = "These are the files" + (f" in {folder}:" if match["folder"] else " of the workspace:")
    return Use("list_files", {"path": folder}, lambda called: _quoted(title, called))


async def _fetch(request: RuleRequest, match: re.Match[str]) -> Use:
    url = match["url"].rstrip(".,;!?")
    return Use("fetch_url", {"url": url}, lambda called: _quoted(f"This is what {url} says:", called))


def _quoted(title: str, called: ToolCalled) -> str:
    if called.error is not None:
        return f"That did not work: {called.error}."
    text = called.result or ""
    more = f"\n(and {len(text) - _SHOWN:,} more characters)" if len(text) > _SHOWN else ""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
    return f"{title}\n\n{fence}\n{text[:_SHOWN]}\n{fence}{more}"


RULES = (
    rule(
        r"\b(?:read|show|open|cat)\s+(?:me\s+)?(?:the\s+)?file\s+[\"'`]?(?P<path>[^\s\"'`]+?)[\"'`]?[.?!]?$",
        _read,
        example="read file notes.md",
        tool="read_file",
    ),
    rule(
        r"\b(?:list|show|what)\s+(?:me\s+)?(?:are\s+)?(?:all\s+)?(?:the\s+|my\s+)?files"
        r"(?:\s+(?:in|of|under)\s+[\"'`]?(?P<folder>[^\s\"'`]+?)[\"'`]?)?(?:\s+are\s+there)?[.?!]?$",
        _list,
        example="list files",
        tool="list_files",
    ),
    rule(
        r"\b(?:fetch|get|open|read|load)\s+(?:me\s+)?(?:the\s+)?(?:page\s+|site\s+|url\s+)?"
        r"(?P<url>[a-z][a-z0-9+.-]*://\S+)",
        _fetch,
        example="fetch https://example.org",
        tool="fetch_url",
    ),
)
