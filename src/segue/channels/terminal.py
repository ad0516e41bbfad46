"""Terminal channel: `segue chat` follows the session log, so a stored message counts as sent."""

from segue.model.channel import Stored


class Terminal(Stored):
    def __init__(self) -> None:
        super().__init__("terminal")
