"""Spoken conditions: "unless I have answered" and "until done", found in a sentence in six languages.

The condition in `remind me tomorrow at 9 unless I have answered` is not a time, and must not be lost.
"""

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

_ANSWERED = (
    r"unless\s+i(?:\s+have|['’]ve)?\s+(?:already\s+)?(?:answer(?:ed)?|repl(?:y|ied)|written|wrote)",
    r"(?:but\s+)?(?:only\s+)?if\s+i\s+(?:have\s+not|haven['’]t|did\s+not|didn['’]t|do\s+not|don['’]t)\s+"
    r"(?:yet\s+)?(?:answer(?:ed)?|repl(?:y|ied)|written)",
    r"(?:außer|ausser|es\s+sei\s+denn),?\s+(?:wenn\s+)?ich\s+(?:habe\s+)?(?:bis\s+dahin\s+|schon\s+)?"
    r"(?:geantwortet|antworte)(?:\s+habe)?",
    r"(?:nur\s+)?(?:falls|wenn|sofern)\s+ich\s+(?:bis\s+dahin\s+|noch\s+)?nicht\s+(?:geantwortet\s+habe|antworte)",
    r"sauf\s+si\s+j['’]ai\s+(?:déjà\s+)?répondu",
    r"(?:seulement\s+)?si\s+je\s+n['’]ai\s+pas\s+(?:encore\s+)?répondu",
    r"a\s+menos\s+que\s+(?:ya\s+)?(?:haya\s+(?:respondido|contestado)|(?:responda|conteste))",
    r"(?:solo\s+)?si\s+(?:todavía\s+)?no\s+(?:he\s+(?:respondido|contestado)|(?:respondo|contesto))",
    r"если\s+(?:только\s+)?я\s+(?:ещё\s+|еще\s+)?не\s+(?:отвечу|ответил[аи]?)",
    r"除非我(?:已经)?(?:回复|回答|答复)了?",
    r"(?:如果)?我还?没有?(?:回复|回答|答复)(?:的话)?",
)
_DONE = (
    r"until\s+(?:it(?:\s+is|['’]s)\s+|i(?:\s+am|['’]m)\s+|i\s+(?:say|write|reply|answer)\s+)?['‘“\"]?done['’”\"]?",
    r"bis\s+(?:es|ich)\s+(?:erledigt|fertig)\s+(?:ist|bin|sage)",
    r"jusqu['’]à\s+ce\s+que\s+ce\s+soit\s+fait",
    r"hasta\s+que\s+(?:esté\s+hecho|esté\s+listo|diga\s+hecho)",
    r"пока\s+(?:я\s+)?не\s+(?:сделаю|скажу\s+готово|будет\s+готово)",
    r"直到(?:我说)?(?:完成|做完)了?(?:为止)?",
)
_BY_THEN = r"(?:\s+(?:by\s+then|until\s+then|before(?:\s+then)?|yet|bis\s+dahin|d['’]ici\s+là|до\s+этого))?"


def _pattern(wordings: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        rf"\s*[,，;]?\s*(?<![^\W\u3000-\u9fff])(?:{'|'.join(wordings)}){_BY_THEN}", re.IGNORECASE
    )


_PATTERNS: Mapping[Literal["answered", "done"], re.Pattern[str]] = {
    "answered": _pattern(_ANSWERED),
    "done": _pattern(_DONE),
}


class SpokenCondition(NamedTuple):
    text: str
    """The sentence without its condition."""
    unless: Literal["answered", "done"] | None
    """`answered`, `done`, or None if it has none."""


def split_condition(sentence: str) -> SpokenCondition:
    """Returns the sentence without its condition, and the condition."""
    for word, pattern in _PATTERNS.items():
        if found := pattern.search(sentence):
            rest = f"{sentence[: found.start()]} {sentence[found.end() :].lstrip(' ,，')}"
            return SpokenCondition(rest.strip(), word)
    return SpokenCondition(sentence, None)
