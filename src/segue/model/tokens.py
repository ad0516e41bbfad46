"""Token estimate: counts characters, without a tokenizer.

Thresholds and budgets use it; the exact numbers are those that a provider reports.
"""

import re
from math import ceil

# Strings, not compiled patterns, to keep imports fast; `re` caches them at their first use.
_CJK = "[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_ASTRAL = "[\U00010000-\U0010ffff]"


def estimate(text: str) -> int:
    if text.isascii():
        return ceil(len(text) / 4)
    cjk, astral = len(re.findall(_CJK, text)), len(re.findall(_ASTRAL, text))
    return ceil(cjk * 1.5 + astral * 2.0 + (len(text) - cjk - astral) * 0.25)
