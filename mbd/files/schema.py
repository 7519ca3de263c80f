"""JSON schema of model files, for editors: from the tables that read them."""

import inspect
from collections.abc import Callable
from typing import Any

from mbd.base.recorded_call import signature
from mbd.files.value_types import Number
from mbd.files.vocabulary import CONSTRUCTED, SCHEMA, SECTIONS, arguments, parts, run_settings
from mbd.model.system import System


def json_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12)."""
    makers = parts()
    definitions = {n: table(x, n, optional=n == "RigidBody") for n, x in makers.items()}
    for x in CONSTRUCTED:  # choices of tables, or of words
        tables = [table(y, n, optional=n == x.default) for n, y in x.among().items()]
        plain = [] if x.default else [{"enum": [*x.names, *x.among()]}]
        definitions[x.title] = {"anyOf": [*plain, *tables]}
    sections = {}
    for name in SECTIONS:
        names = [n for n, x in makers.items() if x.drawer == name]
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
            "parameters": {
                "type": "object",
                "additionalProperties": Number("SI").schema(),
                "description": "numbers by name, which expressions in the place of numbers use",
            },
            "system": table(System, None),
            **sections,
            "run": {"type": "object", "properties": run, "additionalProperties": False},
        },
        "required": ["schema"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def table(maker: Callable[..., Any], name: str | None, *, optional: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a table of arguments; with a name, it has the key ``type``."""
    keys = {k: x.schema() for k, x in arguments(maker).items()}
    takes = signature(maker).parameters
    needed = [k for k in keys if takes[k].default is inspect.Parameter.empty]
    if name is not None:
        keys, needed = {"type": {"const": name}, **keys}, ["type"] * (not optional) + needed
    summary = (inspect.getdoc(maker) or "").split("\n", 1)[0]
    head = {"type": "object", "title": maker.__name__, "description": summary}
    return {**head, "properties": keys, "required": needed, "additionalProperties": False}
