"""How many tokens a text will be, about: counted by characters, without a tokenizer.

What a provider reports is the truth. In between, this is what thresholds are measured by.
"""

import re
from math import ceil

# Compiled when they are first needed, which takes longer than all the rest of this file.
_CJK = "[\u1100-\u11ff\u2e80-\u303f\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_ASTRAL = "[\U00010000-\U0010ffff]"


def estimate(text: str) -> int:
    if text.isascii():
        return ceil(len(text) / 4)
    cjk, astral = len(re.findall(_CJK, text)), len(re.findall(_ASTRAL, text))
    return ceil(cjk * 1.5 + astral * 2.0 + (len(text) - cjk - astral) * 0.25)
