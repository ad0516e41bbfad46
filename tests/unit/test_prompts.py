"""Prompts: what was published stays as it is, and the same facts give the same text."""

import hashlib

import pytest

from segue.model.prompts import TEMPLATES, Mode, PromptFacts, prompt_facts_from_json, render, template_for
from segue.model.states import JobKind

PUBLISHED = {
    ("heartbeat.agent_turn", 1): "6c29d4d677501d235c2f8650d91a486f378358b65b2973cc505060c9a1f3ea8e",
    ("cron.agent_turn.reminder", 1): "2e880a17d074b57ede3a521f9038c1f2765b950b80f133804191cbf9d347d87d",
    ("cron.agent_turn.reminder", 2): "14c7f8bf94bc9f92161e77543de9a59618043d47b243808942e90e5b094e9241",
    ("cron.agent_turn.check", 1): "8e6f0e5fa0ee407009aba0a748743f9edaf99230e8f9504676d8c09e9f62cc96",
    ("cron.agent_turn.legacy", 1): "e0939ad2b178db2b5cd49e7d2ef1deed252ea4e5b8eaa425e63613f66d96db0e",
    ("recall.agent_turn", 1): "daf15a1b39972f93b0c68e888ea8c6b57580079a2bf0aa140bca43dd595faa92",
}
SLOT = 1_762_160_400_000  # 2025-11-03 09:00 UTC, a Monday
BRIEF = PromptFacts(template="cron.agent_turn.reminder", version=1, slot=SLOT, zone="Europe/Berlin")


def test_a_published_template_never_changes() -> None:
    """6.1: an edited template is a new version, and old ones stay. If this fails, add a version."""
    texts = {(one.id, one.version): hashlib.sha256(one.text.encode()).hexdigest() for one in TEMPLATES}
    assert texts == PUBLISHED


def test_the_prompt_tells_the_facts_and_ends_with_the_message() -> None:
    """6.4: scheduled for, now, zone, lateness, missed count, previous outcome."""
    brief = PromptFacts(
        template="cron.agent_turn.reminder",
        version=1,
        slot=SLOT,
        zone="Europe/Berlin",
        missed=3,
        previous="error",
    )
    prompt = render(brief, job="News", message="What is new?\n\nIn $words.", now=SLOT + 150_000)
    assert prompt is not None
    assert prompt.vars == {
        "job": "News",
        "scheduled_for": "Monday 2025-11-03T10:00:00+01:00",
        "now": "Monday 2025-11-03T10:02:30+01:00",
        "zone": "Europe/Berlin",
        "lateness": "2 min 30 s late",
        "missed_count": 3,
        "previous_outcome": "error",
    }
    assert prompt.text.endswith("\n\nWhat is new?\n\nIn $words.")
    assert all(str(value) in prompt.text for value in prompt.vars.values())


def test_its_digest_is_that_of_its_text() -> None:
    """6.2"""
    prompt = render(BRIEF, job="News", message="Look.", now=SLOT)
    assert prompt is not None
    assert prompt.ref.sha256 == hashlib.sha256(prompt.text.encode()).hexdigest()
    assert prompt == render(prompt_facts_from_json(BRIEF.to_json()), job="News", message="Look.", now=SLOT)


@pytest.mark.parametrize(("late_ms", "words"), [(0, "on time"), (59_999, "on time"), (60_000, "1 min late")])
def test_seconds_are_not_called_late(late_ms: int, words: str) -> None:
    prompt = render(BRIEF, job="News", message="Look.", now=SLOT + late_ms)
    assert prompt is not None
    assert prompt.vars["lateness"] == words


def test_a_worker_behind_the_others_uses_what_it_has() -> None:
    """Old and new workers side by side: a version, a field or a zone from the future stops no turn."""
    newer = prompt_facts_from_json({**BRIEF.to_json(), "version": 99, "zone": "Mars/Olympus", "mood": "fine"})
    prompt = render(newer, job="News", message="Look.", now=SLOT)
    assert prompt is not None
    assert (prompt.ref.version, prompt.vars["zone"]) == (2, "UTC")
    unknown = prompt_facts_from_json({**BRIEF.to_json(), "template": "cron.agent_turn.sung"})
    assert render(unknown, job="News", message="Look.", now=SLOT) is None


def test_each_kind_of_job_has_its_template() -> None:
    assert template_for(JobKind.CRON, Mode.TURN).id == "cron.agent_turn.reminder"
    assert template_for(JobKind.CRON, Mode.CHECK).id == "cron.agent_turn.check"
    assert template_for(JobKind.RECALL, Mode.TURN).id == "recall.agent_turn"
