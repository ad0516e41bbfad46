"""WebSocket channel: the web page follows the session log, so a stored message counts as sent."""

from segue.model.channel import Stored


class WebSocket(Stored):
    def __init__(self) -> None:
        super().__init__("websocket")
