"""A message written now and sent later through your own channel, without a model."""

import asyncio

from segue import At, Channel, Delivery, Kernel, NotTaken, OpenTurn, Receipt, Say
from segue.testing import ManualClock, quiet


class Post(Channel):
    """Serves the sessions whose keys begin with its name. Its first attempt fails."""

    name = "post"
    tries = 0

    async def send(self, delivery: Delivery) -> Receipt:
        self.tries += 1
        if self.tries == 1:
            raise NotTaken("the door is closed", retry_after=600)
        print(f"to {delivery.chat_id}: {delivery.content}")
        return Receipt(message_id="letter-1")


async def no_agent(turn: OpenTurn) -> None:
    raise AssertionError("Say calls no agent")


async def main() -> None:
    clock = ManualClock()  # a Monday, nine o'clock
    async with Kernel("sqlite://:memory:", agent=no_agent, channels=[Post()], clock=clock) as kernel:
        await kernel.schedule("post:anna", At("tomorrow at 08:00", tz="UTC"), Say("We leave at noon."))
        for hours, minutes in (23, 0), (0, 10):
            clock.advance(hours=hours, minutes=minutes)
            await quiet(kernel)
            (letter,) = await kernel.log.deliveries("post:anna")
            print(f"{clock.now():%A %H:%M}: {letter.state}, {letter.error or letter.sent_message_id}")


asyncio.run(main())

# It prints:
# Tuesday 08:00: pending, the door is closed
# to anna: We leave at noon.
# Tuesday 08:10: sent, letter-1
