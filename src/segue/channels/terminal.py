"""The terminal: `segue chat` follows the log, so what is stored is sent, whether or not somebody looks."""

from segue.model.channel import Stored


class Terminal(Stored):
    def __init__(self) -> None:
        super().__init__("terminal")
