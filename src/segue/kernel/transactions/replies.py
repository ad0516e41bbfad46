"""Replies: takes a user's message that may answer a job, and does at once what it orders.

A message answers a job if it quotes one of the job's messages, or, in a private chat, if a job said the
newest thing here, at most ten minutes ago. If its text is a control, the user's word, the change of the job
and the line that says what was done are one transaction, without a turn. Any other text is admitted as a
turn, and its agent is told which job is answered.

Invariants
  - a control acts on the job whose message was quoted, or on none
  - if two jobs spoke and none is quoted, the answer is a question, and nothing is done
  - a message costs no further statement if it quotes nothing and no job spoke recently
"""

from dataclasses import replace

from segue.errors import ChangedMeanwhile, UnknownMessage
from segue.kernel.transactions import fire, jobs, lane, session_log, unified
from segue.kernel.transactions.deliveries import Outbox, delivery_params
from segue.kernel.transactions.guards import raises
from segue.kernel.transactions.lane import Admission, QueuedTurn
from segue.kernel.transactions.result import Name, Result
from segue.kernel.transactions.unified import Address, Route
from segue.model.records import NEWEST, Event, Job, Source, parse_message_id
from segue.model.replies.acts import OVER, Act, ReplyFacts, decide_act, takes_controls
from segue.model.replies.controls import Action, Control, read_control
from segue.model.schedule import skipped_until
from segue.model.states import WhenBusy
from segue.record import positional, record
from segue.store import queries
from segue.store.database import Params, Transaction
from segue.store.rows import core as rows
from segue.store.rows import overviews

RECENT_MS = 600_000
"""How long after a job's message an answer need not quote it."""
_MOST_SAID = 50
STALE = "This button is too old: its job is not known any more."


@positional
class Quoted:
    """The message that a message answers."""

    message_id: str
    """Its id in the transcript; with a channel, the channel's own id of it."""
    channel: str | None = None


@record
class Incoming:
    """A message at the door."""

    facts: ReplyFacts
    outbox: Outbox
    quoted: Quoted | None = None
    may_order: bool = True
    """Its text may be a control."""
    explained: str | None = None
    """The job that `facts.why` explains."""
    tapped: bool = False
    """A button tap: it is acted on or refused, and never admitted as a turn."""


@record
class Acted:
    """A control was done."""

    session_id: str
    action: str
    """That of the control; `which` if it is not clear which job was meant."""
    job_id: str | None
    line: str
    """What was done, in a sentence."""
    undo: str | None = None
    """The reply that undoes it, if one does."""


@record
class Answered:
    """The job that a message answers."""

    job_id: str
    run_id: str
    label: str | None = None
    others: tuple[str, ...] = ()
    """The names of all jobs that may be meant, if there are several."""


def receive(
    address: Address,
    admission: Admission,
    now: int,
    *,
    incoming: Incoming,
    when_busy: WhenBusy | None,
    default: WhenBusy,
) -> Transaction[Result[QueuedTurn | Acted]]:
    """Do what a user's message orders, or admit it as a turn. Raises `UnknownMessage`, `SessionBusy`."""
    route = yield from unified.open_route(address, now)
    job_said_at = yield from lane.record_activity(route, now, title=admission.content)
    answered = yield from _find(route, incoming.quoted, job_said_at, now)
    # Few messages answer a job, and to read an order takes longer than to store a message.
    control = read_control(incoming.facts.words) if answered and incoming.may_order else None
    if answered and control:
        done = yield from _do(route, incoming, control, answered, now)
        if done is not None:
            return replace(done, wake=done.wake | lane.woken_by_activity(route))
    if incoming.tapped:
        raise UnknownMessage(STALE)
    admission = _with_fact(admission, answered)
    return (yield from lane.enter(route, admission, now, when_busy=when_busy, default=default))


