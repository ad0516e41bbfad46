"""How a memory is found: by the terms it shares with a query.

Terms are cut here and not by a database, so that SQLite and PostgreSQL find and rank the same: words of
letters and digits in lower case, less the commonest English ones and their plainest endings; of scripts that
write no spaces, every two neighbouring characters, and for half as much each character alone: words that mean
the same often share one. A term that few memories hold is worth more, one that is said often in a memory a
little more, and a long passage less per term than a short sentence.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

Terms: TypeAlias = Mapping[str, int]
"""Each with how often it occurs."""

MOST_ROWS = 20_000
_LONGEST = 40

_CJK = "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
# Compiled when they are first needed.
_PIECE = f"[{_CJK}]+|[^\\W_{_CJK}]+"
_SPACELESS = f"[{_CJK}]"
_COMMON_WORDS = """
    a an and are as at be been but by can could did do does for from had has have he her him his how i if
    in into is it its me my no not of on or our shall she should so that the their them then there they
    this to us was we were what when where which who whom why will with would you your about again any
    just tell remember please
    什么 怎么 是什 我的 你的 我是 你是 的是 吗我 请问 一下 哪里 哪个 我们 你们 我在 么时
"""
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words and pairs that say nothing about what a text is about."""
_COMMON_ALONE = frozenset(
    "的了是我你他她它在有和也都就不这那吗呢吧啊么什怎哪个一上下来去要会能可以到多少几时候请给把被很"
)
"""Characters that say nothing by themselves."""
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "er", "es", "ed", "ly", "s")


def terms_of(text: str) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for piece in re.findall(_PIECE, _plain(text)):
        if re.match(_SPACELESS, piece):
            pairs = [piece[at : at + 2] for at in range(len(piece) - 1)] or [piece]
            counted.update(pair for pair in pairs if pair not in _COMMON)
        elif piece not in _COMMON:
            counted[_stem(piece)[:_LONGEST]] += 1
    return dict(counted)


def sought(text: str) -> dict[str, int]:
    """What a text is found by: its terms, and the characters of spaceless scripts by themselves."""
    return {**alone(text), **terms_of(text)}


def alone(text: str) -> Terms:
    return Counter(each for each in re.findall(_SPACELESS, _plain(text)) if each not in _COMMON_ALONE)


def ranked(asked: Terms, held: Mapping[str, Terms], total: int) -> list[tuple[str, float]]:
    """Ids and scores, the best first; of equals, the newer id."""
    spread = Counter(term for terms in held.values() for term in terms)
    worth = {term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in spread.items()}
    scored = []
    for memory_id, terms in held.items():
        score = sum(worth[term] * _often(weight) for term, weight in terms.items())
        share = len(terms) / len(asked)
        scored.append((memory_id, round(score * (0.5 + 0.5 * share), 9)))
    return sorted(scored, key=lambda one: (one[1], one[0]), reverse=True)


def _often(weight: int) -> float:
    """`weight` is how often, in hundredths, as a share of what it stands among."""
    return weight / (weight + 60)


def weights(text: str) -> dict[str, int]:
    """What each term of a text is worth there, in hundredths."""
    counted = terms_of(text)
    length = 0.6 + 0.4 * sum(counted.values()) / 12
    single = {each: round(50 * count / length) for each, count in alone(text).items()}
    return single | {term: round(100 * count / length) for term, count in counted.items()}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _stem(word: str) -> str:
    """Without its plainest ending, so that `moved` finds `moving`. What is short stays as it is."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            if ending in ("ies", "ied"):
                return stem + "y"
            return stem.rstrip("e") if len(stem) > 3 else stem
    return word.rstrip("e") if len(word) > 3 else word
