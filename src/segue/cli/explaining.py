"""Why a slot ran or did not, printed: sentences for people, the API's object for programs."""

from datetime import datetime

import typer

from segue.cli.asking import Asked
from segue.cli.output import print_json, printable, shape
from segue.kernel import Kernel


async def explain_slot(asked: Asked, kernel: Kernel, job_id: str, slot: datetime | None) -> None:
    from segue.server.automations import explained

    told, answer = await explained(kernel, job_id, slot=slot, owner=asked.owner)
    if asked.as_json:
        print_json(shape(answer))
    else:
        typer.echo("\n".join(printable(sentence) for sentence in told.sentences))
