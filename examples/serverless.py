"""A serverless function: each call runs what is due, and says when the platform should call again."""

import os
import time
from datetime import UTC, datetime, timedelta
from tempfile import mkdtemp
from typing import Any

from segue import At, OpenTurn, Say
from segue.sync import Kernel

DATABASE = os.environ.get("DATABASE_URL", f"sqlite:///{mkdtemp()}/agent.db")  # in production: PostgreSQL


async def agent(turn: OpenTurn) -> str:  # call a model here
    return f"You said: {turn.text}"


def handler(event: dict[str, Any], context: object = None) -> dict[str, Any]:
    with Kernel(DATABASE, agent=agent) as kernel:
        if "text" in event:
            kernel.receive(event["session"], event["text"])
        if "remind_at" in event:
            kernel.schedule(event["session"], At(event["remind_at"]), Say("It is time."))
        drained = kernel.drain(until=datetime.now(UTC) + timedelta(seconds=20))  # the platform ends it at 30
        said = kernel.messages(event["session"])[-1:]
    return {"turns": drained.turns, "call_again_at": drained.next_at, "last": [m.content for m in said]}


if __name__ == "__main__":
    first = handler({"session": "web:anna", "text": "Good morning", "remind_at": "in 2 seconds"})
    print(first["turns"], first["last"])
    time.sleep((first["call_again_at"] - datetime.now(UTC)).total_seconds())
    second = handler({"session": "web:anna"})
    print(second["turns"], second["last"], second["call_again_at"])

# It prints:
# 1 ['You said: Good morning']
# 0 ['It is time.'] None
