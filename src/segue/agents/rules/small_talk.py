"""Small talk: greetings, the time, help, and the answer to text that no other rule matches."""

import re
from collections.abc import Sequence

from segue.agents.rules.rule import Rule, RuleRequest, rule

_WHO = "I am the offline model of Segue: a few rules, no language model."
_QUOTED = 200


def rules_about(*topics: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return the rules of this topic, which come last. `topics`: the other rules, for their examples."""

    async def capable(request: RuleRequest, match: re.Match[str]) -> str:
        usable = [
            one for topic in topics for one in topic if one.tool is None or one.tool in request.box.tools
        ]
        examples = [one.example for one in usable if one.example] + ["what time is it?"]
        return (
            f"{_WHO} I need no key and no network, and what I do is really done. Try:\n\n"
            + "\n".join(f"- {example}" for example in examples)
            + "\n\nSet `SEGUE_MODEL` to talk with a real model."
        )

    async def other(request: RuleRequest, match: re.Match[str]) -> str:
        words = " ".join(request.text.split())
        quoted = f"“{words[:_QUOTED]}{'…' if len(words) > _QUOTED else ''}”"
        if request.turn.source is not None:
            return f"It is {request.now:%H:%M}, and this is due: {quoted}"
        return f"You said {quoted}. {_WHO} Ask me “what can you do?” to see what I understand."

    return (
        rule(r"\b(?:what can you do|what do you understand|who are you|what are you)\b|^help\W*$", capable),
        rule(r"\bwhat(?:'s| is)? (?:the )?(?:time|date|day)\b|\bwhat day is\b", _time),
        rule(r"现在几点|几点了", _time_in_chinese),
        rule(r"^\W*(?:hi|hello|hey|good (?:morning|day|evening)|moin|hallo)\b[^?]{0,20}$", _greet),
        rule(r"\b(?:thanks|thank you)\b", _thanked),
        rule(r"", other),
    )


async def _greet(request: RuleRequest, match: re.Match[str]) -> str:
    return f"Hello! {_WHO} Ask me “what can you do?” to begin."


async def _time(request: RuleRequest, match: re.Match[str]) -> str:
    return f"It is {request.now:%H:%M on %A, %d %B %Y} in {request.zone or 'UTC'}."


async def _time_in_chinese(request: RuleRequest, match: re.Match[str]) -> str:
    return f"现在是 {request.now:%Y年%m月%d日 %H:%M}（{request.zone or 'UTC'}）。"


async def _thanked(request: RuleRequest, match: re.Match[str]) -> str:
    return "You are welcome."
