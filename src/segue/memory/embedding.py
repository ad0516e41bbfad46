"""The embedder protocol, and vectors as they are stored and compared.

Segue needs no embedder. With one, search also ranks by meaning: vectors find words that no text shares.
A vector is stored as one byte a dimension, with one bit a dimension beside it: the bits of all of an owner's
passages are compared first, the bytes only of the nearest. So neither database needs an extension.
"""

import base64
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from segue.errors import Invalid
from segue.record import record

MOST_DIMENSIONS = 4_096
_STEPS = 127
_FUSION = 60
"""The constant of reciprocal rank fusion: how little the first ranks differ."""


class Embedder(Protocol):
    """Turns texts into vectors of one length. It may be called from several tasks at once."""

    name: str
    """Of the model, with its version. Vectors of different names are never compared."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Returns a vector for each text."""
        ...


@record
class StoredVector:
    model: str
    bits: str
    """The signs of the dimensions, in hexadecimal digits."""
    vector: str
    """The dimensions as signed bytes, in base64."""


def stored_vector(model: str, vector: Sequence[float]) -> StoredVector:
    """The vector as it is stored: of length 1, rounded. Raises `Invalid` for what is no vector."""
    values = [float(value) for value in vector]
    length = math.sqrt(sum(value * value for value in values))
    if not 1 <= len(values) <= MOST_DIMENSIONS or not math.isfinite(length) or length == 0:
        raise Invalid(f"the embedder {model} returned no usable vector ({len(values)} dimensions)")
    largest = max(abs(value) for value in values)
    rounded = array("b", (round(value / largest * _STEPS) for value in values))
    bits = sum(1 << at for at, value in enumerate(rounded) if value > 0)
    return StoredVector(model=model, bits=f"{bits:x}", vector=base64.b64encode(rounded.tobytes()).decode())


async def embedded(embedder: Embedder, texts: Sequence[str]) -> dict[str, StoredVector]:
    """The vectors of these texts, by the text. Raises what the embedder raises."""
    different = list(dict.fromkeys(text for text in texts if text.strip()))
    vectors = await embedder.embed(different) if different else []
    if len(vectors) != len(different):
        raise Invalid(
            f"the embedder {embedder.name} returned {len(vectors)} vectors for {len(different)} texts"
        )
    return {
        text: stored_vector(embedder.name, vector) for text, vector in zip(different, vectors, strict=True)
    }


def nearest_by_bits(wanted: StoredVector, bits: Iterable[tuple[str, str]], count: int) -> list[str]:
    """The ids whose bits differ least. `bits` has pairs of an id and its bits."""
    mine = int(wanted.bits, 16)
    distances = sorted(((int(each, 16) ^ mine).bit_count(), memory_id) for memory_id, each in bits)
    return [memory_id for _, memory_id in distances[:count]]


def similarity(one: StoredVector, other: str) -> float:
    """The cosine of two vectors; 0 for vectors of different lengths."""
    a, b = _values(one.vector), _values(other)
    if len(a) != len(b):
        return 0.0
    product = sum(x * y for x, y in zip(a, b, strict=True))
    lengths = math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))
    return product / lengths if lengths else 0.0


def _values(vector: str) -> "array[int]":
    return array("b", base64.b64decode(vector))


def fused(rankings: Iterable[Sequence[str]]) -> Mapping[str, float]:
    """Reciprocal rank fusion: a memory's score is the sum over the rankings of 1 / (60 + rank)."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, memory_id in enumerate(ranking, start=1):
            scores[memory_id] = scores.get(memory_id, 0.0) + 1 / (_FUSION + rank)
    return scores
