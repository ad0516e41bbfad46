"""Term search: splits texts into terms and ranks memories by the terms that they share with a query.

Texts are tokenized here and not by a database, so that SQLite and PostgreSQL find and rank the same. Terms
are the stems of lower-case words without function words and, at a fifth of the weight, their beginnings:
words of one family and compounds begin alike. For scripts without spaces, terms are pairs of neighbouring
characters and, at half the weight, single characters, because words of one meaning often share one. Scores
are similar to BM25: a rare term is worth more, a term that is frequent in a memory a little more, and a term
of a long passage less than one of a short sentence.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from segue.memory.stems import DEFAULT, all_languages, is_function_word, languages_of, stem

Terms: TypeAlias = Mapping[str, int]
"""Each term with its number of occurrences, with its weight, or with the number of the word it stands for."""
Scores: TypeAlias = Mapping[str, float]
"""The score of each memory, by its id."""

MOST_ROWS = 5_000
"""Read for one search: what they cost is most of what a search costs."""
NEIGHBOURS_SHARE = 0.5
"""What a passage takes of the scores of the passages before and after it."""
_LONGEST = 40
_BEGINNING = 4

_CJK = "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
# Strings, not compiled patterns, to keep imports fast; `re` caches them at their first use.
_PIECE = f"[{_CJK}]+|[^\\W_{_CJK}]+"
_SPACELESS = f"[{_CJK}]"
_COMMON_PAIRS = "什么 怎么 是什 我的 你的 我是 你是 的是 吗我 请问 一下 哪里 哪个 我们 你们 我在 么时"
_COMMON = frozenset(_COMMON_PAIRS.split())
"""Stop pairs of characters."""
_COMMON_ALONE = frozenset(
    "的了是我你他她它在有和也都就不这那吗呢吧啊么什怎哪个一上下来去要会能可以到多少几时候请给把被很"
)
"""Stop characters."""


def terms_of(text: str) -> dict[str, int]:
    """The terms of a text with their counts, without single characters."""
    words, pairs = _pieces(text)
    language = (languages_of(words) or [DEFAULT])[0]
    counted = Counter(pairs)
    counted.update(_term(word, language) for word in words if not is_function_word(word, language))
    return dict(counted)


def query_terms(query: str) -> dict[str, int]:
    """The terms to search for, each with the number of the word that it stands for.

    A word has several terms if it is not certain which language it is in. Single characters of scripts
    without spaces are words too.
    """
    words, pairs = _pieces(query)
    languages = languages_of(words)
    content = [word for word in words if not any(is_function_word(word, each) for each in languages)]
    asked: dict[str, int] = {}
    for number, word in enumerate(dict.fromkeys(content)):
        terms = [_term(word, each) for each in ([*languages, DEFAULT] if languages else all_languages())]
        for term in [*terms, *_beginnings(terms)]:
            asked.setdefault(term, number)
    for number, pair in enumerate(dict.fromkeys([*_single_characters(query), *pairs]), len(content)):
        asked.setdefault(pair, number)
    return asked


def pieces(text: str) -> list[str]:
    """The words of a text in lower case, and its runs of characters of scripts without spaces."""
    return re.findall(_PIECE, _plain(text))


def is_spaceless(piece: str) -> bool:
    return re.match(_SPACELESS, piece) is not None


def _pieces(text: str) -> tuple[list[str], list[str]]:
    """The words of a text, and its pairs of neighbouring characters of scripts without spaces."""
    words: list[str] = []
    pairs: list[str] = []
    for piece in pieces(text):
        if not is_spaceless(piece):
            words.append(piece)
            continue
        found = [piece[at : at + 2] for at in range(len(piece) - 1)] or [piece]
        pairs += [pair for pair in found if pair not in _COMMON]
    return words, pairs


def _term(word: str, language: str) -> str:
    return stem(word[:_LONGEST], language)


def _beginnings(terms: Iterable[str]) -> list[str]:
    """The beginnings of words, marked as such."""
    return [f"{term[:_BEGINNING]}~" for term in terms if len(term) > _BEGINNING and not is_spaceless(term)]


def _single_characters(text: str) -> Terms:
    return Counter(each for each in re.findall(_SPACELESS, _plain(text)) if each not in _COMMON_ALONE)


def affordable(frequency: Terms) -> list[str]:
    """The rarest terms, as many as may be read in full. `frequency` is how many memories have each."""
    chosen: list[str] = []
    rows = 0
    for term in sorted(frequency, key=lambda each: (frequency[each], each)):
        rows += frequency[term]
        if chosen and rows > MOST_ROWS:
            break
        chosen.append(term)
    return chosen


def score(asked: Terms, candidates: Mapping[str, Terms], frequency: Terms, total: int) -> dict[str, float]:
    """The score of each candidate, which has the weights of the asked terms that it contains.

    `total` is the number of all memories.
    """
    rarity = {
        term: math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))
        for term, count in frequency.items()
    }
    words = len(set(asked.values()))
    scores = {}
    for memory_id, weights_of_terms in candidates.items():
        best: dict[int, float] = {}
        for term, weight in weights_of_terms.items():
            value = rarity[term] * _saturated(weight)
            best[asked[term]] = max(best.get(asked[term], 0.0), value)
        share = len(best) / words
        scores[memory_id] = sum(best.values()) * (0.5 + 0.5 * share)
    return scores


def with_neighbours(scores: Scores, neighbours: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """The scores after each passage has taken half of its neighbours' scores.

    `neighbours` has the passages before and after a passage: an answer often stands next to the words that a
    user remembers.
    """
    taken = dict(scores)
    for memory_id, beside in neighbours.items():
        for each in beside:
            taken[each] = taken.get(each, 0.0) + NEIGHBOURS_SHARE * scores[memory_id]
    return taken


def best_first(scores: Scores) -> list[tuple[str, float]]:
    """Ids and scores, best first; of equal scores, the newer id."""
    rounded = ((memory_id, round(value, 9)) for memory_id, value in scores.items())
    return sorted(rounded, key=lambda one: (one[1], one[0]), reverse=True)


def _saturated(weight: int) -> float:
    """From 0 to 1: a term that occurs twice as often counts less than twice as much."""
    return weight / (weight + 60)


def weights(text: str) -> dict[str, int]:
    """The weight of each term of a text: its count in hundredths, relative to the text's length."""
    counted = terms_of(text)
    length = 0.6 + 0.4 * sum(counted.values()) / 12
    similar = {each: round(50 * count / length) for each, count in _single_characters(text).items()}
    similar |= {each: round(20 / length) for each in _beginnings(counted)}
    return similar | {term: round(100 * count / length) for term, count in counted.items()}


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
