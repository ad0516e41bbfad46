"""News: marks what an owner has read, and claims what their devices are told of.

Invariants
  - the mark only moves forward
  - of several processes, one claims a message
"""

from collections.abc import Sequence

from segue.model.records import Owner, PushSubscription
from segue.model.transcript import is_news
from segue.store import queries
from segue.store.database import Params, Row, Transaction
from segue.store.rows import core as rows

_MOST_LATER = 1000
"""Messages after the mark that are counted. A reader who is further behind has not read to the end."""
MOST_DEVICES = 20
"""Of one owner. A further device takes the place of the oldest."""


def mark_read(session_id: str, seq: int) -> Transaction[bool]:
    """Mark the messages up to a number as read. False: they were read already."""
    # Locked before the log is read: a message that is being written is either counted in both or in none.
    found = yield queries.activity.lock, {"session_id": session_id}
    if not found or found[0]["read_news"] == found[0]["news"]:
        return False
    later = yield (
        queries.activity.messages_after,
        {"session_id": session_id, "seq": seq, "limit": _MOST_LATER},
    )
    if len(later) == _MOST_LATER:
        return False
    read = found[0]["news"] - sum(is_news(rows.event(row)) for row in later)
    return bool((yield queries.activity.mark_read, {"session_id": session_id, "read_news": read}))


def subscribe(device: PushSubscription, now: int) -> Transaction[None]:
    """Add a device, or change it. The owner's first device is told nothing of the past."""
    owner = owner_params(device.owner)
    others = yield queries.push.of_owner, owner
    if not others:
        yield queries.push.skip_old_news, owner
    yield (
        queries.push.add,
        {
            **owner,
            "id": device.id,
            "endpoint": device.endpoint,
            "p256dh": device.p256dh,
            "auth": device.auth,
            "vapid_key": device.vapid_key,
            "site": device.site,
            "now": now,
        },
    )
    kept = [row["id"] for row in others if row["id"] != device.id][: MOST_DEVICES - 1]
    for row in others:
        if row["id"] not in (device.id, *kept):
            yield queries.push.remove, {**owner, "id": row["id"]}


def unsubscribe(device_id: str, owner: Owner) -> Transaction[bool]:
    """Remove a device. False: the owner has none of that id."""
    return bool((yield queries.push.remove, {**owner_params(owner), "id": device_id}))


def show(device_id: str, owner: Owner, until: int) -> Transaction[None]:
    """The page is visible on the device until then."""
    yield queries.push.show, {**owner_params(owner), "id": device_id, "until": until}


def claim(found: Sequence[Row]) -> Transaction[list[Row]]:
    """Claim the news of sessions. Returns those that no other process has claimed and that are unread."""
    claimed = []
    for row in found:
        news = {name: row[name] for name in ("session_id", "news", "pushed_news")}
        if (yield queries.push.claim, news) and row["read_news"] < row["news"]:
            claimed.append(row)
    return claimed


def owner_params(owner: Owner) -> Params:
    return {"account": owner.account, "user_id": owner.user}
