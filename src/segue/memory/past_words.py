"""Words of past dates by language: what stands before and after the names of days, months and seasons."""

from collections.abc import Mapping

from segue.record import record

SEASONS = ("spring", "summer", "autumn", "winter")


@record
class Wordings:
    """`last`, `this`, `within` and `after` are alternatives of a regular expression."""

    days_ago: Mapping[str, int]
    last: str
    this: str
    within: str
    after: str
    """`last` in languages where it follows its noun."""
    units: Mapping[str, str]
    seasons: Mapping[str, str]
    ago: str
    """With `N` for a number and `U` for a unit."""


def _units(day: str, week: str, month: str, year: str) -> dict[str, str]:
    return {"day": day, "week": week, "month": month, "year": year}


def _seasons(*words: str) -> dict[str, str]:
    return dict(zip(SEASONS, words, strict=True))


WORDINGS = {
    "english": Wordings(
        days_ago={"today": 0, "yesterday": 1, "the day before yesterday": 2},
        last="last|previous|past",
        this="this",
        within="in|on|of|during|since|around|that|early|late",
        after="",
        units=_units("day days", "week weeks", "month months", "year years"),
        seasons=_seasons("spring", "summer", "autumn fall", "winter"),
        ago="N U ago",
    ),
    "german": Wordings(
        days_ago={"heute": 0, "gestern": 1, "vorgestern": 2},
        last="(?:letzt|vorig|vergangen)e[nrsm]?",
        this="diese[nrsm]?",
        within="im|in|am|seit|vom|des|anfang|ende|mitte",
        after="",
        units=_units("tag tage tagen", "woche wochen", "monat monate monaten", "jahr jahre jahren"),
        seasons=_seasons("frühjahr frühling", "sommer", "herbst", "winter"),
        ago="vor N U",
    ),
    "french": Wordings(
        days_ago={"aujourd'hui": 0, "hier": 1, "avant-hier": 2},
        last="derni[eè]re?",
        this="cet|cette|ce",
        within="en|au|le|la|de|du|depuis|dès|cours",
        after="passée?|derni[eè]re?",
        units=_units("jour jours", "semaine semaines", "mois", "an ans année années"),
        seasons=_seasons("printemps", "été", "automne", "hiver"),
        ago="il y a N U",
    ),
    "spanish": Wordings(
        days_ago={"hoy": 0, "ayer": 1, "anteayer": 2},
        last="últim[oa]",
        this="est[ea]",
        within="en|el|la|de|del|desde",
        after="pasad[oa]",
        units=_units("día días", "semana semanas", "mes meses", "año años"),
        seasons=_seasons("primavera", "verano", "otoño", "invierno"),
        ago="hace N U",
    ),
    "russian": Wordings(
        days_ago={"сегодня": 0, "вчера": 1, "позавчера": 2},
        last="прошл(?:ый|ой|ом|ым|ую|ое|ого)",
        this="эт(?:от|ой|ом|у|о|им|ого)",
        within="в|во|с|на",
        after="",
        units=_units(
            "день дня дней", "неделю неделе недели недель", "месяц месяца месяце месяцев", "год года году лет"
        ),
        seasons=_seasons("весной весну", "летом", "осенью", "зимой зиму"),
        ago="N U назад",
    ),
}
