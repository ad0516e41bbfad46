"""What the offline model understands: one file per topic, tried in this order."""

from segue.agents.rules import files, schedule, talk
from segue.agents.rules.rule import Rule

RULES: tuple[Rule, ...] = (*files.RULES, *schedule.RULES, *talk.rules_about(files.RULES, schedule.RULES))
