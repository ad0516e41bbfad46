"""JSON text: writes what the server sends of a turn.

An agent's tools and thoughts may hold lone surrogates, which UTF-8 cannot carry. They are replaced, as they
are when the turn's events are stored.
"""

import json
from typing import Any

from fastapi.responses import JSONResponse

from segue.model.text_checks import clean


def json_text(value: object) -> str:
    return clean(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


class TurnResponse(JSONResponse):
    """A response with what an agent wrote."""

    def render(self, content: Any) -> bytes:
        return json_text(content).encode()
