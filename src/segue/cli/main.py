"""Entry point of the `segue` command."""

import sys

from segue.cli.support.event_loop import collect_less_often
from segue.errors import MissingPackage
from segue.extras import needed_for


def run() -> None:
    collect_less_often()
    try:
        with needed_for("this command"):
            from segue.cli.app import app

            app()
    except MissingPackage as missing:
        sys.stderr.write(f"{missing}\n")
        sys.exit(1)


if __name__ == "__main__":
    run()
