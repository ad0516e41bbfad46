"""Measures the reader of times on its corpus, and how long a reading and the next slot of a trigger take.

Run it with `python -m bench.times`.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import median
from time import thread_time_ns

from segue.errors import BadTime
from segue.times.days.working_days import Shift
from segue.times.reader import read_schedule
from segue.times.trigger import Cron, Every, RRule, Trigger
from tests.unit.when.phrase_corpus import (
    LANGUAGES,
    Outcome,
    Phrase,
    chat,
    daily,
    judge_phrase,
    judge_sentence,
    phrases,
    requests,
    sentences,
)

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
MEASURED = 5_000
REPEATED = 3

TRIGGERS: tuple[Trigger, ...] = (
    Every(3_600, start=NOW),
    Cron("0 9 * * 1-5", tz="Europe/Berlin"),
    Cron("*/15 8-18 * * MON-FRI", tz="America/New_York"),
    Cron("0 9 * * 1#1", tz="Europe/Berlin"),
    Cron("0 18 L * *", tz="Asia/Shanghai"),
    Cron("0 9 29 2 *", tz="UTC"),
    Cron("0 9 * * *", tz="Asia/Shanghai", days="CN"),
    Cron("0 9 1 * *", tz="Asia/Shanghai", days="CN", shift=Shift.NEXT),
    RRule("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2020-11-20T09:00", tz="Europe/Berlin"),
    RRule("FREQ=DAILY;INTERVAL=3", "2016-11-20T09:00", tz="Europe/Berlin"),
    RRule("FREQ=MONTHLY;INTERVAL=6", "2016-11-20T09:00", tz="Europe/Berlin"),
    RRule("FREQ=DAILY;BYHOUR=8,17;BYMINUTE=0,30;BYSETPOS=1,4", "2016-11-20T08:00", tz="Europe/Berlin"),
)


def main() -> None:
    heads = (
        f"{'lines':>7}{'right':>8}{'read':>8}{'asked':>7}{'refused':>9}{'wrong':>7}{'wrong of answers':>18}"
    )
    print(f"{'':24}{heads}")
    for aside in (False, True):
        for language in LANGUAGES:
            lines = [line for line in phrases(language) if line.set_aside is aside]
            _row(language + (", set aside" if aside else ""), lines, judge_phrase)
        _row("sentences" + (", later ones" if aside else ""), sentences(later=aside), judge_sentence)
        _row("requests" + (", later ones" if aside else ""), requests(later=aside), judge_sentence)
        _row("chat" + (", later ones" if aside else ""), chat(later=aside), judge_sentence)
        _row("daily life" + (", later ones" if aside else ""), daily(later=aside), judge_sentence)
    _readings()
    _slots()


def _row(name: str, lines: Iterable[Phrase], judge: Callable[[Phrase], tuple[Outcome, str]]) -> None:
    counts = Counter(judge(line)[0] for line in lines)
    right, asked, refused, wrong = (counts[outcome] for outcome in Outcome)
    total, answers = counts.total(), right + wrong
    rightly, share = f"{(right + asked) / total:.1%}", f"{wrong / max(1, answers):.1%}"
    print(f"{name:24}{total:7}{rightly:>8}{right:8}{asked:7}{refused:9}{wrong:7}{share:>18}")


def _readings() -> None:
    taken = [
        (min(_reading(phrase) for _ in range(REPEATED)), phrase.text)
        for language in LANGUAGES
        for phrase in phrases(language)
    ]
    slowest, text = max(taken)
    middle = median(milliseconds for milliseconds, _ in taken)
    print(f"\na phrase: {middle:.2f} ms in the middle, {slowest:.2f} ms at most ({text!r})")


def _reading(phrase: Phrase) -> float:
    started = thread_time_ns()
    with suppress(BadTime):
        read_schedule(phrase.text, now=phrase.now, zone=phrase.zone)
    return (thread_time_ns() - started) / 1e6


def _slots() -> None:
    chance = Random(26)
    print(f"\nnext_after, µs{'':44}{'median':>8}{'p99':>8}")
    for trigger in TRIGGERS:
        moments = [NOW + timedelta(minutes=chance.randint(0, 1_000_000)) for _ in range(MEASURED)]
        taken = sorted(min(_next(trigger, moment) for _ in range(REPEATED)) for moment in moments)
        print(f"{str(trigger)[:57]:58}{taken[len(taken) // 2]:8.1f}{taken[len(taken) * 99 // 100]:8.1f}")


def _next(trigger: Trigger, moment: datetime) -> float:
    started = thread_time_ns()
    trigger.next_after(moment)
    return (thread_time_ns() - started) / 1e3


if __name__ == "__main__":
    main()
