"""Small talk: greetings, the time, help, and the answer to text that no other rule matches."""

import re
from collections.abc import Sequence

from segue.agents.rules.phrases import PHRASES, Phrases
from segue.agents.rules.rule import Move, Rule, RuleRequest, rule

_WHO = "I am the offline model of Segue: a few rules, no language model."
_QUOTED = 200


def rules_about(*topics: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return the rules of this topic, which come last. `topics`: the other rules, for their examples."""

    async def capable(request: RuleRequest, match: re.Match[str]) -> str:
        usable = [
            one for topic in topics for one in topic if one.tool is None or one.tool in request.box.tools
        ]
        examples = [one.example for one in usable if one.example] + ["what time is it?"]
        model = "Connect a model in the page's settings, or set `SEGUE_MODEL`, to talk with a real one."
        return "\n".join([f"{PHRASES['en'].help}\n", *_listed(examples), f"\n{model}"])

    def capable_in(phrases: Phrases) -> Move:
        async def move(request: RuleRequest, match: re.Match[str]) -> str:
            examples = [phrases.reminder_example, phrases.task_example]
            return "\n".join([f"{phrases.help}\n", *_listed(examples)])

        return move

    async def other(request: RuleRequest, match: re.Match[str]) -> str:
        words = " ".join(request.text.split())
        quoted = f"“{words[:_QUOTED]}{'…' if len(words) > _QUOTED else ''}”"
        if request.turn.source is not None:
            return f"It is {request.now:%H:%M}, and this is due: {quoted}"
        return f"You said {quoted}. {_WHO} Ask me “what can you do?” to see what I understand."

    return (
        rule(PHRASES["en"].can, capable),
        *(
            rule(phrases.can, capable_in(phrases))
            for language, phrases in PHRASES.items()
            if language != "en"
        ),
        rule(r"\bwhat(?:'s| is)? (?:the )?(?:time|date|day)\b|\bwhat day is\b", _time),
        rule(r"现在几点|几点了", _time_in_chinese),
        rule(r"^\W*(?:hi|hello|hey|good (?:morning|day|evening)|moin|hallo)\b[^?]{0,20}$", _greet),
        rule(r"\b(?:thanks|thank you)\b", _thanked),
        rule(r"", other),
    )


def _listed(examples: Sequence[str]) -> list[str]:
    return [f"- {example}" for example in examples]


async def _greet(request: RuleRequest, match: re.Match[str]) -> str:
    return f"Hello! {_WHO} Ask me “what can you do?” to begin."


async def _time(request: RuleRequest, match: re.Match[str]) -> str:
    return f"It is {request.now:%H:%M on %A, %d %B %Y} in {request.zone or 'UTC'}."


async def _time_in_chinese(request: RuleRequest, match: re.Match[str]) -> str:
    return f"现在是 {request.now:%Y年%m月%d日 %H:%M}（{request.zone or 'UTC'}）。"


async def _thanked(request: RuleRequest, match: re.Match[str]) -> str:
    return "You are welcome."
