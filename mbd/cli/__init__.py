"""Floor 7. Command line: one file per command, each with ``HELP``, ``arguments`` and ``run``.

Nothing heavy is imported before a command needs it. Exit codes: 0 done, 1 the run failed, 2 the
input was wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys

from mbd.cli.codes import DONE, FAILED, INTERRUPTED, WRONG, explain, say

__all__ = ["main"]

# modules of this folder, in the order of the help
COMMANDS = (
    "run",
    "info",
    "equilibrium",
    "modes",
    "compare",
    "view",
    "convert",
    "schema",
    "demo",
    "doctor",
)
_INPUT = (OSError, ValueError, TypeError, KeyError, ImportError, SyntaxError)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.command(options))
    except KeyboardInterrupt:
        return say("interrupted", INTERRUPTED)
    except BrokenPipeError:  # `mbd info ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if options.traceback:
            raise
        text, of_scene = explain(error)
        return say(text, WRONG if of_scene or isinstance(error, _INPUT) else FAILED)


def _parser() -> argparse.ArgumentParser:
    from mbd import __version__

    parser = argparse.ArgumentParser(
        prog="mbd",
        description="Multibody dynamics: run, inspect and convert models.",
    )
    parser.add_argument("--version", action="version", version=f"mbd {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        module = importlib.import_module(f"mbd.cli.{name}")
        command = commands.add_parser(name, help=module.HELP)
        module.arguments(command)
        command.add_argument("--json", action="store_true", help="print one JSON object instead")
        command.add_argument(
            "--traceback", action="store_true", help="show where in the code an error arose"
        )
        command.set_defaults(command=module.run)
    return parser