def admit(
    address: Address,
    admission: Admission,
    now: int,
    quoted: Quoted,
    *,
    when_busy: WhenBusy | None,
    default: WhenBusy,
) -> Transaction[Result[QueuedTurn]]:
    """Admit a message that quotes another one as a turn, whatever its text is. Raises as `receive`."""
    route = yield from unified.open_route(address, now)
    job_said_at = yield from lane.record_activity(route, now, title=admission.content)
    answered = yield from _find(route, quoted, job_said_at, now)
    admission = _with_fact(admission, answered)
    return (yield from lane.enter(route, admission, now, when_busy=when_busy, default=default))


def look_up(address: Address, quoted: Quoted | None, now: int) -> Transaction[Answered | None]:
    """The job that a message would answer. Nothing is stored except a missing session."""
    route = yield from unified.open_route(address, now)
    return (yield from _find(route, quoted, now, now))


def _find(route: Route, quoted: Quoted | None, job_said_at: int, now: int) -> Transaction[Answered | None]:
    """The job that a message answers; None: no job. `job_said_at`: when a job last spoke in the chat."""
    if quoted is not None and quoted.channel is not None:
        return (yield from _by_anchor(route, quoted.channel, quoted.message_id))
    if quoted is not None:
        return (yield from _by_message(route, quoted.message_id))
    if job_said_at <= now - RECENT_MS or route.chat.chat_type != "private" or route.lane.waits_at(now):
        return None
    return (yield from _by_time(route, now))


def _by_anchor(route: Route, channel: str, message_id: str) -> Transaction[Answered | None]:
    anchor: Params = {"channel": channel, "chat_id": route.chat.chat_id, "message_id": message_id}
    found = yield queries.anchors.by_message, anchor
    if not found or found[0]["session_id"] != route.chat.id:
        return None
    return Answered(job_id=found[0]["job_id"], run_id=found[0]["run_id"])


def _by_message(route: Route, message_id: str) -> Transaction[Answered | None]:
    session_id, seq = parse_message_id(message_id)
    here = session_id in (route.chat.id, route.lane.id)
    found = (yield queries.events.message_at, {"session_id": session_id, "seq": seq}) if here else ()
    if not found:
        raise UnknownMessage(
            f"reply_to is the id of a message of {route.chat.key}, and {message_id[:80]!r} is none; "
            "take the id from the list of its messages"
        )
    source = rows.event(found[0]).source
    return _answered(source) if source else None


def _by_time(route: Route, now: int) -> Transaction[Answered | None]:
    """The job that said the newest thing, with the names of all that spoke recently."""
    since: Params = {"session_id": route.chat.id, "since": now - RECENT_MS + 1, "limit": _MOST_SAID}
    found = yield queries.events.said_since, since
    said = [rows.event(row) for row in found]
    newest = said[0].source if said else None
    if newest is None:
        return None
    names = {event.source.job_id: event.source.label for event in said if event.source}
    return replace(_answered(newest), others=tuple(names.values()) if len(names) > 1 else ())


def _answered(source: Source) -> Answered:
    return Answered(job_id=source.job_id, run_id=source.run_id, label=source.label)


def _with_fact(admission: Admission, answered: Answered | None) -> Admission:
    """The turn of a message, whose agent is told which job it answers."""
    if answered is None:
        return admission
    name = f" ‘{answered.label}’" if answered.label else ""
    fact = f"(This answers the job{name}: job_id {answered.job_id}, run_id {answered.run_id}.)"
    return replace(admission, prompt=f"{fact}\n\n{admission.content}")


