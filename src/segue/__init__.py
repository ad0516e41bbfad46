"""Segue: durable scheduling for LLM agents, in the conversation it belongs to."""

from segue.action import Ask, Call, Say
from segue.agent import Agent, Delta, OpenTurn, Text, Thinking, ToolCalled, ToolStarted, Usage
from segue.auto_commit import AutoCommitPolicy
from segue.channel import (
    Arrival,
    Capabilities,
    Channel,
    Markdown,
    NotTaken,
    Receipt,
    Rejected,
    Stored,
    Unreachable,
)
from segue.clock import Clock, SystemClock
from segue.kernel import Kernel
from segue.model import (
    Delivery,
    Event,
    Job,
    Overview,
    Owner,
    Place,
    Recall,
    Run,
    ScheduledMessage,
    Session,
    Source,
    Turn,
)
from segue.once import Request
from segue.policy import Busy, Crash, Late, Overlap, Policy
from segue.settings import Settings
from segue.states import (
    CallType,
    JobKind,
    JobState,
    MessageStatus,
    Outcome,
    RecallStatus,
    TurnState,
    WhenBusy,
)
from segue.transcript import Message
from segue.trigger import At, Cron, Every, Idle, Phase, Trigger
from segue.view import View

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Arrival",
    "Ask",
    "At",
    "AutoCommitPolicy",
    "Busy",
    "Call",
    "CallType",
    "Capabilities",
    "Channel",
    "Clock",
    "Crash",
    "Cron",
    "Delivery",
    "Delta",
    "Event",
    "Every",
    "Idle",
    "Job",
    "JobKind",
    "JobState",
    "Kernel",
    "Late",
    "Markdown",
    "Message",
    "MessageStatus",
    "NotTaken",
    "OpenTurn",
    "Outcome",
    "Overlap",
    "Overview",
    "Owner",
    "Phase",
    "Place",
    "Policy",
    "Recall",
    "RecallStatus",
    "Receipt",
    "Rejected",
    "Request",
    "Run",
    "Say",
    "ScheduledMessage",
    "Session",
    "Settings",
    "Source",
    "Stored",
    "SystemClock",
    "Text",
    "Thinking",
    "ToolCalled",
    "ToolStarted",
    "Trigger",
    "Turn",
    "TurnState",
    "Unreachable",
    "Usage",
    "View",
    "WhenBusy",
]
