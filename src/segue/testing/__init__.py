"""Test helpers for users of Segue: a manual clock, a scripted agent, a recording channel.

    async def test_my_schedule(kernel, clock, agent):
        agent.script("Build 418 is green.")
        await kernel.schedule("web:1", Every(600), Ask("Read the build log."))
        clock.advance(minutes=10)
        await quiet(kernel)
        assert [m.content for m in await kernel.messages("web:1")][-1] == "Build 418 is green."

If Segue is installed, `pytest` finds the fixtures by itself.
"""

from segue.testing.agent_check import AGENT_CHECKS, check_agent
from segue.testing.agent_parts import AgentParts
from segue.testing.conformance import check_arrival, check_channel
from segue.testing.faults import Fault, FaultyStore
from segue.testing.manual_clock import ManualClock
from segue.testing.quiesce import audit, quiet
from segue.testing.recording_channel import RecordingChannel
from segue.testing.scripted_agent import ScriptedAgent
from segue.testing.scripted_provider import ScriptedProvider, says
from segue.testing.wire_formats import Calls

__all__ = [
    "AGENT_CHECKS",
    "AgentParts",
    "Calls",
    "Fault",
    "FaultyStore",
    "ManualClock",
    "RecordingChannel",
    "ScriptedAgent",
    "ScriptedProvider",
    "audit",
    "check_agent",
    "check_arrival",
    "check_channel",
    "quiet",
    "says",
]
