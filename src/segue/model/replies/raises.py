"""Raises: what an answer to the question "Raise it for today?" says. Pure functions.

A budget whose `over` is `ask` asks when it has no room. `yes` or `go on` gives it as much again until its
period ends, and `undo` takes that back.
"""

from segue.model.cost.budget import Budget, Per, Scope, amount_of, period_name, window
from segue.model.records import Job
from segue.model.replies.acts import Act, ReplyFacts, next_run
from segue.model.replies.word_tables import Action
from segue.record import record
from segue.times.clock import to_moment, to_ms

ANSWERS = (Action.YES, Action.GO_ON, Action.UNDO)
UNDO = "undo"


@record
class BudgetQuestion:
    """A question whether to raise a budget, and the run that was skipped when it was asked."""

    run_id: str
    job: Job
    scope: Scope
    budget: Budget
    asked_at: int

    @property
    def raise_id(self) -> str:
        """The same for each answer, so that a budget is raised once for a question."""
        return f"raise:{self.run_id}"

    @property
    def scope_id(self) -> str:
        return self.job.id if self.scope is Scope.JOB else self.job.session_id

    @property
    def whose(self) -> str:
        return self.job.name if self.scope is Scope.JOB else "the jobs of this session"

    def is_over(self, now: int, zone: str) -> bool:
        """Whether another period has begun since it was asked."""
        return self.asked_at < to_ms(window(self.budget.per, to_moment(now), zone).began_at)


def raised(question: BudgetQuestion, facts: ReplyFacts) -> Act:
    line = f"Raised: {question.whose} may use another {amount_of(question.budget)} {_when(question)}."
    return Act(line=f"{line}{next_run(question.job, facts)}", undo=UNDO)


def raised_before(question: BudgetQuestion) -> Act:
    return Act(line=f"Already raised: the budget of {question.whose} {_when(question)}.", undo=UNDO)


def taken_back(question: BudgetQuestion) -> Act:
    amount = amount_of(question.budget)
    return Act(line=f"Taken back: the budget of {question.whose} is {amount} {_when(question)} again.")


def too_late(question: BudgetQuestion) -> Act:
    new = {Per.DAY: "a new day", Per.WEEK: "a new week", Per.MONTH: "a new month"}[question.budget.per]
    return Act(line=f"Not raised: {new} has begun, and the budget of {question.whose} with it.")


def _when(question: BudgetQuestion) -> str:
    return period_name(question.budget.per)
