"""Term search: finds and ranks memories by the terms that they share with a query, similar to BM25.

Texts are tokenized here and not by a database, so that SQLite and PostgreSQL find and rank the same. Terms
are lower-case words without stop words and common English endings. For scripts without spaces, terms are
pairs of neighbouring characters and, at half the weight, single characters, because words of one meaning
often share one. A rare term is worth more, a term that is frequent in a memory a little more, and a term of a
long passage less than one of a short sentence.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

Terms: TypeAlias = Mapping[str, int]
"""Each term with its number of occurrences, or with its weight."""

MOST_ROWS = 20_000
_LONGEST = 40

_CJK = "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
# Strings, not compiled patterns, to keep imports fast; `re` caches them at their first use.
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
"""Stop words, and stop pairs of characters."""
_COMMON_ALONE = frozenset(
    "的了是我你他她它在有和也都就不这那吗呢吧啊么什怎哪个一上下来去要会能可以到多少几时候请给把被很"
)
"""Stop characters."""
_ENDINGS = ("ings", "ing", "ies", "ied", "ers", "er", "es", "ed", "ly", "s")


def terms_of(text: str) -> dict[str, int]:
    """The terms of a text with their counts, without single characters."""
    counted: Counter[str] = Counter()
    for piece in re.findall(_PIECE, _plain(text)):
        if re.match(_SPACELESS, piece):
            pairs = [piece[at : at + 2] for at in range(len(piece) - 1)] or [piece]
            counted.update(pair for pair in pairs if pair not in _COMMON)
        elif piece not in _COMMON:
            counted[_stem(piece)[:_LONGEST]] += 1
    return dict(counted)


def query_terms(query: str) -> dict[str, int]:
    """The terms to search for: those of the query, and its single characters of scripts without spaces."""
    return {**_single_characters(query), **terms_of(query)}


def _single_characters(text: str) -> Terms:
    return Counter(each for each in re.findall(_SPACELESS, _plain(text)) if each not in _COMMON_ALONE)


def rank(query: Terms, candidates: Mapping[str, Terms], total: int) -> list[tuple[str, float]]:
    """Ids and scores, best first; of equal scores, the newer id. `total` is the number of all memories."""
    memories_with = Counter(term for terms in candidates.values() for term in terms)
    rarity = {
        term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in memories_with.items()
    }
    scored = []
    for memory_id, terms in candidates.items():
        score = sum(rarity[term] * _saturated(weight) for term, weight in terms.items())
        share = len(terms) / len(query)
        scored.append((memory_id, round(score * (0.5 + 0.5 * share), 9)))
    return sorted(scored, key=lambda one: (one[1], one[0]), reverse=True)


def _saturated(weight: int) -> float:
    """From 0 to 1: a term that occurs twice as often counts less than twice as much."""
    return weight / (weight + 60)


def weights(text: str) -> dict[str, int]:
    """The weight of each term of a text: its count in hundredths, relative to the text's length."""
    counted = terms_of(text)
    length = 0.6 + 0.4 * sum(counted.values()) / 12
    single = {each: round(50 * count / length) for each, count in _single_characters(text).items()}
    return single | {term: round(100 * count / length) for term, count in counted.items()}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _stem(word: str) -> str:
    """The word without a common ending, so that `moved` finds `moving`. Short words stay as they are."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            if ending in ("ies", "ied"):
                return stem + "y"
            return stem.rstrip("e") if len(stem) > 3 else stem
    return word.rstrip("e") if len(word) > 3 else word
