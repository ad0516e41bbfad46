"""Time zones on the command line: which one a time is read in, and which one times are shown in.

The order is the same everywhere: the words of the time, `--timezone`, the session, the setting. The command
line adds the terminal's own zone at the end. An explicit setting goes before it, for on a server and in a
container the terminal's zone is often UTC only because it was never set.
"""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from segue.model.records import Asker

if TYPE_CHECKING:
    from segue.config import Configuration
    from segue.kernel.kernel import Kernel

Timezone = Annotated[
    str | None, typer.Option(help="The IANA zone of a time that names none, such as Europe/Berlin.")
]


def terminal_zone() -> str | None:
    """By `TZ`, else by the machine's clock; None where neither names a zone."""
    from segue.config.defaults import system_zone

    return system_zone(os.environ)


def shown_zone(configuration: "Configuration") -> str:
    return configuration.timezone or terminal_zone() or "UTC"


async def zone_for(kernel: "Kernel", key: str, given: str | None, owner: Asker) -> str | None:
    """The zone of a time that names none, for a command about this session."""
    session = await kernel.find(key, owner=owner)
    return kernel.zone_in(session, given) or terminal_zone()
