"""The page: it follows the log over a WebSocket, so what is stored is sent, whether or not it is open."""

from segue.model.channel import Stored


class WebSocket(Stored):
    def __init__(self) -> None:
        super().__init__("websocket")
