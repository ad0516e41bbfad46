"""Time zones of the command line: for reading and for showing times.

The order of precedence is the same everywhere: the text of the time, `--timezone`, the session, the setting.
The command line adds the terminal's zone at the end. It comes after the setting, because on a server and in a
container it is often UTC only because it was never set.
"""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from segue.model.records import Asker

if TYPE_CHECKING:
    from segue.config import Configuration
    from segue.kernel.kernel import Kernel

Timezone = Annotated[
    str | None, typer.Option(help="The IANA zone for a time without a zone, such as Europe/Berlin.")
]


def terminal_zone() -> str | None:
    """The zone of `TZ`, else of the machine's clock; None if neither names a zone."""
    from segue.config.defaults import system_zone

    return system_zone(os.environ)


def shown_zone(configuration: "Configuration") -> str:
    return configuration.timezone or terminal_zone() or "UTC"


async def zone_for(kernel: "Kernel", key: str, given: str | None, owner: Asker) -> str | None:
    """The zone for a time without a zone in this session; None if no zone is known."""
    session = await kernel.sessions.find(key, owner=owner)
    return kernel.sessions.zone_in(session, given) or terminal_zone()
