"""Schemas of day sets, and conversions from them."""

from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from segue.server.schemas.body import Body
from segue.times.days.day_sets import DaySet
from segue.times.days.ics import LARGEST_FILE


class ImportDays(Body):
    """A calendar file whose all-day events are days off."""

    name: str = Field(
        min_length=1, max_length=50, description="Letters, digits, - and _. A set of that name is replaced."
    )
    ics: str = Field(
        min_length=1,
        max_length=LARGEST_FILE,
        description="The text of an `.ics` file. Events with a time of day and repeated ones are refused.",
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "name": "school",
                    "ics": "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20901221\n"
                    "DTEND;VALUE=DATE:20910102\nSUMMARY:Winter holidays\nEND:VEVENT\nEND:VCALENDAR\n",
                }
            ]
        },
    )


class DaySetOut(BaseModel):
    name: str = Field(examples=["CN"])
    known_until: date = Field(description="After it, Monday to Friday count.")
    source: str = Field(description="`ics` for a set of the account.", examples=["holidays 0.108 (MIT)"])


class DaySetsOut(BaseModel):
    days: list[DaySetOut]


class DayOffOut(BaseModel):
    date: date
    reason: str = Field(examples=["National Day"])


class DaySetDetailsOut(DaySetOut):
    off: list[DayOffOut] = Field(description="Days off, in order. Weekends are days off without an entry.")
    on: list[date] = Field(description="Days of the weekend that are working days.")


def day_set_out(days: DaySet) -> DaySetOut:
    return DaySetOut(name=days.name, known_until=days.known_until, source=days.source)


def details_out(days: DaySet, year: int | None) -> DaySetDetailsOut:
    """The set with its days, of one year or of all."""
    return DaySetDetailsOut(
        name=days.name,
        known_until=days.known_until,
        source=days.source,
        off=[
            DayOffOut(date=day, reason=reason)
            for day, reason in sorted(days.off.items())
            if year in (None, day.year)
        ],
        on=[day for day in sorted(days.on) if year in (None, day.year)],
    )