def _do(
    route: Route, incoming: Incoming, control: Control, answered: Answered, now: int
) -> Transaction[Result[QueuedTurn | Acted] | None]:
    """Do a control. None: it is no order to this job, and is left to the agent."""
    asked = yield from raises.find_question(control, answered.job_id, answered.run_id)
    if asked is None and control.action in (Action.YES, Action.UNDO):
        return None
    if answered.others:
        names = ", ".join(f"‘{name}’" for name in answered.others)
        question = Act(line=f"Which one: {names}? Reply to its message.")
        which = Acted(session_id=route.lane.id, action="which", job_id=None, line=question.line)
        return (yield from _store(route, incoming, question, None, which, now))
    found = yield queries.jobs.by_id, {"id": answered.job_id}
    job = rows.job(found[0]) if found else None
    if asked is not None:
        act = yield from raises.answer(asked, control, _facts(route, incoming))
    elif job is not None and not takes_controls(job):
        return None
    else:
        act = (yield from _decide(route, incoming, control, job)) if job else Act(line=OVER)
    if act is None:
        return None
    kind, label = (str(job.kind), job.name) if job else ("cron", answered.label or answered.job_id)
    source = Source(kind=kind, job_id=answered.job_id, label=label, run_id=answered.run_id)
    action = str(control.action)
    acted = Acted(
        session_id=route.lane.id, action=action, job_id=answered.job_id, line=act.line, undo=act.undo
    )
    return (yield from _store(route, incoming, act, source, acted, now))


def _decide(route: Route, incoming: Incoming, control: Control, job: Job) -> Transaction[Act | None]:
    if control.action is Action.WHY and incoming.explained != job.id:
        raise ChangedMeanwhile(f"the job that spoke in {route.chat.key} is not explained; read it again")
    facts = _facts(route, incoming)
    if control.action in (Action.GO_ON, Action.MAKE):
        found = yield queries.runs.of_job, {"job_id": job.id, "before": NEWEST.at, "limit": 1}
        facts = replace(facts, earliest=skipped_until([overviews.run(row) for row in found], facts.now))
    return decide_act(control, job, facts)


def _facts(route: Route, incoming: Incoming) -> ReplyFacts:
    return replace(incoming.facts, zone=route.chat.timezone or incoming.facts.zone)


def _store(
    route: Route, incoming: Incoming, act: Act, source: Source | None, acted: Acted, now: int
) -> Transaction[Result[QueuedTurn | Acted]]:
    """Write the user's word, the change, and the line that says what was done."""
    word = session_log.message(route.chat.id, "user", incoming.facts.words, now)
    events = yield from unified.append_events(_heard(route, now), [word], now)
    changed = yield from _change(route, act, acted.job_id, now)
    route = yield from _again(route)
    line = session_log.message(route.chat.id, "assistant", act.line, now, source=source)
    events += [*changed.events, *(yield from unified.append_events(_heard(route, now), [line], now))]
    wake = changed.wake | {Name.ARCHIVIST}
    if incoming.outbox.delivers(route.chat.channel):
        delivery = delivery_params(incoming.outbox.delivery_id, route.chat, act.line, source, now)
        yield queries.deliveries.create, {**delivery, "logged": 1}
        wake |= {Name.COURIER}
    return Result(value=acted, events=events, wake=wake)


def _change(route: Route, act: Act, job_id: str | None, now: int) -> Transaction[Result[None]]:
    """Store the changed job, skip its slot, and ask its running turn to stop."""
    events: list[Event] = []
    wake: frozenset[Name] = frozenset()
    if act.job is not None and act.skipped is not None:
        skipped = yield from fire.pass_over(act.job, act.skipped, now)
        if skipped is None:
            raise ChangedMeanwhile(f"job {act.job.id} was changed meanwhile; read it again")
        events, wake = [*skipped.events], skipped.wake | {Name.TIMER}
    elif act.job is not None:
        changed = yield from jobs.change(act.job, now)
        events, wake = [*changed.events], changed.wake
    if act.stops_turn:
        yield queries.turns.ask_job_to_stop, {"session_id": route.lane.id, "job_id": job_id}
        wake |= {Name.KEEPER}
    return Result(value=None, events=events, wake=wake)


def _heard(route: Route, now: int) -> Route:
    """The route with the activity that was recorded for this message."""
    common = replace(route.common, last_message_at=now) if route.common else None
    return Route(replace(route.chat, last_message_at=now), common)


def _again(route: Route) -> Transaction[Route]:
    """The same sessions, with the numbers that their logs have now."""
    common = (yield from session_log.lock_session(route.common.id)) if route.common else None
    return Route((yield from session_log.lock_session(route.chat.id)), common)
