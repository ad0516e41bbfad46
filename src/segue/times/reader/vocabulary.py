"""Time words that the parser cannot read but must notice in a sentence, by group.

The parser reads `every friday at 9` but not `every other friday at 9`. In such a sentence it must not read
`friday at 9` and ignore `other`. Each word belongs to one group:

    every     `every`, `each`: a time word before a time
    rank      `other`, `second`, `last`: a time word beside a day or a unit
    bound     `until`, `except`, `after`: changes the time before or after it
    about     `by`, `around`, `from`: changes the time after it
    often     `weekly`: a time word before a time, and after one if it describes nothing else
    time      always a time word beside a time
    few       `couple`, `several`: a number without a value
    join      `and`, `to`, `the`: no meaning itself; the word after it counts as adjacent
    at        a joining word before an hour
    doubtful  `may`, `sun`, `do`: a time word only beside a number or after a joining word

Words of the language tables have the group of their kind in `_GROUPS`.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from segue.times.reader.language import Language
from segue.times.reader.languages.chinese import CHINESE
from segue.times.reader.languages.english import ENGLISH
from segue.times.reader.languages.french import FRENCH
from segue.times.reader.languages.german import GERMAN
from segue.times.reader.languages.russian import RUSSIAN
from segue.times.reader.languages.spanish import SPANISH

Groups: TypeAlias = Mapping[str, str]

_GROUPS = {
    "unit": "unit", "beat": "unit", "single": "unit", "period": "unit", "hour_unit": "unit",
    "weekday": "day", "month": "month", "date": "date", "relative_date": "date", "days": "day",
    "plural": "day", "dative": "day", "span_of_days": "day",
    "part": "part", "parts": "part", "adverb": "part", "noun": "part", "hours": "part",
    "named_clock": "time", "repeat": "time", "measure": "time", "meridiem": "doubtful",
    "number": "number",
}  # fmt: skip
"""The kinds of the language tables that are time words in a sentence, and the group of each."""

_COMMON: Mapping[Language, str] = {
    ENGLISH: (
        "i i'm i'll i've it it's is are was we you he she they my your me do don't please the with"
        " this that have"
        " has will would can what who how when there let's"
    ),
    GERMAN: (
        "ich du er sie es wir ihr ist sind war mich mir mein meine dein deine bitte das mit hat"
        " haben habe wird"
        " kann was wer wie wann noch auch schon man wenn"
    ),
    FRENCH: (
        "je j'ai tu il elle on nous vous ils elles est sont était moi mon ma ton ta que qui ça"
        " c'est avec ce cette"
        " ai as ont peux fait quand si pas ne"
    ),
    SPANISH: (
        "yo tú él ella nosotros es son está estoy era mi mis tu me te que qué quién con esta este"
        " ha he han puedo"
        " hay si cuando cómo no lo"
    ),
    RUSSIAN: "",
}  # fmt: skip
"""Frequent words, by which the language of a sentence is told where its time words are those of several."""
_ACCENTS = {**SPANISH.accents, **FRENCH.accents, **RUSSIAN.accents}
_SHORTEST_FOREIGN = 5
"""Letters of a word that also counts beside a time in another language, where `so` and `an` are words."""

_WORDS: Mapping[Language, Mapping[str, str]] = {
    ENGLISH: {
        "every": "every each",
        "rank": (
            "other alternate first second third fourth fifth last next previous final 1st 2nd 3rd coming this"
        ),
        "bound": (
            "until till til except excluding unless before after starting ending ago earlier later beginning"
            " latest earliest through"
        ),
        "about": "by since from between around about approximately roughly circa approx not during past",
        "time": (
            "twice thrice times weekend weekends fortnight fortnights o'clock oclock early late mid eastern"
            " pacific christmas easter holiday holidays dawn dusk sunrise sunset lunchtime bedtime mornings"
            " evenings afternoons nights midweek sometime someday bc ad"
        ),
        "often": "weekly biweekly fortnightly monthly yearly annually quarterly daily nightly hourly",
        "few": "few couple several some many half quarter once any",
        "join": "and or to for on in the a an of & then also again plus but only both either than per",
        "at": "at @",
        "doubtful": "may march mar sun sat mon sec s m d w h am pm a.m. p.m. a.m p.m lunch dinner breakfast",
    },
    GERMAN: {
        "every": "jeden jede jedes jeder jedem alle",
        "rank": (
            "erste ersten erster erstes zweite zweiten zweiter zweites dritte dritten dritter vierte vierten"
            " letzte letzten letzter letztes nächste nächsten nächster nächstes naechste naechsten"
            " übernächste übernächsten vorletzte vorletzten kommende kommenden diese diesen dieser"
        ),
        "bound": "bis außer ausser vor spätestens frühestens",
        "about": "gegen circa ca ca. etwa ungefähr rund zwischen seit nicht ab nach",
        "time": (
            "uhr wöchentlich monatlich jährlich täglich zweimal dreimal wochenende wochenenden"
            " feiertag feiertage feiertagen feiertags früh spät nacht nachts morgens abends mittags"
            " vormittags nachmittags halb viertel werktags irgendwann weihnachten ostern silvester"
        ),
        "few": "paar einige mehrere wenige halbe halben einmal mal",
        "join": "und oder am an im in den der die das dem des zu zum zur für von dann auch & aber nur pro",
        "at": "um",
        "doubtful": "mo di mi do fr sa so mai min h s",
    },
    FRENCH: {
        "every": "chaque tous toutes",
        "rank": (
            "premier première premiere deuxième deuxieme second troisième dernier dernière derniere prochain"
            " prochaine prochains prochaines suivant"
        ),
        "bound": "avant après apres sauf d'ici jusque jusqu'à jusqu'au jusqu'en jusqu'a hormis excepté",
        "about": "vers environ entre sur pas pendant durant dès depuis",
        "time": (
            "fois week-end weekend week-ends weekends quotidiennement hebdomadaire mensuel férié fériés noël"
            " pâques tôt tard nuit matin midi soir soirée matinée quinzaine"
        ),
        "few": "quelques plusieurs demi demie",
        "join": "et ou à au aux le la les l' de du des d' en dans pour un une puis mais & aussi par",
        "at": "à a",
        "doubtful": "mon mer ven sam dim lun jeu mai mars h j s an ans sept",
    },
    SPANISH: {
        "every": "cada todos todas",
        "rank": (
            "primer primero primera segundo segunda tercer tercero tercera último ultimo última ultima"
            " próximo proximo próxima proxima próximos pasado pasada siguiente"
        ),
        "bound": "antes después despues hasta excepto salvo tardar",
        "about": "desde sobre hacia alrededor aproximadamente entre no durante menos",
        "time": (
            "semanal semanalmente mensual mensualmente quincenal diario veces festivo festivos madrugada"
            " temprano mediodía navidad anoche finde"
        ),
        "few": "unos unas varios varias par fin media medio pocas pocos algunos algunas vez",
        "join": "y e o u a al el la las los de del en un una por para luego pero & también",
        "at": "las la",
        "doubtful": "lun mar mié jue vie sáb dom may h s",
    },
    RUSSIAN: {
        "every": "каждый каждую каждое каждые каждого каждой",
        "rank": (
            "первый первую первое первого второй вторую второе третий третью третье последний последнюю"
            " последнее следующий следующую следующее следующей прошлый прошлую ближайший ближайшую"
        ),
        "bound": "после кроме перед позднее раньше",
        "about": "до с со от к около примерно между не",
        "time": (
            "раза еженедельно ежемесячно ежегодно ежедневно выходные выходным выходных будни будням"
            " праздники праздникам ночью утром вечером днем днём утра вечера ночи рано поздно назад спустя"
            " мск неделе неделю месяце году числа полудня полуночи половины половине четверти"
        ),
        "day": "понедельника вторника среды четверга пятницы субботы воскресенья",
        "date": "завтрашнего сегодняшнего завтрашний завтрашнему",
        "month": "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
        "few": "пару несколько пол половину раз",
        "join": "и или в во на а по потом затем но также",
        "at": "в",
        "doubtful": "пн вт ср чт пт сб вс с ч",
    },
}  # fmt: skip


def bare(word: str) -> str:
    """The word without accents."""
    return word.translate(_ACCENTS)


def simplified(text: str) -> str:
    """The text with simplified Chinese characters; positions stay the same."""
    return text.translate(CHINESE.accents)


def known(language: Language, word: str) -> int:
    """2 for a time word or a frequent word of this language, 1 if it is one without its accents, else 0."""
    own = _own(language)
    return 2 if word in own else int(bare(word) in own)


@cache
def _own(language: Language) -> frozenset[str]:
    timely = (word for word, group in _words(language) if group != "doubtful")
    return frozenset((*timely, *_COMMON.get(language, "").split()))


@cache
def groups_of(languages: tuple[Language, ...]) -> Groups:
    """The group of every word beside a time in these languages. Earlier languages take precedence."""
    found: dict[str, str] = {}
    others = [language for language in _WORDS if language not in languages]
    for language in (*languages, *others):
        for word, group in _words(language):
            if language in languages or (len(word) >= _SHORTEST_FOREIGN and group not in ("number", "join")):
                found.setdefault(word, group)
    return MappingProxyType(found)


def _words(language: Language) -> Iterator[tuple[str, str]]:
    """Each word with its group; the groups above take precedence over those of the language's table."""
    for group, words in _WORDS.get(language, {}).items():
        if group == "doubtful":
            yield from ((word, group) for word in words.split())
    for group, words in _WORDS.get(language, {}).items():
        yield from ((word.translate(language.accents), group) for word in words.split())
        yield from ((word, group) for word in words.split())
    if language is CHINESE:
        return
    for word, meanings in language.vocabulary.items():
        groups = [_GROUPS[kind] for kind, _ in meanings if kind in _GROUPS]
        if groups and " " not in word:
            yield word, groups[0]
