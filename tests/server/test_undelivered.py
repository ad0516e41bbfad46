"""An answer that its channel refused, in the API and in live events."""

import asyncio
from contextlib import aclosing

from segue import Kernel, Rejected
from segue.server.routes import live
from segue.testing import RecordingChannel, ScriptedAgent
from tests.server.conftest import reach, running

KEY = "test:42"
REFUSED = "Telegram refused it: Forbidden: bot was blocked by the user"


async def test_messages_runs_and_live_events_say_that_an_answer_was_refused(database_url: str) -> None:
    channel = RecordingChannel("test")
    channel.fail(Rejected(REFUSED))
    async with Kernel(database_url, agent=ScriptedAgent(), channels=[channel]) as kernel:  # noqa: SIM117
        async with running(kernel) as app, reach(app) as http:
            await http.post("/sessions", json={"key": KEY})
            body = {"message": "Look.", "schedule": "every 10s"}
            job = (await http.post(f"/sessions/{KEY}/automations", json=body)).json()
            session = await kernel.sessions.get(KEY)
            async with asyncio.timeout(30), aclosing(live.session_events(kernel, session, 0)) as stream:
                note = await anext(wired async for wired in stream if "undelivered" in wired)
            await http.post(f"/automations/{job['id']}/pause")
            answer = (await http.get(f"/sessions/{KEY}/messages")).json()["messages"][1]
            assert (answer["role"], answer["delivery"]) == ("assistant", "failed")
            assert note["undelivered"] == {
                "message_id": answer["id"],
                "turn_id": answer["turn_id"],
                "delivery": "failed",
                "reason": REFUSED,
            }
            run = (await http.get(f"/automations/{job['id']}/runs")).json()["runs"][-1]
            run_out = (await http.get(f"/runs/{run['run_id']}")).json()
            assert (run_out["outcome"], run_out["delivery"], run_out["delivery_error"]) == (
                "ok",
                "failed",
                REFUSED,
            )
            log = (await http.get(f"/sessions/{KEY}/log")).json()["events"]
            [end] = [
                event
                for event in log
                if event["turn_id"] == answer["turn_id"] and event["type"] == "stream_end"
            ]
            assert end["message"]["delivery"] == "failed"
