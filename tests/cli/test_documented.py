"""Every command and every option of the command line is on its page."""

import argparse
import importlib
from pathlib import Path

import pytest

from mbd import cli

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "command_line.rst"


def commands() -> dict[str, argparse.ArgumentParser]:
    return cli.parser().commands


def test_commands_are_those_of_the_package():
    assert tuple(commands()) == tuple(cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS.values(), ids=cli.COMMANDS)
def test_functions_of_commands_are_there(command):
    module, _, name = command.run.partition(":")
    assert getattr(importlib.import_module(f"mbd.cli.{module}"), name).__doc__


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_options_are_documented(name):
    text = PAGE.read_text(encoding="utf-8")
    assert f"``{name}``" in text
    for action in commands()[name]._actions:
        for option in action.option_strings:
            if option.startswith("--") and option not in ("--output", "--quiet"):
                assert option in text, f"{option} of mbd {name} is not in {PAGE.name}"
        assert action.help, f"{action.dest} of mbd {name} has no help"
