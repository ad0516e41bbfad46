"""Raises by a reply: answers the question of a budget that has no room, without a turn.

Invariants
  - one question raises its budget at most once, however often it is answered
  - an answer raises nothing after the period of its question
"""

from segue.kernel.transactions.guards import budgets
from segue.model.cost.budget import Over, Scope, local_day, refused_by
from segue.model.replies import raises
from segue.model.replies.acts import Act, ReplyFacts
from segue.model.replies.controls import Action, Control
from segue.model.replies.raises import ANSWERS, BudgetQuestion
from segue.model.states import JobState
from segue.store import queries
from segue.store.database import Transaction
from segue.store.rows import core as rows
from segue.times.clock import to_moment


def find_question(control: Control, job_id: str, run_id: str) -> Transaction[BudgetQuestion | None]:
    """The question that a control answers; None: it answers none."""
    if control.action not in ANSWERS:
        return None
    refused = yield queries.reservations.refusal, {"run_id": run_id}
    found = (yield queries.jobs.by_id, {"id": job_id}) if refused else ()
    if not found:
        return None
    job, scope = rows.job(found[0]), refused_by(refused[0]["reason"])
    budget = job.policy.budget
    if scope is Scope.SESSION:
        own = yield queries.reservations.budget_of_session, {"session_id": job.session_id}
        budget = rows.budget_of(own[0]["budget"]) if own else None
    if scope is Scope.ACCOUNT or budget is None or budget.over is not Over.ASK:
        return None
    if job.state is not JobState.ACTIVE and (scope is Scope.JOB or control.action is Action.GO_ON):
        return None
    return BudgetQuestion(
        run_id=run_id, job=job, scope=scope, budget=budget, asked_at=refused[0]["queued_at"]
    )


def answer(question: BudgetQuestion, control: Control, facts: ReplyFacts) -> Transaction[Act | None]:
    """Raise the budget, or undo its raise. None: there is no raise to undo."""
    if control.action is Action.UNDO:
        taken = yield queries.reservations.take_back, {"id": question.raise_id}
        return raises.taken_back(question) if taken else None
    zone = facts.zone or "UTC"
    if question.is_over(facts.now, zone):
        return raises.too_late(question)
    day = local_day(to_moment(facts.now), zone)
    given = yield from budgets.raise_once(
        question.raise_id, question.scope, question.scope_id, question.budget, day
    )
    return raises.raised(question, facts) if given else raises.raised_before(question)
