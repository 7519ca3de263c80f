"""``mbd completion``: the script that lets a shell complete commands, options and files."""

from __future__ import annotations

import argparse

from mbd.cli.codes import DONE

HELP = "print the script that lets a shell complete commands and options"
NEXT = ("the documentation of the command line says where your shell looks for it",)
_FILES = ("file", "input", "output", "csv", "plot", "spy", "matrices", "animate", "reference")


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    from mbd.base.checked import extra
    from mbd.cli import parser

    extra("completion", "scripts for shells need", "shtab", "shell")
    import shtab

    whole = parser()
    for command in whole.commands.values():
        for action in command._actions:
            if action.dest in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(whole, options.shell))
    return DONE
