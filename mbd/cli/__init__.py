"""Command line: from words to the function of a command, which ``commands.py`` lists.

Nothing heavy is imported before a command needs it. Exit codes: 0 done, 1 the run failed, 2 the
input was wrong, 130 interrupted.
"""

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, NoReturn

from mbd.cli import output
from mbd.cli.commands import COMMANDS

_INPUT = (OSError, ValueError, TypeError, KeyError, ImportError, SyntaxError)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    json = "--json" in words
    try:
        options = parser(json).parse_args(words)
        with warnings.catch_warnings():
            warnings.showwarning = _once()
            code = int(resolve_name(f"mbd.cli.{options.command.run}")(options))
        if code == output.DONE:
            output.tell_next(options.command.next, options)
        return code
    except KeyboardInterrupt:
        return _ended("interrupted", output.INTERRUPTED, json)
    except BrokenPipeError:  # `mbd info ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return output.DONE
    except Exception as error:
        if "--traceback" in words:
            raise
        text, of_scene = output.explain(error)
        code = output.WRONG if of_scene or isinstance(error, _INPUT) else output.FAILED
        return _ended(text, code, json)


def _ended(text: str, code: int, json: bool) -> int:
    """Say why a command ended before it was done; return the exit code."""
    if json:
        output.print_json({"error": text})
    return output.print_line(text, code)


def _once() -> Callable[..., None]:
    """Return what shows a warning: each text once, on one line."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            shown.add(text)
            output.print_line(f"warning: {text}", output.DONE)

    return show


class _Parser(argparse.ArgumentParser):
    """A parser whose errors name the nearest word, and are JSON too where that was asked for."""

    json = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands: dict[str, _Parser] = {}

    def error(self, message: str) -> NoReturn:
        """Print one line, and end."""
        from mbd.base.checked import meant

        first, _, words = message.partition(": ")
        if first == "unrecognized arguments":
            there = {x for c in self.commands.values() for x in c._option_string_actions}
            message += meant(words.split()[0].partition("=")[0], there)
        if "invalid choice: " in words:
            choices = words.partition("choose from ")[2]
            message += meant(words.split("'")[1], re.findall(r"[\w-]+", choices))
        if self.json:
            output.print_json({"error": message})
        super().error(message)


def parser(json: bool = False) -> _Parser:
    """Return the parser of all commands."""
    from mbd.base.public import VERSION

    parser = _Parser(prog="mbd", description="Multibody dynamics: run, inspect and convert models.")
    parser.add_argument("--version", action="version", version=f"mbd {VERSION}")
    parser.json = json
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, entry in COMMANDS.items():
        command = commands.add_parser(name, help=entry.help)
        for option in entry.options:
            command.add_argument(*option.flags, **option.how)
        command.add_argument("--json", action="store_true", help="print one JSON object instead")
        command.add_argument(
            "--traceback", action="store_true", help="show where in the code an error arose"
        )
        command.set_defaults(command=entry)
        command.json, parser.commands[name] = json, command
    return parser
