"""Rules of the offline agent: one file per topic, tried in this order."""

from segue.agents.rules import (
    cron,
    files,
    memory,
    overview,
    recalls,
    reminders,
    scheduled_messages,
    small_talk,
    timezone,
)
from segue.agents.rules.rule import Rule

_TOPICS = (
    reminders.RULES,
    cron.RULES,
    recalls.RULES,
    scheduled_messages.RULES,
    cron.TASKS,
    memory.RULES,
    files.RULES,
    overview.RULES,
    timezone.RULES,
)
"""Scheduling comes first: what is scheduled may mention a file or a page."""

RULES: tuple[Rule, ...] = (*(one for topic in _TOPICS for one in topic), *small_talk.rules_about(*_TOPICS))
