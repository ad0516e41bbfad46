"""Entry point of the `segue` command."""

import sys


def run() -> None:
    try:
        from segue.cli.app import app

        app()
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "segue":
            raise
        sys.stderr.write(f"This command needs {missing.name}: pip install 'segue[server]'\n")
        sys.exit(1)


if __name__ == "__main__":
    run()
