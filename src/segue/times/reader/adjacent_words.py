"""Finds time words directly before or after a time phrase in a sentence that were not read with it.

In `every other friday at 9`, the words `every other` stand before the phrase `friday at 9`. Joining words are
skipped: in `every day at 9 and 17`, the words `and 17` follow the phrase. A number is a time word only if it
can be an hour: in `tomorrow 5` it is one, in `tomorrow 5 people come` it is not.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from segue.record import positional
from segue.times.reader.language import Language
from segue.times.reader.languages.english import ENGLISH
from segue.times.reader.vocabulary import Groups, bare, groups_of, simplified

_WORD = re.compile(
    r"\b[Qq]u['’](?=\w)|[\u3400-\u9fff]|[^\s\u3400-\u9fff\u3001\u3002\uff0c\uff1b\uff01\uff1f]+"
)
"""Chinese has no spaces: there every character may begin or end a phrase. `qu'à 16h` contains one, too."""
_OPENING = "\"'([{“„«‘¿¡*_<"
_CLOSING = "\"')]}”“»’*_>.,;:!?…"
_EDGE = re.compile(r"[.!?;…\n\u3002\uff1b\uff01\uff1f]")
"""Separates words of different sentences. A comma does not."""

_AT_MOST = 6
"""How many words are checked on each side."""

_SHAPES = (
    ("clock", re.compile(r"\d{1,2}(?::\d{2}){1,2}(?:-?ish)?|\d{1,2}-?ish|\d{1,2}h\d{2}")),
    ("clock", re.compile(r"\d{1,2}(?::\d{2})?(?:am|pm|[ap]\.m\.?|uhr|o'clock)")),
    ("clock", re.compile(r"\d{4}-\d{2}-\d{2}.*|\d{1,2}([./])\d{1,2}\1(?:\d{2}|\d{4})?|\d{1,2}/\d{1,2}")),
    ("clock", re.compile(r".*\d:\d{2}[-–—].*\d|\d{1,2}(?:am|pm|h)?[-–—]\d{1,2}(?:am|pm|uhr|h)")),
    ("time", re.compile(r"\d{1,2}[x×]")),
    ("span", re.compile(r"\d+(?:[.,]\d+)?(?:s|secs?|m|mins?|mn|h|hrs?|std|d|w|wks?|ч|мин)")),
    ("rank", re.compile(r"\d{1,2}(?:st|nd|rd|th|er|\.|-го|-е|º)")),
    ("number", re.compile(r"\d{1,2}(?:[-–—.,]\d{1,2})?|\d{4}")),
)
_ZONE = re.compile(
    r"[ECMP][SD]?T|AK[SD]T|HST|BST|WES?T|CES?T|EES?T|MSK|IST|JST|KST|SGT|HKT|AE[SD]T|AWST|NZ[SD]T|PKT|BRT|ART"
    r"|(?:UTC|GMT)(?:[+-]\d.*)?|[+-]\d{1,2}(?::?\d{2})?"
)
_ZONE_IN_A_HURRY = re.compile(r"[ecmp][sd]t|ces?t|bst|msk|utc|gmt")

_HANZI_TIME = (
    r"(?:每|隔|周[一二三四五六日天末]|星期|礼拜|今[天早晚]|明[天早晚]|后天|下[个周]|早上|上午|中午|下午|傍晚|晚上|凌晨"
    r"|半夜"
    r"|工作日|周末|月底|年底|(?:\d{1,2}|[一二两三四五六七八九十]{1,3})(?:点|时|号|日|月|小时|分钟|秒|天|个小时|个月"
    r"|周(?!报)))"
)
_HANZI_RUN = re.compile(
    rf"{_HANZI_TIME}(?:{_HANZI_TIME}|[隔个周月年底初点时分半左右前后一二两三四五六七八九十\d]|天(?!气))*"
)
_HANZI_AFTER = re.compile(
    rf"\s*(?:[，,、]?(?:到|至|~|-|—|和|及|或者?|还有|以及|直到|除了?)?\s*{_HANZI_TIME}|(?:到|至|和|及|或者?)\s*\d{{1,2}}[:：]\d{{2}}|左右|前后|之前|之后|以前|以后|以内|之内|为止"
    r"|前(?![往台端面后进途提])|起(?![床来飞身草])|开始每|直到|除了?|多(?=[，,。]|$)|[东北纽伦][京约敦]时间)"
)
_HANZI_BEFORE = re.compile(
    rf"(?:[一二两三四五六七八九十](?=$)|距?离|距|{_HANZI_TIME}[^\w]*(?:的|到|至|和|及|或者?|还有|、|，)?|每隔?[一二两三四五六\d]*(?:个|周|月|年|天|日|星期)*的?|隔|(?:每个?[月年周]的?)?(?:第[一二三四五\d]个?|最后一?[个天]?)|从?{_HANZI_TIME}(?:起|开始)|上个?"
    r"|除了?|最晚|最迟|不晚于|自|从|截至|直到|大概|大约|约|差不多|不是|别|[^\s，。]{2}时间)$"
)


_HANZI_DIGITS = "一二两三四五六七八九十"
_HANZI_ELSEWHERE = re.compile(
    r"前(?:半个?|[\d一二两三四五六七八九十]+个?)(?:小时|分钟|天|周)|[两三四五六七八九十几\d]次"
)
"""Words that change a time wherever they stand: an hour before, three times."""

_SHORT_WORDS = (
    "ca approx env aprox mon tue tues wed thu thur thurs fri sat sun jan feb mar apr jun jul aug sep sept oct"
    " nov dec mo di mi do fr sa so lun mer jeu ven sam dim mar mié jue vie sáb dom janv févr avr juil déc okt"
    " dez ene abr ago dic пн вт ср чт пт сб вс"
)
_ABBREVIATIONS = frozenset(_SHORT_WORDS.split())
"""Words after which a full stop ends no sentence."""
_ELSEWHERE = re.compile(
    r"\b(?:the )?(?:same|this|that) (?:time|hour)\b|\b(?:die|der)?(?:selben?|gleichen?) (?:uhr)?zeit\b"
    r"|\bum diese zeit\b|\bm[êe]me heure\b|\bà cette heure\b|\bmisma hora\b|\ba esta hora\b"
    r"|\bв (?:это|то|такое) же время\b|[同这那]一?个?时[间候刻]"
    r"|\bfirst thing\b|\bals erstes\b|\bpremière heure\b|\bprimera hora\b|\bпервым делом\b|一大早|大清早"
    r"|\b(?:end of (?:the )?|all )day\b|\bclose of business\b|\b(?:eod|cob)\b|\bfeierabend\b|\bganztägig\b"
    r"|\bfin de (?:la )?journée\b|\bfinal del día\b|\bдо конца дня\b"
    r"|\b(?:beforehand|in advance|vorher|à l'avance|antelación|заранее|à partir d[eu]|a partir del?)\b|提前"
    r"|\b(?:minutes?|mins?|hours?|hrs?|days?|weeks?) (?:early|ahead|prior|sooner)\b"
    r"|\b(?:minuten?|min|stunden?|tage?|wochen?) (?:früher|eher|davor|zuvor|vorab|später|im voraus)\b"
    r"|\b(?:minutes?|min|heures?|jours?|semaines?) (?:plus t[ôo]t|plus tard|en avance)\b"
    r"|\b(?:minutos?|horas?|días?|semanas?) más tarde\b"
    r"|\bза (?:\S+ )?(?:минут|час|полчаса|день|дня|дней|сутки|недел)"
    r"|[早晚](?:\d+|[一二两三四五六七八九十半]+)个?(?:分钟|小时)"
    r"|\bза\b[^,.]{1,20}\bдо\b|\bat the latest\b|\bau plus tard\b|\bcomo muy tarde\b|\ba más tardar\b",
    re.IGNORECASE,
)
"""A time of day that is not named but meant, a distance from the time, and deadlines."""
_SCORE = re.compile(
    r"(?:\b(?:score|result|ratio|es steht|steht es|spielstand|endstand|ergebnis|verhältnis|résultat|marcador"
    r"|resultado|сч[её]т|результат|psalm|verse|chapter|genesis|exodus|vers|kapitel|psaume"
    r"|verset|salmo|versículo"
    r"|псалом|стих|глава)\b|比分|章)(?:\W+\w+){0,3}\W*$",
    re.IGNORECASE,
)
"""Words before two numbers that are no time: `the score is 21:17`."""
_WHICH_BEFORE = re.compile(r"\b(?:de|du)(?: las?)? $", re.IGNORECASE)
_WHICH_AFTER = re.compile(r"的(?!时候)")
_NAME = re.compile(r"[\w,] [A-Z][a-z]+ $")
"""A name within a sentence, as in `read John 3:16`."""
_STARTING = re.compile(
    r"\b(?:à partir d[eu]?'?|a partir del?|as of"
    r"|(?:from|vom|von|du|del?|с) (?:the )?\d{1,2}(?:\.|st|nd|rd|th|er)?"
    r" (?:to|bis|auf|au|al?|по|до)(?: the| zum)?)\s*$",
    re.IGNORECASE,
)
"""`as of`, and the beginning of a range of days: `from 20 to`."""
_BESIDE = re.compile(
    r"\s+по \w+(?:ск|цк)ому времени|,? (?:[A-Z][\w.]* ){1,3}"
    r"(?:St|Street|Ave|Avenue|Rd|Road|Blvd|Boulevard|Lane|Ln|Drive|Way|Court|Square|Place)\b"
)
"""After a number: a zone that was not read, or a street, whose number it is."""
_COUNTED_NOUN = re.compile(r"(?i:\buhr \d{1,2}) [A-ZÄÖÜ][\wäöüß]+")
"""`17 Uhr 12 Eier`: the number may be minutes, or count what follows."""
_ABOUT_BEFORE = re.compile(
    r"\b(?:часов|где-то|tipo|à peu près|más o menos|somewhere|so(?= um$))\s*$", re.IGNORECASE
)
_ABOUT_AFTER = re.compile(
    r" (?:or so|or thereabouts|(?:he)?rum|y pico|o así|más o menos|à peu près|plus ou moins|плюс-минус"
    r"|или около того)\b",
    re.IGNORECASE,
)
"""An hour that is not meant exactly: `at 9 or so`."""
_DAY_ELSEWHERE = re.compile(
    r"\b(?:tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day)['’]s\b"
    r"|\b(?:über)?(?:morgig|gestrig)\w+|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?"
    r"(?=[a-zäöü]{4})\w+|\b(?:завтрашн|вчерашн|понедельнич|пятничн|субботн|воскресн)\w+",
    re.IGNORECASE,
)
"""The day of a thing, which may be that of an hour elsewhere: `friday's call is at 3pm`."""
_HANZI_POINT = re.compile(r"[一二两三四五六]点")
_HANZI_POINT_BEFORE = re.compile(r"(?:有|这|那|以下|下面|[提讲]了?)$")
_HANZI_POINT_AFTER = re.compile(r"意见|建议|要求|原因|理由|要?注意|好处|问题|感想|不同|区别|之间|水")
"""`三点意见` are three remarks: the word for an hour also counts points."""
_DASHES = frozenset("-–—~/+")
_IN = frozenset(("in", "on", "im", "am", "en", "por", "в", "во"))
_EITHER = frozenset(("and", "or", "&", "und", "oder", "et", "ou", "y", "o", "и", "или"))
_OF = frozenset(("of", "de", "des", "von", "d'"))
_MATTER = frozenset(("to", "that", "about", "daran", "dass", "que", "чтобы", "что"))
_MATTER_IN_CHINESE = re.compile(r"[\s,，]*请?(?:提醒|叫|告诉|通知)")
_ADDED = re.compile(r"(?:[,，、]|和|及|还有|以及|然后|再)\s*$")
_ZONE_NAMES = frozenset(
    ("eastern", "pacific", "central", "mountain", "local", "standard", "my", "your", "our")
)

_SILENT = frozenset(("join", "at"))
_ARTICLES = frozenset(("the", "a", "an", "my", "your", "our", "his", "her", "their"))
_COUNTED = frozenset(("day", "unit", "part", "month", "doubtful"))
"""Groups that `every` and `second` count."""
_FRACTIONS = frozenset(("half", "quarter", "halb", "viertel", "quart", "demi", "cuarto", "media", "четверть"))
_COUNTS = frozenset(("every", "rank", "number", "few"))
_ALWAYS = frozenset(("time", "clock", "span", "day", "date", "part", "bound", "about", "month", "often"))
"""Groups whose words are always time words before a phrase."""


@positional
class TimeWord:
    """A word of the sentence without the punctuation around it."""

    text: str
    start: int
    end: int
    after: str
    """The text between it and the next word."""

    @property
    def last(self) -> bool:
        """Whether it ends a sentence."""
        return _EDGE.search(self.after) is not None and self.text.lower() not in _ABBREVIATIONS


def split(sentence: str) -> list[TimeWord]:
    words: list[TimeWord] = []
    found = list(_WORD.finditer(sentence))
    for index, match in enumerate(found, 1):
        following = found[index].start() if index < len(found) else len(sentence)
        bare = match[0].lstrip(_OPENING)
        start = match.end() - len(bare)
        text = bare.rstrip(_CLOSING) or bare
        words.append(TimeWord(text, start, start + len(text), sentence[start + len(text) : following]))
    return words


class AdjacentWords:
    """The words around one phrase, by the languages that read it."""

    def __init__(
        self, sentence: str, words: Sequence[TimeWord], languages: Sequence[Language], phrase: range
    ) -> None:
        """`phrase` is the range of the phrase's characters."""
        self._written, self._phrase = sentence, phrase
        self._sentence = simplified(sentence)
        self.languages = tuple(languages)
        self._groups = groups_of(self.languages)
        self._inside = [word for word in words if word.start in phrase]
        self._before = [word for word in words if word.start < phrase.start][-_AT_MOST:]
        self._after = [word for word in words if word.start >= phrase.stop][:_AT_MOST]

    def before(self) -> int | None:
        """The start of the time words directly before the phrase; None if there are none."""
        phrase = self._phrase.start
        near = self._sentence[max(0, phrase - 8) : phrase].rstrip(" ，,")
        opening = self._sentence[phrase : phrase + 1]
        found = _HANZI_BEFORE.search(near)
        if found and (found[0] not in _HANZI_DIGITS or opening in _HANZI_DIGITS):
            return max(0, phrase - 8) + found.start()
        if found := _STARTING.search(self._sentence[:phrase]):
            return found.start()
        if found := _ABOUT_BEFORE.search(self._sentence[:phrase]):
            return found.start()
        run = list(self._before)
        if len(run) > 1 and run[-1].text.lower() in _EITHER and self._group(run[-2]) in ("number", "rank"):
            return run[-2].start
        for index in reversed(range(len(run))):
            if self._parted(run[index]):
                del run[: index + 1]
                break
        joined = ""
        while run and self._group(run[0]) in _SILENT:
            joined = run.pop(0).text.lower()
        return run[0].start if self._counts([self._group(word) for word in run], joined) else None

    def after(self) -> int | None:
        """The end of the time words directly after the phrase; None if there are none."""
        phrase = self._phrase.stop
        if found := _HANZI_AFTER.match(self._sentence, phrase):
            return found.end()
        if found := _BESIDE.match(self._written, phrase) or _ABOUT_AFTER.match(self._written, phrase):
            return found.end()
        if points := self._points():
            return points
        if (found := _COUNTED_NOUN.search(self._written, self._phrase.start)) and (
            found.start() < phrase < found.end()
        ):
            return found.end()
        following = self._after[0].start if self._after else len(self._sentence)
        if _EDGE.search(self._sentence[phrase:following]):
            return None
        end: int | None = None
        for index, word in enumerate(self._after):
            if not self._is_time(index):
                break
            if self._group(word) not in _SILENT:
                end = word.end
            if word.last:
                break
        return end

    def is_attribute(self) -> bool:
        """`the 8pm show`: the words are an attribute of the noun that follows."""
        if not self._before or self._before[-1].last:
            return False
        article = self._before[-1].text.lower()
        if article == "the":
            return True
        if not self._after:
            return False
        touched = not self._sentence[self._phrase.stop : self._after[0].start].strip()
        following = self._group(self._after[0])
        return touched and article in _ARTICLES and following is None

    def is_of(self) -> bool:
        """`el tren de las 8:05`, `le train de 8h05`, `8点05的火车`: which one it is, not when."""
        before, after = self._sentence[: self._phrase.start], self._sentence[self._phrase.stop :]
        return _WHICH_BEFORE.search(before) is not None or _WHICH_AFTER.match(after) is not None

    def _points(self) -> int | None:
        """The end of what `三点` counts."""
        begin, end = self._phrase.start, self._phrase.stop
        if not _HANZI_POINT.fullmatch(self._sentence, begin, end):
            return None
        if found := _HANZI_POINT_AFTER.match(self._sentence, end):
            return found.end()
        return end if _HANZI_POINT_BEFORE.search(self._sentence[:begin]) else None

    def day_elsewhere(self) -> str:
        """The day of a thing in the sentence, if the phrase is only an hour."""
        found = _DAY_ELSEWHERE.search(self._written)
        return found[0] if found else ""

    def is_score(self) -> bool:
        before = self._sentence[: self._phrase.start]
        return _SCORE.search(before) is not None or (
            ENGLISH in self.languages
            and self._sentence[self._phrase.start].isdecimal()
            and _NAME.search(before) is not None
        )

    def hour_before(self) -> int | None:
        """The start of a number directly before the phrase that may be an hour: `twelve tomorrow`."""
        if self._before and self._group(self._before[-1]) == "number" and not self._parted(self._before[-1]):
            return self._before[-1].start
        return None

    def elsewhere(self) -> str:
        """The time words that change the phrase although they are not adjacent."""
        found = _ELSEWHERE.search(self._sentence) or _HANZI_ELSEWHERE.search(
            self._sentence, self._phrase.stop
        )
        return self._written[found.start() : found.end()] if found else ""

    def _parted(self, word: TimeWord) -> bool:
        """Whether neither the word nor anything before it belongs to the phrase."""
        group = self._group(word)
        return (
            group is None or word.last or ("," in word.after and group in ("about", "bound", "every", "rank"))
        )

    def _counts(self, groups: Sequence[str | None], joined: str) -> bool:
        """Whether words of these groups before a phrase are time words."""
        significant = [group for group in groups if group not in _SILENT]
        if not _ALWAYS.isdisjoint(significant) or (significant == ["doubtful"] and joined in _IN):
            return True
        if len(significant) > 1 and set(significant) != {"doubtful"}:
            return True
        if any(word.text.lower() in _FRACTIONS for word in self._before[-3:]) and significant[-1:] == ["few"]:
            return True
        if significant == ["unit"] and self._before[-1].text.lower() in _OF:
            return True
        opening = next((g for word in self._inside if (g := self._group(word)) not in _SILENT), None)
        if significant == ["number"]:
            return opening == "day" and self._inside[0].text.endswith("s")  # `3 fridays from now`
        if significant == ["every"]:
            return opening in _COUNTED or opening in ("rank", "number")
        return significant == ["rank"] and (opening in _COUNTED or opening in ("rank", "every"))

    def _is_time(self, index: int) -> bool:
        """Whether the word at this index after the phrase is a time word; this may depend on the next one."""
        word = self._after[index]
        group = self._group(word)
        if group is None:
            return self._is_zone(index)
        if group not in ("join", "at", "about", "every", "number", "few", "doubtful", "rank", "often"):
            return True
        if group == "doubtful" and index == 0 and word.text.lower() in ("am", "pm"):
            return True
        if index < 2 and self._has_second_hour():
            return True
        if word.text.lower() in _FRACTIONS or (index == 0 and word.text.lower() == "past"):
            return True
        if word.last or index + 1 == len(self._after):
            return group in ("number", "rank", "often")
        if group == "about" and self._group(self._after[index + 1]) == "number":
            return True
        following = self._group(self._after[index + 1])
        if group == "number":
            of = self._after[index + 1].text.lower() in _OF
            return following is not None and not of
        if group in ("rank", "often", "doubtful") and following in _SILENT:
            return group != "doubtful"
        return self._is_time(index + 1)

    def _has_second_hour(self) -> bool:
        """Whether `at 9` is followed by `and 17`, which is an hour whatever comes next."""
        if len(self._after) < 2 or self._group(self._inside[-1]) not in ("number", "clock"):
            return False
        joined, number = self._after[0].text.lower(), self._after[1].text
        return joined in _EITHER and number.isdecimal() and int(number) < 24

    def _is_zone(self, index: int) -> bool:
        """`EST`, `Pacific time`."""
        word = self._after[index].text
        if _ZONE.fullmatch(word) or (index == 0 and _ZONE_IN_A_HURRY.fullmatch(word)):
            return True
        if index > 1 or len(self._after) < 2 or self._after[1].text.lower() not in ("time", "ortszeit"):
            return False
        name = self._after[0].text
        return name[:1].isupper() or name.lower() in _ZONE_NAMES

    def introduces(self) -> bool:
        """`in 10 minutes to …`, `明天9点提醒我…`: what follows is what to do, not a part of the time."""
        if _MATTER_IN_CHINESE.match(self._sentence, self._phrase.stop):
            return True
        if not self._after or self._after[0].text.lower() not in _MATTER:
            return False
        following = self._group(self._after[1]) if len(self._after) > 1 else None
        return following in (None, "join", "doubtful")

    def is_added(self) -> bool:
        """`and at 5pm`: after a conjunction or a comma it is a further time, and no part of the subject."""
        start = self.before()
        start = self._phrase.start if start is None else start
        if _ADDED.search(self._sentence[:start]):
            return True
        return any(word.end <= start and word.text.lower() in _EITHER for word in self._before[-1:])

    def _group(self, word: TimeWord) -> str | None:
        return group_of(word.text, self._groups)


