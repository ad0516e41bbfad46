"""`segue sessions edit --quiet --digest` and `segue sessions send-held`."""

import json

from tests.cli.process import Segue


async def test_quiet_hours_and_a_digest_are_set_shown_and_cleared(segue: Segue) -> None:
    opened = await segue("sessions", "add-message", "websocket:1", "Hello.")
    assert opened.code == 0, opened.err
    quiet = ("--quiet", "22:00-07:00 fri,sat", "--digest", "08:00")
    edited = await segue("sessions", "edit", "websocket:1", *quiet, "--json")
    assert edited.code == 0, edited.err
    session = json.loads(edited.out)
    assert session["quiet"] == {"from": "22:00", "to": "07:00", "days": ["fri", "sat"]}
    assert session["digest"]["at"] == "08:00"
    shown = (await segue("sessions", "show", "websocket:1")).out
    assert "22:00-07:00 fri,sat" in shown
    cleared = await segue("sessions", "edit", "websocket:1", "--quiet", "none", "--digest", "none", "--json")
    assert (json.loads(cleared.out)["quiet"], json.loads(cleared.out)["digest"]) == (None, None)
    refused = await segue("sessions", "edit", "websocket:1", "--quiet", "22-7")
    assert refused.code == 2
    sent = await segue("sessions", "send-held", "websocket:1", "--json")
    assert json.loads(sent.out) == {"sent": 0}
