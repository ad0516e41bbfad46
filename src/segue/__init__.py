"""Segue: durable scheduling for LLM agents, in the conversation it belongs to.

The values here are cheap to import. `Kernel` brings the engine and is loaded at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from segue.model.action import Ask, Call, Say, View
from segue.model.agent import (
    Agent,
    Attach,
    Delta,
    OpenTurn,
    Resumed,
    Text,
    Thinking,
    ToolCalled,
    ToolStarted,
    Usage,
    Waiting,
    current_turn,
)
from segue.model.auto_commit import AutoCommitPolicy
from segue.model.channel import (
    Arrival,
    Capabilities,
    Channel,
    IncomingFile,
    Markdown,
    NotTaken,
    Receipt,
    Rejected,
    Stored,
    Unreachable,
)
from segue.model.cost.budget import Budget
from segue.model.files import File
from segue.model.policy import Busy, Crash, Late, Overlap, Policy
from segue.model.quiet.digest import Digest
from segue.model.quiet.hours import QuietHours
from segue.model.records import (
    Delivery,
    Event,
    Job,
    Operator,
    Overview,
    Owner,
    PageStart,
    Recall,
    Run,
    ScheduledMessage,
    Session,
    Source,
    Turn,
)
from segue.model.settings import Settings
from segue.model.states import (
    CallType,
    JobKind,
    JobState,
    MessageStatus,
    Outcome,
    RecallStatus,
    TurnState,
    WhenBusy,
)
from segue.model.transcript import Message
from segue.times.clock import Clock, SystemClock
from segue.times.trigger import At, Cron, Every, Idle, Phase, RRule, Trigger

if TYPE_CHECKING:
    from segue.agents.tools.registry import Tool, Toolbox
    from segue.agents.tools.scheduling import scheduling_tools
    from segue.kernel.api.jobs import OwnedJob
    from segue.kernel.drain import Drained
    from segue.kernel.kernel import Kernel
    from segue.kernel.live.hub import LiveText
    from segue.kernel.transactions.idempotency import Request

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Arrival",
    "Ask",
    "At",
    "Attach",
    "AutoCommitPolicy",
    "Budget",
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
    "Digest",
    "Drained",
    "Event",
    "Every",
    "File",
    "Idle",
    "IncomingFile",
    "Job",
    "JobKind",
    "JobState",
    "Kernel",
    "Late",
    "LiveText",
    "Markdown",
    "Message",
    "MessageStatus",
    "NotTaken",
    "OpenTurn",
    "Operator",
    "Outcome",
    "Overlap",
    "Overview",
    "OwnedJob",
    "Owner",
    "PageStart",
    "Phase",
    "Policy",
    "QuietHours",
    "RRule",
    "Recall",
    "RecallStatus",
    "Receipt",
    "Rejected",
    "Request",
    "Resumed",
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
    "Tool",
    "ToolCalled",
    "ToolStarted",
    "Toolbox",
    "Trigger",
    "Turn",
    "TurnState",
    "Unreachable",
    "Usage",
    "View",
    "Waiting",
    "WhenBusy",
    "current_turn",
    "scheduling_tools",
]

_LATER = {
    "Drained": "segue.kernel.drain",
    "Kernel": "segue.kernel.kernel",
    "Tool": "segue.agents.tools.registry",
    "Toolbox": "segue.agents.tools.registry",
    "scheduling_tools": "segue.agents.tools.scheduling",
    "LiveText": "segue.kernel.live.hub",
    "OwnedJob": "segue.kernel.api.jobs",
    "Request": "segue.kernel.transactions.idempotency",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value
