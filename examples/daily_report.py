"""A report every weekday at nine. The reply to one report is in the history of the next.

A manual clock runs a week of it in a second.
"""

import asyncio
from datetime import datetime
from zoneinfo import ZoneInfo

from segue import Ask, Cron, Kernel, OpenTurn
from segue.testing import ManualClock, quiet

BERLIN = ZoneInfo("Europe/Berlin")


async def agent(turn: OpenTurn) -> str:
    wishes = [m.content for m in await turn.history() if m.role == "user" and m.source is None]
    if turn.source is None:
        return "I will."
    return "Sales are fine." if wishes else "Sales are fine. It rains."


async def main() -> None:
    clock = ManualClock(datetime(2026, 11, 15, 9, 0, tzinfo=BERLIN))  # a Sunday
    async with Kernel("sqlite://:memory:", agent=agent, clock=clock) as kernel:
        weekdays = Cron("0 9 * * 1-5", tz="Europe/Berlin")
        await kernel.schedule("chat:anna", weekdays, Ask("How are sales?"), name="report")
        for _ in range(7):
            today = clock.advance(days=1)
            await quiet(kernel)
            if today.weekday() == 1:  # Tuesday
                await kernel.receive("chat:anna", "Leave out the weather.")
                await quiet(kernel)
        for message in await kernel.messages("chat:anna"):
            at = datetime.fromtimestamp(message.at / 1000, BERLIN)
            print(f"{at:%a %H:%M} {message.role:>9}: {message.content.splitlines()[-1]}")


asyncio.run(main())

# It prints:
# Mon 09:00      user: How are sales?
# Mon 09:00 assistant: Sales are fine. It rains.
# Tue 09:00      user: How are sales?
# Tue 09:00 assistant: Sales are fine. It rains.
# Tue 09:00      user: Leave out the weather.
# Tue 09:00 assistant: I will.
# Wed 09:00      user: How are sales?
# Wed 09:00 assistant: Sales are fine.
# Thu 09:00      user: How are sales?
# Thu 09:00 assistant: Sales are fine.
# Fri 09:00      user: How are sales?
# Fri 09:00 assistant: Sales are fine.
