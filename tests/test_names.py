"""One word, one meaning: classes have names of their own, words of the glossary one meaning."""

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

from sources import FILES, nodes

# of each word: its meaning where it stands alone, the rooms that speak of it, and the names in
# which another word says of what else it is (None: in these rooms it is the same in all names)
GLOSSARY = {
    "kind": (
        "of interaction: declared facts and kernels, interactions/kind.py",
        {"interactions", "beams", "parts", "model", "history", "integration", "statics",
         "analyses"},
        {"by_kind", "of_kind", "velocity_kinds", "own_kinds", "v_kinds", "lam_kinds", "row_kind",
         "row_kinds",
         "unknown_kind", "unknown_kinds", "n_unknown_kinds", "by_unknown_kind",
         "file_kind", "file_kinds"},
    ),
    "memory": (
        "of elements: numbers that change at accepted steps, State.memory",
        {"interactions", "model", "history", "front", "store", "derivatives", "parts", "beams"},
        {"checked_memory", "last_memory", "t_memory", "e_memory", "n_memory",
         "by_memory", "memory_rests", "memory_kept", "memory_of_a_law", "of_memory",
         "memory_tangents", "move_memory", "size_of_memory", "subtract_memory", "follow_memory",
         "followed_memory"},
    ),
    "law": (
        "a user's function of time, elongation or measurements, interactions/laws.py",
        {"interactions", "parts", "beams", "files", "model", "history", "animation", "machine",
         "derivatives", "control", "runs", "studies", "integration"},
        None,
    ),
    "sums": ("has none: a sum is named for what is summed", set(), {"corner_sums", "four_sums"}),
}  # fmt: skip
PLACEHOLDERS = {"found", "known", "given", "made", "said", "seen", "asked"}  # they say nothing
PUBLIC = {("formulations/unified.py", "kind")}  # an argument of a user's call


def apart(name):
    """Return a name in small letters, its words apart: file_kind of FileKind and _FILE_KIND."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip("_")


@functools.cache
def names(path):
    """Return what a file calls modules, classes, functions, arguments and variables."""
    return {apart(x) for x in (Path(path).stem, *_names(path))}


def _names(path):
    for node in nodes(path):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr


def strays(path, all_names):
    """Yield names of a file in which a word of the glossary stands for something else."""
    for name in map(apart, all_names):
        if name in PLACEHOLDERS:
            yield f"{path}: {name!r} does not say what it is"
        for word, (meaning, rooms, qualified) in GLOSSARY.items():
            forms = {word, f"{word}s"}
            if name in forms or (qualified is None and forms & set(name.split("_"))):
                if path.split("/")[0] not in rooms and (path, name) not in PUBLIC:
                    yield f"{path}: {name!r}, but {word!r} {meaning}"
            elif forms & set(name.split("_")) and name not in qualified:
                yield f"{path}: {name!r} is not among the names with {word!r} in them"


def test_words_of_the_glossary_have_one_meaning():
    wrong = [x for path in FILES for x in strays(path, names(path))]
    assert not wrong, "; ".join(wrong)


def test_the_glossary_has_no_words_that_nobody_uses():
    used = set().union(*map(names, FILES))
    assert not [x for *_, qualified in GLOSSARY.values() for x in qualified or () if x not in used]


def test_other_meanings_are_noticed():
    assert list(strays("cli/run.py", ["kind", "FREE_MEMORY", "sums", "Kinds"]))
    assert len(list(strays("model/layout.py", ["memory", "_Memory", "TokenKind", "kindly"]))) == 1


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places[apart(node.name)].append(f"{path}:{node.lineno} {node.name}")
    assert len(places) > 300
    assert not [x for x in places.values() if len(x) > 1]
