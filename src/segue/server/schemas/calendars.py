"""Schemas of calendars: day sets and the calendar of a session, and conversions to them."""

from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from segue.kernel.api.calendar.calendar import ImportedEvents
from segue.server.schemas.automations import JobOut, job_out
from segue.server.schemas.body import Body
from segue.server.schemas.common import Moment
from segue.server.schemas.views import moment
from segue.times.days.day_sets import DaySet
from segue.times.icalendar.content_lines import LARGEST_FILE


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


class CalendarAddressOut(BaseModel):
    url: str = Field(
        description="For a calendar program. It is shown once, and needs no key: keep it secret.",
        examples=["https://segue.example.org/calendar/w9dT….ics"],
    )


class SharedCalendarOut(BaseModel):
    created_at: Moment


class CalendarOut(BaseModel):
    calendar: SharedCalendarOut | None = Field(description="Null: the calendar has no address.")


class SkippedEventOut(BaseModel):
    summary: str
    reason: str = Field(examples=["it is over"])


class ImportedEventsOut(BaseModel):
    made: bool = Field(description="False: nothing was stored. Ask again with `make=true`.")
    jobs: list[JobOut]
    skipped: list[SkippedEventOut]


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


def calendar_out(shared_at: int | None) -> CalendarOut:
    shared = None if shared_at is None else SharedCalendarOut(created_at=moment(shared_at))
    return CalendarOut(calendar=shared)


def imported_out(imported: ImportedEvents, session_key: str, zone: str | None) -> ImportedEventsOut:
    return ImportedEventsOut(
        made=imported.made,
        jobs=[job_out(job, session_key, pending=False, zone=zone, unmet=None) for job in imported.jobs],
        skipped=[SkippedEventOut(summary=each.title, reason=each.reason) for each in imported.left_out],
    )
