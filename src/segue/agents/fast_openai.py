"""Fast OpenAI requests: skips the SDK's parameter transformation for chat completions.

Before the SDK sends a request, it compares each message with every message type, key by key, to rename keys
that are called differently on the wire. The model library already passes wire names, and no chat parameter is
renamed, so the transformation changes nothing. It blocks the event loop for 1 ms for our tools and 0.3 ms for
each message of the history.
"""

import sys
from collections.abc import Mapping
from typing import Any

_CHAT = "openai.resources.chat.completions.completions"
_TRANSFORM = "async_maybe_transform"
_PARAMETERS = "openai.types.chat.completion_create_params"


def use_fast_transform() -> None:
    """Replace the transformation in the SDK's chat module, if that is loaded and still has it."""
    chat = sys.modules.get(_CHAT)
    transform = getattr(chat, _TRANSFORM, None)
    if chat is None or transform is None or transform.__module__ == __name__:
        return
    from openai._types import NotGiven, Omit

    async def fast_transform(params: Any, kind: Any) -> Any:
        if isinstance(params, Mapping) and getattr(kind, "__module__", None) == _PARAMETERS:
            return {name: value for name, value in params.items() if not isinstance(value, Omit | NotGiven)}
        return await transform(params, kind)

    setattr(chat, _TRANSFORM, fast_transform)
