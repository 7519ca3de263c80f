"""Formulas of parameters as text in model files, and texts as formulas, bit by bit."""

import ast
import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mbd.base.checked import shown
from mbd.base.parameter import Formula, Parameter
from mbd.files.expressions import FUNCTIONS, Expression

#: names that have a meaning in texts
RESERVED = frozenset(("t", "u", "rate", "pi", *FUNCTIONS))
_OPERATORS: dict[type, Any] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide,
    ast.Pow: np.power, ast.Mod: np.remainder, ast.USub: np.negative, ast.UAdd: np.positive,
}  # fmt: skip
_NAMED: dict[str, Any] = {
    **{x: getattr(np, x) for x in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log")},
    **{x: getattr(np, x) for x in ("sqrt", "floor", "sign")},
    **{f"a{x}": getattr(np, f"arc{x}") for x in ("sin", "cos", "tan", "tan2")},
    "abs": np.absolute, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
_BY_UFUNC = {ufunc: operator for operator, ufunc in _OPERATORS.items()}
_NAMES = {ufunc: name for name, ufunc in _NAMED.items()}


def used(text: str, parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Return the parameters whose names are in a text."""
    words = set(re.findall(r"\w+", text)) if parameters else ()
    return {name: x for name, x in parameters.items() if name in words}


def formula(text: str, parameters: Mapping[str, Parameter]) -> Any:
    """Return the formula that a checked text is."""

    def read(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return float(node.value)  # type: ignore[arg-type]
        if isinstance(node, ast.Name):
            return parameters[node.id] if node.id in parameters else math.pi
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return of(_OPERATORS[type(node.op)], read(node.operand))
        if isinstance(node, ast.BinOp):
            return of(_OPERATORS[type(node.op)], read(node.left), read(node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            ufunc = _NAMED.get(node.func.id)
            if ufunc is not None and (len(node.args) <= ufunc.nin or ufunc.nin > 1):
                several = [read(x) for x in node.args]
                return of(ufunc, *several) if ufunc.nin == 1 else \
                    functools.reduce(lambda a, b: of(ufunc, a, b), several)  # fmt: skip
        raise ValueError(
            f"a number with parameters may have + - * / ** % and {', '.join(_NAMED)}, got "
            f"{shown(text)}"
        )

    def of(ufunc: Any, *operands: Any) -> Any:
        numeric = not any(isinstance(x, Formula) for x in operands)
        return float(ufunc(*operands)) if numeric else Formula(ufunc, operands)

    return read(ast.parse(text.strip(), mode="eval").body)


def _node(value: Any, name: Callable[[Any], str]) -> ast.expr:
    """Return the tree of a formula; `name` gives the text of functions and parameters."""
    if isinstance(value, Parameter):
        return ast.Name(name(value))
    if not isinstance(value, Formula):
        x = float(value)
        size: ast.expr = ast.Constant(abs(x))
        return ast.UnaryOp(ast.USub(), size) if math.copysign(1.0, x) < 0 else size
    inside = [_node(x, name) for x in value.operands]
    if value.function is np.square:
        return ast.BinOp(inside[0], ast.Mult(), inside[0])
    operator: Any = _BY_UFUNC.get(value.function)
    if operator is not None and len(inside) == 1:
        return ast.UnaryOp(operator(), inside[0])
    if operator is not None:
        return ast.BinOp(inside[0], operator(), inside[1])
    return ast.Call(ast.Name(name(value.function)), inside, [])


def _name_in_file(thing: Any) -> str:
    if isinstance(thing, Parameter):
        if thing.name in RESERVED:
            raise ValueError(
                f"its parameter {thing.name!r} has a name that means something else in files; "
                "give it another one"
            )
        return thing.name
    if thing not in _NAMES:
        own = getattr(thing, "__name__", "?")
        raise ValueError(
            f"a formula of parameters has the function {own!r}, which files do not have; they have "
            f"{', '.join(_NAMED)}"
        )
    return _NAMES[thing]


def text_of(value: Formula) -> str:
    """Return a formula as a model file has it."""
    return ast.unparse(_node(value, _name_in_file))


def code_of(value: Formula, names: Mapping[str, str]) -> str:
    """Return a formula as Python, with `names` of variables for parameters."""

    def name(thing: Any) -> str:
        return names[thing.name] if isinstance(thing, Parameter) else f"np.{thing.__name__}"

    return ast.unparse(_node(value, name))


def law_texts(law: Expression) -> tuple[str, ...]:
    """Return the texts of a law with numbers and names of parameters in the place of its own."""
    own = law.call.options
    if all(isinstance(x, Parameter) and x.name == name for name, x in own.items()):
        return law.texts

    class Inside(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> Any:
            return _node(own[node.id], _name_in_file) if node.id in own else node

    trees = (ast.parse(x.strip(), mode="eval") for x in law.texts)
    return tuple(ast.unparse(Inside().visit(tree)) for tree in trees)


def law_names(law: Expression) -> list[str]:
    """Return the names of the parameters that a law depends on."""
    formulas = [x for x in law.call.options.values() if isinstance(x, Formula)]
    return list(dict.fromkeys(name for x in formulas for name in x.parameters))