def run_of_time(sentence: str, words: Sequence[TimeWord], languages: Sequence[Language]) -> str:
    """The first run of words in a sentence that mean a time together; empty if there is none."""
    if found := _HANZI_RUN.search(simplified(sentence)):
        return sentence[found.start() : found.end()]
    groups = groups_of(tuple(languages))
    run: list[tuple[TimeWord, str]] = []
    for word in words:
        group = group_of(word.text, groups)
        if group is not None:
            run.append((word, group))
        if group is None or word.last or word is words[-1]:
            if part := _part_of_day(run) or _of_time(run, ended=group is not None):
                return sentence[part[0].start : part[-1].end]
            run = []
    return ""


def _part_of_day(run: Sequence[tuple[TimeWord, str]]) -> list[TimeWord]:
    """`in the morning`, `am Abend`."""
    for index, (word, group) in enumerate(run):
        if group == "part":
            opening = next((p for p, (w, _) in enumerate(run[:index]) if w.text.lower() in _IN), None)
            if opening is not None and all(group in _SILENT for _, group in run[opening:index]):
                return [run[opening][0], word]
    return []


def _of_time(run: Sequence[tuple[TimeWord, str]], *, ended: bool) -> list[TimeWord]:
    significant = [(word, group) for word, group in run if group not in _SILENT]
    return (
        [word for word, _ in significant]
        if _is_of_time([group for _, group in significant], ended=ended)
        else []
    )


def _is_of_time(groups: Sequence[str], *, ended: bool) -> bool:
    """Whether words of these groups in a row mean a time. `ended`: no other word follows them."""
    if not {"day", "date", "span", "clock"}.isdisjoint(groups):
        return True
    if ended and len(groups) > 1 and groups[-1] == "number" and groups[-2] in ("bound", "about", "month"):
        return True
    return any(
        (one in _COUNTS and other in ("unit", "part", "month", "time"))
        or (one, other) == ("rank", "doubtful")
        for one, other in pairwise(groups)
    )


def group_of(text: str, groups: Groups) -> str | None:
    """The group of a time word; None if it is no time word."""
    lower = text.lower().replace("\u2019", "'")
    if group := groups.get(lower) or groups.get(bare(lower)):
        return group
    if lower in _DASHES:
        return "join"
    if lower.endswith("ish") and groups.get(lower[:-3].rstrip("-")) in ("part", "time"):
        return "part"
    for group, shape in _SHAPES:
        if shape.fullmatch(lower):
            return group
    parts = re.split(r"[-–—/]", lower)
    if len(parts) > 1 and all(groups.get(part) in ("day", "month", "doubtful", "part") for part in parts):
        return "day"
    return None
