"""Recall instructions: the rule for good ones, and a check that finds lazy ones.

A recall gives the agent only the conversation and this text. "Tell the user that 2 hours have passed" leaves
it nothing to do. The check is coarse on purpose: it finds instructions that only ask for talk and name
nothing to look at, and accepts everything else.
"""

import re

BAD = "Tell the user that 2 hours have passed"
GOOD = "Read /tmp/build.log with filesystem. If errors, read last 50 lines and report."

RULE = (
    "Write it as a todo for yourself, not as a reminder to chat: say what to do, which tools, files or URLs "
    f"to use, and what to report. BAD: {BAD!r}. GOOD: {GOOD!r}"
)

_CONCRETE = re.compile(
    r"\b\w+://\S"  # a URL
    r"|(?<!\w)[~.]{0,2}/\w"  # a path
    r"|\b\w[\w-]+\.[a-z][a-z0-9]{1,5}\b"  # a file, a host
    r"|\b[a-z]+(?:_[a-z0-9]+)+\b"  # a tool's name
    r"|\b\w+\s+tool\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\W*(?:please\s+|bitte\s+|por favor\s+)?(?:"
    r"(?:tell|remind|notify|inform|alert|ping|let|message|greet|say|ask)\b"
    r"|(?:sage?|erinnere|informiere|melde|teile)\b"
    r"|(?:dile|recu[eé]rdale|av[ií]sale|di|recuerda|avisa)\b"
    r"|(?:dis|rappelle|pr[eé]viens|informe)\b"
    r"|(?:скажи|напомни|сообщи|передай)\w*\b"
    r"|请?(?:告诉|提醒|通知|跟)"
    r")",
    re.IGNORECASE,
)
_FEWEST_WORDS = 3
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def lazy(instruction: str) -> bool:
    """Whether it names nothing to work with, and only asks for talk or has fewer than three words."""
    if _CONCRETE.search(instruction):
        return False
    short = len(instruction.split()) < _FEWEST_WORDS and not _CJK.search(instruction)
    return short or _TALK.match(instruction) is not None
