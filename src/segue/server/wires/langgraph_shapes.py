"""Shapes of LangGraph's API: threads, runs, crons and messages, and the stream of a run. Pure."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from segue.model.action import Ask
from segue.model.records import Job, Session, Turn, message_id
from segue.model.states import JobState, Outcome, TurnState
from segue.model.transcript import Message
from segue.record import record
from segue.server.error_responses import Refused
from segue.server.schemas.automations import schedule_out
from segue.server.schemas.views import maybe_moment, moment
from segue.server.wires.content import GivenContent, content_of
from segue.server.wires.conversation import name_of
from segue.server.wires.turn_steps import (
    AskedUser,
    TextSaid,
    ToolBegan,
    ToolReturned,
    TurnOver,
    TurnStep,
)

ASSISTANT = "segue"
Json = dict[str, Any]

_TYPES = {"user": "human", "assistant": "ai"}
_RUN_STATUS = {TurnState.QUEUED: "pending", TurnState.RUNNING: "running", TurnState.FAILED: "error"}


def message_out(message: Message, session_id: str) -> Json:
    kind = _TYPES.get(message.role, message.role)
    return _message(kind, message.content, message_id(session_id, message.seq))


def _message(kind: str, content: str, id: str, **more: Any) -> Json:
    base = {"type": kind, "content": content, "id": id, "name": None}
    calls: Json = {"tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None} if kind == "ai" else {}
    return base | {"additional_kwargs": {}, "response_metadata": {}} | calls | more


def interrupt_out(question: str, choices: Sequence[str], turn_id: str) -> Json:
    return {"id": turn_id, "value": {"question": question, "choices": list(choices)}}


@record
class ThreadNow:
    """A session as a thread: with its newest messages and its open question."""

    session: Session
    messages: Sequence[Message]
    updated_at: int
    interrupt: Json | None

    @property
    def thread_id(self) -> str:
        return name_of(self.session.key)

    @property
    def values(self) -> Json:
        return {"messages": [message_out(message, self.session.id) for message in self.messages]}

    @property
    def status(self) -> str:
        if self.session.busy:
            return "busy"
        return "idle" if self.interrupt is None else "interrupted"

    def thread(self) -> Json:
        interrupts = {} if self.interrupt is None else {self.interrupt["id"]: [self.interrupt]}
        return {
            "thread_id": self.thread_id,
            "created_at": moment(self.session.created_at),
            "updated_at": moment(self.updated_at),
            "metadata": dict(self.session.metadata) | {"graph_id": ASSISTANT},
            "status": self.status,
            "values": self.values,
            "interrupts": interrupts,
            "config": {},
        }

    def state(self) -> Json:
        """The newest state; there are no older ones. Its checkpoint is the number of the newest event."""
        interrupts = [] if self.interrupt is None else [self.interrupt]
        task = {"id": self.interrupt["id"], "name": "agent", "error": None} if self.interrupt else None
        return {
            "values": self.values,
            "next": ["agent"] if self.session.busy or task else [],
            "checkpoint": {
                "thread_id": self.thread_id,
                "checkpoint_ns": "",
                "checkpoint_id": str(self.session.last_seq),
                "checkpoint_map": None,
            },
            "metadata": {},
            "created_at": moment(self.updated_at),
            "parent_checkpoint": None,
            "tasks": [task | {"interrupts": interrupts, "checkpoint": None, "state": None}] if task else [],
            "interrupts": interrupts,
        }


def run_out(turn: Turn, session: Session) -> Json:
    updated = turn.finished_at or turn.started_at or turn.queued_at
    cron = {} if turn.source is None else {"cron_id": turn.source.job_id}
    return {
        "run_id": turn.id,
        "thread_id": name_of(session.key),
        "assistant_id": ASSISTANT,
        "created_at": moment(turn.queued_at),
        "updated_at": moment(updated),
        "status": _status(turn),
        "metadata": cron,
        "kwargs": {"input": {"messages": [{"role": "user", "content": turn.content}]}},
        "multitask_strategy": session.when_busy if session.when_busy != "inject" else "enqueue",
    }


def _status(turn: Turn) -> str:
    if turn.state in _RUN_STATUS:
        return _RUN_STATUS[turn.state]
    return "success" if turn.outcome in (Outcome.OK, Outcome.EMPTY) else "interrupted"


def cron_out(job: Job, session: Session, *, end_time: str | None) -> Json:
    schedule = schedule_out(job.trigger)
    prompt = job.action.prompt if isinstance(job.action, Ask) else ""
    return {
        "cron_id": job.id,
        "assistant_id": ASSISTANT,
        "thread_id": name_of(session.key),
        "on_run_completed": None,
        "end_time": end_time,
        "schedule": schedule.get("expr") or json.dumps(schedule, ensure_ascii=False),
        "timezone": schedule.get("tz"),
        "created_at": moment(job.created_at),
        "updated_at": moment(job.updated_at),
        "payload": {
            "assistant_id": ASSISTANT,
            "input": {"messages": [{"role": "user", "content": prompt}]},
        },
        "user_id": session.owner.user,
        "next_run_date": maybe_moment(job.next_at),
        "metadata": {"name": job.name},
        "enabled": job.state is JobState.ACTIVE,
    }


def content_in(given: object, command: object = None) -> GivenContent:
    """The user's message of a run: the last one of `input.messages`, or the answer of `command.resume`.

    Raises Refused.
    """
    if isinstance(command, dict) and command.get("resume") is not None:
        answer = command["resume"]
        return GivenContent(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
    messages = given.get("messages") if isinstance(given, dict) else None
    if isinstance(messages, dict | str):
        messages = [messages]
    for message in messages[::-1] if isinstance(messages, list) else ():
        if isinstance(message, str):
            return GivenContent(message)
        if isinstance(message, dict) and (message.get("role") or message.get("type")) in ("user", "human"):
            return content_of(message.get("content"))
    raise Refused(422, "invalid", "input: give {'messages': [{'role': 'user', 'content': …}]}")


class RunEvents:
    """Translates the steps of a turn to the events of the modes `messages`, `messages-tuple`, `updates`."""

    def __init__(self, turn_id: str, modes: Sequence[str]) -> None:
        self._turn_id = turn_id
        self._modes = modes
        self._text = ""
        self._parts = 0

    def take(self, step: TurnStep) -> Iterator[tuple[str, object]]:
        match step:
            case TextSaid(text):
                self._text += text
                yield from self._partial(text)
            case ToolBegan():
                call = {"name": step.name, "args": dict(step.arguments), "id": step.call_id}
                yield from self._whole("agent", tool_calls=[call | {"type": "tool_call"}])
            case ToolReturned():
                yield from self._result(step)
            case TurnOver(failed=False):
                yield from self._whole("agent")
                if step.asked is not None and "updates" in self._modes:
                    yield "updates", {"__interrupt__": [_asked(step.asked, self._turn_id)]}

    @property
    def _id(self) -> str:
        return f"{self._turn_id}-{self._parts}"

    def _partial(self, piece: str) -> Iterator[tuple[str, object]]:
        if "messages-tuple" in self._modes:
            yield "messages", [_message("AIMessageChunk", piece, self._id), {"langgraph_node": "agent"}]
        if "messages" in self._modes:
            yield "messages/partial", [_message("ai", self._text, self._id)]

    def _whole(self, node: str, **more: Any) -> Iterator[tuple[str, object]]:
        """The message is complete: the text so far and the tools that it calls."""
        if not self._text and not more:
            return
        yield from self._send(node, _message("ai", self._text, self._id, **more), chunked=bool(more))

    def _result(self, step: ToolReturned) -> Iterator[tuple[str, object]]:
        status = "error" if step.failed else "success"
        result = _message("tool", step.result, self._id, tool_call_id=step.call_id, status=status)
        yield from self._send("tools", result | {"name": step.name}, chunked=True)

    def _send(self, node: str, message: Json, *, chunked: bool) -> Iterator[tuple[str, object]]:
        if chunked and "messages-tuple" in self._modes:
            chunk = message if node == "tools" else message | {"type": "AIMessageChunk", "content": ""}
            yield "messages", [chunk, {"langgraph_node": node}]
        if "messages" in self._modes:
            yield "messages/complete", [message]
        if "updates" in self._modes:
            yield "updates", {node: {"messages": [message]}}
        self._text = ""
        self._parts += 1


def _asked(asked: AskedUser, turn_id: str) -> Json:
    return interrupt_out(asked.question, asked.choices, turn_id)
