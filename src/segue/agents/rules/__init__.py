"""What the offline model understands: one file per topic, tried in this order."""

from segue.agents.rules import cron, files, memory, message, recall, schedule, talk, zone
from segue.agents.rules.rule import Rule

_TOPICS = (cron.RULES, recall.RULES, message.RULES, memory.RULES, files.RULES, schedule.RULES, zone.RULES)
"""What is to be done later comes first: it may say to read a file then."""

RULES: tuple[Rule, ...] = (*(one for topic in _TOPICS for one in topic), *talk.rules_about(*_TOPICS))
