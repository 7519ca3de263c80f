"""``mbd schema``: the JSON schema of model files, for editors."""

from __future__ import annotations

import argparse
import json

from mbd.cli.codes import DONE

HELP = "print the JSON schema of model files, for editors"
NEXT = (
    "`#:schema {output}` as first line of a model file lets an editor check it",
    "`mbd schema -o mbd.json` writes it for an editor",
)


def arguments(command: argparse.ArgumentParser) -> None:
    """Add the options."""
    command.add_argument("-o", "--output", metavar="JSON", help="write it to a file")


def run(options: argparse.Namespace) -> int:
    """Print the schema."""
    from mbd.files.schema import json_schema

    text = json.dumps(json_schema(), indent=2)
    if options.output is None:
        print(text)
        return DONE
    from mbd.base.atomic import replaced

    with replaced(options.output, "schema") as file:
        file.write(f"{text}\n".encode())
    print(json.dumps({"written": [options.output]}) if options.json else f"wrote {options.output}")
    return DONE
