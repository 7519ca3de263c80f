"""The JSON schema of model files, for editors: from the tables that read them."""

from __future__ import annotations

from typing import Any

from mbd.files.reader import SCHEMA
from mbd.files.references import table
from mbd.files.vocabulary import MADE, SECTIONS, parts, run_settings, section
from mbd.model.system import System

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12)."""
    known = parts()
    definitions = {n: table(x, n, optional=n == "RigidBody") for n, x in known.items()}
    definitions |= {x.title: x.definition() for x in MADE}
    sections = {}
    for name in SECTIONS:
        names = [n for n, x in known.items() if section(x) == name]
        one = {"anyOf": [{"$ref": f"#/$defs/{n}"} for n in names]}
        sections[name] = {"type": "object", "additionalProperties": one}
    run = {k: x.schema() for k, x in run_settings().items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mbd model file",
        "description": "Numbers may be strings with units, such as '25 mm'.",
        "type": "object",
        "properties": {
            "schema": {"const": SCHEMA},
            "mbd": {"type": "string", "description": "version that wrote the file"},
            "title": {"type": "string"},
            "system": table(System, None),
            **sections,
            "run": {"type": "object", "properties": run, "additionalProperties": False},
        },
        "required": ["schema"],
        "additionalProperties": False,
        "$defs": definitions,
    }
