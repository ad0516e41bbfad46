"""A short cut past the walk that OpenAI's SDK takes through every request.

Before the SDK sends a request, it compares each message with each kind of message that there is, key by key,
to rename what has another name on the wire. The model library hands over what is on the wire already, and no
parameter of a chat has another name: the walk finds nothing. It takes 1 ms for our tools and 0.3 ms for each
message of a history, in one stretch in which the loop hears nobody else.
"""

import sys
from collections.abc import Mapping
from typing import Any

_CHAT = "openai.resources.chat.completions.completions"
_WALK = "async_maybe_transform"
_PARAMETERS = "openai.types.chat.completion_create_params"


def use_fast_transform() -> None:
    """In chats by the SDK, if it is loaded and still takes that walk."""
    chat = sys.modules.get(_CHAT)
    walk = getattr(chat, _WALK, None)
    if chat is None or walk is None or walk.__module__ == __name__:
        return
    from openai._types import NotGiven, Omit

    async def past(asked: Any, kind: Any) -> Any:
        if isinstance(asked, Mapping) and getattr(kind, "__module__", None) == _PARAMETERS:
            return {name: given for name, given in asked.items() if not isinstance(given, Omit | NotGiven)}
        return await walk(asked, kind)

    setattr(chat, _WALK, past)
