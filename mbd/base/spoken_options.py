"""Objects with options from text: ``EulerParameters('reduced')``, a call of literals."""

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from mbd.base.checked import meant, shown


def call_of_literals(
    words: str, makers: Mapping[str, Callable[..., Any]], what: str, example: str
) -> Any:
    """Return what words make: the name of a class or function, alone or with literals in brackets.

    Parameters
    ----------
    words : str
    makers : mapping of str to callable
    what, example : str
        For errors: what the words are of, and words with options.
    """
    choice = ", ".join(makers)
    try:
        tree = ast.parse(words.strip(), mode="eval").body
        call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
        name = call.func.id  # type: ignore[attr-defined]
        arguments = [ast.literal_eval(x) for x in call.args]
        options = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError, AttributeError, TypeError, RecursionError, MemoryError):
        raise ValueError(
            f"{what} must be a name, such as {choice}, or one with options, such as {example}, "
            f"got {shown(words)}"
        ) from None
    if name not in makers:
        raise ValueError(f"{what} must be one of {choice}, got {shown(words)}{meant(name, makers)}")
    takes = inspect.signature(makers[name])
    try:
        takes.bind(*arguments, **options)
    except TypeError as error:
        raise ValueError(
            f"{what}: {name} takes the options {', '.join(takes.parameters) or 'none'}, got "
            f"{words!r}: {error}"
        ) from None
    return makers[name](*arguments, **options)


def parted(text: str) -> list[str]:
    """Return the words of a text with commas between; those in brackets or quotes do not part."""
    words, word, depth, quote = [], "", 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        else:
            depth += (c in "([{") - (c in ")]}")
        if c == "," and not depth and not quote:
            words.append(word.strip())
            word = ""
        else:
            word += c
    return [*words, word.strip()]
