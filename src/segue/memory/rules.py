"""Rule-based extractor: summarises and learns by regular expressions, without a model.

Its summary is an excerpt: the user's own sentences, shortened, and the last result of each job. It learns
from sentences that state a fact outright, such as "my name is Ada", "I moved to Lisbon", "I prefer tea",
"let's go with PostgreSQL", "remember that the door code is 4711", and the same in Chinese.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from segue.memory.extraction import Lesson, Material
from segue.memory.search import terms_of
from segue.model.memory import MemoryKind
from segue.model.records import Source
from segue.model.transcript import Message
from segue.times.clock import to_moment

_LINES = 40
_LINE = 200
# Strings, not compiled patterns, to keep imports fast; `re` caches them at their first use.
_SENTENCE = r"[^.!?。！？\n]+(?:[.](?=\S)[^.!?。！？\n]*)*[.!?。！？]?"
_QUESTION = r"[?？]\s*$|吗\s*$"


class RuleExtractor:
    name = "rules"

    async def summarise(self, material: Material) -> str:
        messages = [message for message in material.messages if message.role in ("user", "assistant")]
        job_results = {
            _job_prefix(message.source): _line(message)
            for message in messages
            if message.source and message.role == "assistant"
        }
        earlier = [] if material.earlier is None else material.earlier.splitlines()[1:]
        lines = [line for line in earlier if not line.startswith(tuple(job_results))]
        lines += [_line(message) for message in messages if message.source is None and message.role == "user"]
        lines += job_results.values()
        head = f"{len(messages)} messages, by excerpt (no model was asked):"
        return "\n".join([head, *lines[-_LINES:]]) if lines else ""

    async def learn(self, material: Material) -> Sequence[Lesson]:
        lessons: dict[str, Lesson] = {}
        for message in material.spoken:
            if message.role == "user":
                for lesson in _lessons(message):
                    lessons.pop(lesson.topic, None)
                    lessons[lesson.topic] = lesson
        return list(lessons.values())


class _Rule(NamedTuple):
    pattern: str
    kind: MemoryKind
    topic: Callable[[re.Match[str]], str]
    confidence: int


def _rule(
    pattern: str, kind: MemoryKind, topic: Callable[[re.Match[str]], str] | str, confidence: int
) -> _Rule:
    topic_of = topic if callable(topic) else (lambda match: topic)
    return _Rule(pattern, kind, topic_of, confidence)


def _about(name: str) -> Callable[[re.Match[str]], str]:
    return lambda match: f"{name} {_topic_key(match['what'])}"


def _named_topic(match: re.Match[str]) -> str:
    return _topic_key(match["topic"])


def _topic_key(words: str) -> str:
    return " ".join(sorted(terms_of(words)))[:120] or words.strip().casefold()[:120]


_RULES = (
    _rule(r"\bmy name is\b|\bcall me [A-Z]|我叫|我的名字", MemoryKind.FACT, "name", 90),
    _rule(
        r"\bI(?:'ve| have)? (?:just )?(?:live|moved|relocated|am based|'m based)\b (?:in|to)\b"
        r"|我(?:现在)?住在|我搬到",
        MemoryKind.FACT,
        "home",
        85,
    ),
    _rule(
        r"\bI(?:'m| am)? (?:work(?:ing)?|employed)\b (?:at|for|as)\b|我在.{1,20}(?:工作|上班)",
        MemoryKind.FACT,
        "work",
        80,
    ),
    _rule(r"\bmy (?P<topic>favou?rite [\w ]{2,40}?) (?:is|are)\b", MemoryKind.PREFERENCE, _named_topic, 85),
    _rule(r"我最喜欢的(?P<topic>.{1,10}?)是", MemoryKind.PREFERENCE, _named_topic, 85),
    _rule(
        r"\bI (?:do not|don't|really |no longer )?\s*(?:prefer|like|love|hate|dislike|enjoy)\b"
        r" (?P<what>.{2,80})",
        MemoryKind.PREFERENCE,
        _about("taste"),
        75,
    ),
    _rule(r"我(?:不)?(?:喜欢|讨厌|偏好)(?P<what>.{1,40})", MemoryKind.PREFERENCE, _about("taste"), 75),
    _rule(
        r"\b(?:let's|let us|we(?:'ll| will)?|I(?:'ll| will)?)\s*(?:have )?"
        r"(?:decided?|go with|settled? on|choose|chose)\b(?P<what>.{2,80})",
        MemoryKind.DECISION,
        _about("decision"),
        75,
    ),
    _rule(r"(?:我们?)?决定(?P<what>.{1,40})", MemoryKind.DECISION, _about("decision"), 75),
    _rule(
        r"\b(?:I|we) (?:still )?(?:need|have) to\b (?P<what>.{2,80})", MemoryKind.THREAD, _about("open"), 60
    ),
    _rule(r"我(?:还)?(?:需要|得|要去)(?P<what>.{1,40})", MemoryKind.THREAD, _about("open"), 60),
    _rule(
        r"\b(?:remember|note|keep in mind)\b(?: that|:)? (?:my |the |our )?"
        r"(?P<topic>.{2,80}?)(?= (?:is|are|was)\b|$)",
        MemoryKind.FACT,
        _named_topic,
        80,
    ),
    _rule(
        r"(?:请)?记(?:住|得)[:：，,]?(?:我的)?(?P<topic>.{1,40}?)(?=是|$)", MemoryKind.FACT, _named_topic, 80
    ),
    _rule(r"\bmy (?P<topic>[\w' ]{2,40}?) (?:is|are|has|was)\b", MemoryKind.FACT, _named_topic, 70),
    _rule(r"我的(?P<topic>[^，。,]{1,10}?)(?:是|叫|有)", MemoryKind.FACT, _named_topic, 70),
)


def _lessons(message: Message) -> Iterable[Lesson]:
    for sentence in re.findall(_SENTENCE, message.content):
        text = sentence.strip()
        if not text or re.search(_QUESTION, text):
            continue
        for rule in _RULES:
            if match := re.search(rule.pattern, text, re.IGNORECASE):
                yield Lesson(
                    kind=rule.kind,
                    topic=rule.topic(match),
                    content=text[:500],
                    confidence=rule.confidence,
                    source_seq=message.seq,
                )
                break


def _line(message: Message) -> str:
    words = " ".join(message.content.split())
    prefix = f"{_job_prefix(message.source)}{to_moment(message.at):%d %b}) " if message.source else "- "
    return f"{prefix}{words[:_LINE]}{'…' if len(words) > _LINE else ''}"


def _job_prefix(source: Source) -> str:
    """The beginning of the line with the last result of a job."""
    return f"- ({source.label}, "
