"""Changed quiet hours and digests: what waits for their end is looked at again, or sent."""

from segue.errors import BadSetting
from segue.kernel.transactions import session_log, unified
from segue.kernel.transactions.quiet import held
from segue.kernel.transactions.quiet.held import DefaultHours
from segue.kernel.transactions.result import Name, Result
from segue.model.records import Session
from segue.store import queries
from segue.store.database import Params, Transaction
from segue.store.rows import core as rows
from segue.times.clock import to_moment


def changed(session: Session, default: DefaultHours, now: int) -> Transaction[None]:
    """After a change of a locked session: the jobs that wait for the end of its quiet hours are due again,
    and answers are sent if nothing holds them any more. Those of a common session wait in its chats."""
    owner: Params = {"account": session.owner.account, "user_id": session.owner.user}
    yield queries.jobs.look_after_quiet, {**owner, "now": now}
    try:
        holds = held.hours_of(session, default).holds_at(to_moment(now))
    except BadSetting:  # as in `held.how_long`
        holds = False
    if holds:
        return
    yield from held.send_now(session, now)
    if session.key == unified.KEY:
        chats = yield queries.sessions.holding_answers, owner
        for row in chats:
            yield from held.send_now(rows.session(row), now)


def send_held(session: Session, now: int) -> Transaction[Result[int]]:
    """Send what waits in a session now. Returns how many answers there are."""
    current = yield from session_log.lock_session(session.id)
    yield from held.send_now(current, now)
    return Result(value=current.held, wake=frozenset({Name.COURIER}))
