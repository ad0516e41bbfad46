"""Push: stores the devices of owners, and claims the news that they are told of. The server sends it."""

from segue.errors import NotFound
from segue.kernel.api.context import OPERATOR, ApiContext
from segue.kernel.transactions import news
from segue.kernel.transactions.result import Name
from segue.model.records import Asker, News, Owner, PushSubscription
from segue.store import queries
from segue.store.database import Params

_VISIBLE_MS = 300_000
"""How long a page counts as visible if its connection and its server are lost."""
_A_DAY_MS = 86_400_000
_MOST = 200


class PushApi:
    """Devices and their news: `kernel.push`."""

    def __init__(self, context: ApiContext) -> None:
        self._context = context

    async def subscribe(self, device: PushSubscription) -> None:
        """Stores a device. One that is known is changed, and belongs to its new owner."""
        await self._context.store.commit(news.subscribe, device, self._context.clock.ms())

    async def unsubscribe(self, device_id: str, *, owner: Asker = OPERATOR) -> None:
        """Removes a device of the owner. Raises `NotFound`."""
        if not await self._context.store.commit(news.unsubscribe, device_id, owner.own):
            raise NotFound(f"there is no subscription {device_id}")

    async def devices(self, owner: Owner) -> list[PushSubscription]:
        """Returns the devices of an owner, the newest first."""
        return await self._context.store.push_subscriptions(owner)

    async def show(self, device_id: str, visible: bool, *, owner: Asker = OPERATOR) -> None:
        """Notes whether the page is visible on a device, for 5 minutes. Then the device is told nothing."""
        until = self._context.clock.ms() + _VISIBLE_MS if visible else 0
        await self._context.store.commit(news.show, device_id, owner.own, until)

    async def wait(self, until: int | None) -> None:
        """Returns when there may be news, or at that moment."""
        await self._context.bell.wait(Name.PUSHER, until)

    async def claim(self, vapid_key: str) -> list[News]:
        """Returns unread news of sessions whose owners have a device with that key. Only one process gets it.

        Sessions of channels are left out: their messages are sent there.
        """
        context = self._context
        params: Params = {
            "vapid_key": vapid_key,
            "since": context.clock.ms() - _A_DAY_MS,
            "limit": _MOST,
        }
        found = await context.store.database.read(queries.push.news, params)
        claimed = await context.store.commit(news.claim, found) if found else []
        return [
            News(Owner(row["account"], row["user_id"]), row["key"])
            for row in claimed
            if not context.is_sent(row["key"])
        ]

    async def unread(self, owner: Owner) -> int:
        """Returns how many messages an owner has not read, in all sessions."""
        params: Params = {**news.owner_params(owner), "limit": 1000}
        found = await self._context.store.database.read(queries.push.unread, params)
        return sum(row["unread"] for row in found if not self._context.is_sent(row["key"]))
