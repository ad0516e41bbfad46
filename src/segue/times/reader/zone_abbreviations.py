"""Zone abbreviations in a text: `9am EST`, `15 Uhr MEZ`.

An abbreviation is read where it means one moment. `EST` in July is asked back, because New York is on summer
time then; so is `IST`, which is the time of India, Israel and Ireland.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from segue.record import positional
from segue.times.reader.moment_text import spoken
from segue.times.reader.refusal import refuse_ambiguous, refuse_to_choose
from segue.times.reader.zones import Zone, ZoneInText, fixed, named, placed

_NEW_YORK, _CHICAGO, _DENVER = "America/New_York", "America/Chicago", "America/Denver"
_LOS_ANGELES, _LONDON, _BERLIN, _ATHENS = (
    "America/Los_Angeles",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Athens",
)

ABBREVIATIONS: Mapping[str, tuple[tuple[str, str | None], ...]] = {
    "ET": ((_NEW_YORK, None),),
    "EST": ((_NEW_YORK, "-05:00"),),
    "EDT": ((_NEW_YORK, "-04:00"),),
    "CST": ((_CHICAGO, "-06:00"), ("Asia/Shanghai", "+08:00")),
    "CDT": ((_CHICAGO, "-05:00"),),
    "MST": ((_DENVER, "-07:00"),),
    "MDT": ((_DENVER, "-06:00"),),
    "PT": ((_LOS_ANGELES, None),),
    "PST": ((_LOS_ANGELES, "-08:00"),),
    "PDT": ((_LOS_ANGELES, "-07:00"),),
    "AKST": (("America/Anchorage", "-09:00"),),
    "AKDT": (("America/Anchorage", "-08:00"),),
    "HST": (("Pacific/Honolulu", "-10:00"),),
    "BST": ((_LONDON, "+01:00"), ("Asia/Dhaka", "+06:00")),
    "WET": (("Europe/Lisbon", "+00:00"),),
    "WEST": (("Europe/Lisbon", "+01:00"),),
    "WEZ": (("Europe/Lisbon", "+00:00"),),
    "CET": ((_BERLIN, "+01:00"),),
    "CEST": ((_BERLIN, "+02:00"),),
    "MEZ": ((_BERLIN, "+01:00"),),
    "MESZ": ((_BERLIN, "+02:00"),),
    "EET": ((_ATHENS, "+02:00"),),
    "EEST": ((_ATHENS, "+03:00"),),
    "MSK": (("Europe/Moscow", "+03:00"),),
    "IST": (("Asia/Kolkata", "+05:30"), ("Asia/Jerusalem", "+02:00"), ("Europe/Dublin", "+01:00")),
    "JST": (("Asia/Tokyo", "+09:00"),),
    "KST": (("Asia/Seoul", "+09:00"),),
    "HKT": (("Asia/Hong_Kong", "+08:00"),),
    "SGT": (("Asia/Singapore", "+08:00"),),
    "AEST": (("Australia/Brisbane", "+10:00"), ("Australia/Sydney", "+10:00")),
    "AEDT": (("Australia/Sydney", "+11:00"),),
    "AWST": (("Australia/Perth", "+08:00"),),
    "NZST": (("Pacific/Auckland", "+12:00"),),
    "NZDT": (("Pacific/Auckland", "+13:00"),),
}
"""The places that use an abbreviation, and the offset that it means there; None: whatever is in force."""


@positional
class ZoneAbbreviation(ZoneInText):
    """The name is the abbreviation."""

    def place(self, wall: datetime) -> datetime:
        moments: dict[datetime, datetime] = {}
        for place, offset in ABBREVIATIONS[self.name or ""]:
            local = placed(wall, named(place))
            moments.setdefault(local.astimezone(UTC), local)
            if offset is not None:
                moment = wall.replace(tzinfo=fixed(offset))
                moments.setdefault(moment.astimezone(UTC), moment)
        if len(moments) > 1:
            each = [spoken(moment) for moment in moments.values()]
            exact = (moment.isoformat() for moment in moments.values())
            raise refuse_to_choose(f"{self.name} can be {' or '.join(each)}", each, exact)
        return next(iter(moments.values()))

    @property
    def calendar(self) -> Zone:
        return named(ABBREVIATIONS[self.name or ""][0][0])

    @property
    def zone(self) -> Zone:
        """For a schedule: a place whose clocks never change, or that the abbreviation means all year."""
        places = ABBREVIATIONS[self.name or ""]
        zones = [named(place) for place, _ in places]
        if len(places) == 1 and (places[0][1] is None or _is_steady(zones[0])):
            return zones[0]
        each = [str(zone) for zone in zones]
        reason = f"{self.name} is not one zone all year; it can mean {' or '.join(each)}"
        raise refuse_ambiguous(reason, each, *(f"every day at 9 {name}" for name in each))


def _is_steady(zone: Zone) -> bool:
    winter, summer = (datetime(2026, month, 1, tzinfo=zone).utcoffset() for month in (1, 7))
    return winter == summer
