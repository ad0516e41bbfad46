"""`segue chat`: chat in the terminal.

It opens the database and runs its own workers, so it needs no server, and jobs run while it is open. If a
server is running too, the process that leases the turn first answers it, which is almost always this one. In
either case the answer is shown here.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from segue.cli.support.find_session import find_key
from segue.cli.support.load_settings import FAILED, configured
from segue.cli.support.options import Account, User, asker_of
from segue.cli.support.output import AsJson
from segue.cli.support.timezone import shown_zone
from segue.model.text_checks import check_key

if TYPE_CHECKING:
    from segue.config import Configuration

Session = Annotated[
    str,
    typer.Option(help="The session: its key (channel:chat_id), title, the beginning of its id, or `last`."),
]


@configured()
def chat(
    configuration: "Configuration",
    session: Session = "terminal:default",
    account: Account = "default",
    user: User = None,
    as_json: AsJson = False,
) -> None:
    """Chat in the terminal. From a pipe, each line is a message and each answer is printed."""
    from segue.cli.chat.background import Background
    from segue.cli.chat.run_chat import from_pipe, in_terminal

    owner = asker_of(account, user)
    if ":" in session:
        check_key(session)
    with Background(configuration) as background:
        key = background.call(find_key(background.kernel, session, owner))
        if sys.stdin.isatty() and sys.stdout.isatty() and not as_json:
            model, zone = configuration.model_name, shown_zone(configuration)
            in_terminal(background, key, owner, model=model, zone=zone)
        elif not from_pipe(background, key, owner, as_json=as_json):
            raise typer.Exit(FAILED)
