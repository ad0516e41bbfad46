"""Formats values for sentences: errors, reasons, descriptions of schedules."""

from datetime import timedelta

_LONGEST = 60
_UNITS = (
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("min", timedelta(minutes=1)),
    ("s", timedelta(seconds=1)),
    ("ms", timedelta(milliseconds=1)),
)


def quoted(value: object) -> str:
    """The caller's value in quotes, shortened to fit into a sentence."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print an int of more than 4,300 digits
        return f"an enormous {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def spoken(duration: timedelta, *, units: int = len(_UNITS)) -> str:
    """`2 h`, `1 d 30 min`: the largest `units` units that are not zero, the rest cut off."""
    words = []
    for name, unit in _UNITS:
        count, duration = divmod(duration, unit)
        if count:
            words.append(f"{count} {name}")
    return " ".join(words[:units]) or "0 s"
