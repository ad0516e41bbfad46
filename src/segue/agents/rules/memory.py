"""Memory search: the rules that call `memory_search`."""

import re

from segue.agents.rules.rule import RuleRequest, Use, rule
from segue.model.agent import ToolCalled


async def _search(request: RuleRequest, match: re.Match[str]) -> Use:
    about = match["about"].strip(" .?!\"'")
    return Use("memory_search", {"query": about}, _result_text)


def _result_text(called: ToolCalled) -> str:
    if called.error is not None:
        return f"That did not work: {called.error}."
    return f"This is what I have kept (by word, not by meaning):\n\n{called.result}"


RULES = (
    rule(
        r"\bwhat (?:do|did) (?:you|i) (?:know|remember|say|tell you|decide) (?:of|about|on)\s+"
        r"(?P<about>.{2,200})$",
        _search,
        example="what do you remember about my flight?",
        tool="memory_search",
    ),
    rule(r"\b(?:search|look up)\s+(?:in\s+)?(?:your\s+)?memory\s+(?:for\s+)?(?P<about>.{2,200})$", _search),
    rule(r"你(?:还)?(?:记得|知道)(?P<about>.{1,40})(?:吗)?[?？]?$", _search, tool="memory_search"),
)
