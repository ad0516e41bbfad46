"""Zone lookup: the zone that a user means."""

import pytest

from segue.times.reader.places import zone_called


@pytest.mark.parametrize(
    ("words", "zone"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        (" new york ", "America/New_York"),
        ("New_York", "America/New_York"),
        ("São Paulo", "America/Sao_Paulo"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires"),
        ("UTC", "UTC"),
        ("utc+2", "Etc/GMT-2"),
        ("GMT -5", "Etc/GMT+5"),
        ("+03:00", "Etc/GMT-3"),
        ("UTC+0", "UTC"),
    ],
)
def test_a_name_a_city_or_whole_hours_name_a_zone(words: str, zone: str) -> None:
    assert zone_called(words) == zone


@pytest.mark.parametrize(
    "words",
    ["", "Munich", "EST", "CET", "IST", "MST7MDT", "UTC+25", "UTC+5:30", "hello", "../etc/passwd", "\x00"],
)
def test_words_for_no_place_or_several_name_no_zone(words: str) -> None:
    assert zone_called(words) is None
