"""News: decides which messages of a log are news to the owner of its session."""

from segue.model.records import Event
from segue.model.states import Outcome

_NOTHING_SAID = (Outcome.EMPTY, Outcome.STOPPED)


def is_news(event: Event) -> bool:
    """Whether the event says something to the owner that they may not have seen.

    A user's own message is no news, nor is a run that had nothing to say. A message that a program stored is
    none either: that conversation took place elsewhere. What is copied into the log of a chat counts there.
    """
    if event.role != "assistant" or event.via_id is not None:
        return False
    if event.type == "stream_end":
        return not event.body.get("quiet") and event.body["outcome"] not in _NOTHING_SAID
    return event.type == "message" and event.source is not None
