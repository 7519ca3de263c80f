"""Size of the package by room: lines, and lines of code alone, at one revision or at two.

Run it with ``python tests/bench/size.py 5edd4a1 HEAD`` (needs git and the history). Lines of code
are those on which a token of a statement stands: no docstrings, comments, blank lines.
``--common`` counts only functions and methods whose name (room, class, function) occurs once in
both revisions: what grew or shrank of that which was there before.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter

SKIP = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
SCOPES = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SKIP:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, SCOPES) and ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def functions(room: str, tree: ast.AST, owner: str = "") -> list[tuple[str, range]]:
    """Return names and lines of functions and methods."""
    out = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            out += functions(room, node, f"{owner}{node.name}.")
        elif isinstance(node, SCOPES[2:]):
            out.append((f"{room}:{owner}{node.name}", range(node.lineno, node.end_lineno + 1)))
    return out


def measure(revision: str) -> tuple[Counter, Counter, dict[str, int]]:
    """Return lines and lines of code by room, and lines of code of functions with one place."""
    lines, code, sizes, places = Counter(), Counter(), {}, Counter()
    for path in git("ls-tree", "-r", "--name-only", revision, "mbd").splitlines():
        if not path.endswith(".py"):
            continue
        text = git("show", f"{revision}:{path}")
        tree, room = ast.parse(text), path.split("/")[1]
        with_code = code_lines(text, tree)
        lines[room] += text.count("\n")
        code[room] += len(with_code)
        for name, span in functions(room, tree):
            places[name] += 1
            sizes[name] = len(with_code.intersection(span))
    return lines, code, {name: n for name, n in sizes.items() if places[name] == 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revisions", nargs="*", default=["HEAD"])
    parser.add_argument("--common", action="store_true", help="functions that are in all")
    args = parser.parse_args()
    sizes = [measure(revision) for revision in args.revisions]
    print(f"{'':20s}" + "".join(f"{r[:12]:>12s} lines    code" for r in args.revisions))
    rooms = sorted(set().union(*(lines for lines, _, _ in sizes)))
    for room in [*rooms, "all"]:
        row = [(sum(x.values()) if room == "all" else x[room] for x in s[:2]) for s in sizes]
        print(f"{room:20s}" + "".join(f"{a:18d}{b:8d}" for a, b in row))
    if args.common:
        names = set.intersection(*(set(functions) for _, _, functions in sizes))
        print(f"{len(names)} functions in all:", *(sum(s[2][x] for x in names) for s in sizes))


if __name__ == "__main__":
    main()
