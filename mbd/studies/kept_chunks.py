"""Chunks of a study that are kept in files, with the identity of what they belong to."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mbd.base.atomic import replaced
from mbd.base.checked import file_path
from mbd.base.identity import Identity, differences, lasting
from mbd.base.tolerances import FIT_SAME
from mbd.model.description import put_system
from mbd.model.model import Model
from mbd.studies.chunk import Share, Task, run_chunk
from mbd.studies.family import MemberModels
from mbd.studies.results import Packed
from mbd.studies.samples import Members

_WHO = "study"


class KeptChunks:
    """The chunks of a study in files, with what they belong to.

    Parameters
    ----------
    path : str or Path
        Folder; it is made where there is none.
    task : Task
    members : Members
    size : int
        Members of a chunk; of a study that goes on it is that with which it was begun.
    model : Model
        That of a member.
    """

    def __init__(
        self, path: str | Path, task: Task, members: Members, size: int, model: Model
    ) -> None:
        self.path, self.size, self.number = file_path(_WHO, path), size, len(members)
        self.names = {"t", "status", "message", *(f"={x.name}" for x in task.outputs)}
        self.unwritten: list[OSError] = []
        now = _table(task, members, model)
        if callable(task.build):  # without what changes by itself when it is used
            now = lasting(now, _table(task, members, model))
        self.identity = json.dumps(now, sort_keys=True)
        file = self.path / "study.json"
        if not file.exists():
            with replaced(file, _WHO) as stream:
                record = {"chunk": size, "identity": now}
                stream.write(
                    json.dumps(record | {"seal": _seal_of_record(record)}, indent=1).encode()
                )
            return
        old = _record(file)
        if other := differences(old.get("identity"), now):
            raise ValueError(
                f"{_WHO}: {self.path} has the results of another study, which differs in {other}; "
                "choose another directory, or remove it"
            )
        self.size, self.identity = old["chunk"], json.dumps(old["identity"], sort_keys=True)
        self._check(task, members)

    def _check(self, task: Task, members: Members) -> None:
        """Refuse results of something else: one member that was kept is computed again."""
        for start in range(0, self.number, self.size):
            old = self.read(start)
            if old is None:
                continue
            i = int(np.argmin(old["status"] != 0))  # one that went well, if there is one
            at = start + i
            new = run_chunk(Share(task, members.recipe, at, 1))
            if other := _other(old, i, new):
                raise ValueError(
                    f"{_WHO}: {self.path} has the results of another study: member {at}, computed "
                    f"again, differs in {other}; choose another directory, or remove it"
                )
            return

    def _file(self, start: int) -> Path:
        return self.path / f"chunk_{start:09d}.npz"

    def read(self, start: int) -> Packed | None:
        """Return the results of a chunk, or None if there are none that can be read."""
        try:
            with self._file(start).open("rb") as stream, np.load(stream) as file:
                piece = {name: file[name] for name in file.files}
        except Exception:  # missing or damaged: it is computed again
            return None
        # one with other chunks, that began at the same time, may have written there
        n = min(self.size, self.number - start)
        sealed = str(piece.pop("seal", "")) == self._seal(piece)
        whole = set(piece) == self.names and all(
            name == "t" or x.shape[:1] == (n,) for name, x in piece.items()
        )
        return piece if whole and sealed else None

    def write(self, start: int, piece: Packed) -> None:
        """Keep the results of a chunk; the file is whole or not there, as on a full disk."""
        try:
            with replaced(self._file(start), _WHO) as stream:
                np.savez(stream, **piece, seal=self._seal(piece))  # type: ignore[arg-type]
        except OSError as error:
            self.unwritten.append(error)

    def _seal(self, piece: Packed) -> str:
        """Return a digest of the results of a chunk and of the study they belong to."""
        digest = hashlib.sha256(self.identity.encode())
        for name, x in sorted(piece.items()):
            digest.update(f"{name} {x.dtype.str} {x.shape}".encode() + x.tobytes())
        return digest.hexdigest()


def _seal_of_record(record: Mapping[str, Any]) -> str:
    """Return a digest of what a study was begun with."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def _record(file: Path) -> dict[str, Any]:
    """Return the record of how a study was begun."""
    try:
        old = json.loads(file.read_bytes())
        if not (isinstance(old, dict) and type(old["chunk"]) is int and old["chunk"] > 0):
            raise TypeError("it has no number of members of a chunk")
        if "identity" in old and old.pop("seal", "") != _seal_of_record(old):
            raise ValueError("it has other text than was written")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{_WHO}: {file} is damaged ({type(error).__name__}: {error}); choose another "
            "directory, or remove this one"
        ) from None
    return old


def _table(task: Task, members: Members, model: Model) -> dict[str, str]:
    """Return the identity of a study: what was handed in, and some members as they are built."""
    into = Identity()
    into.put("parameters", members.names)
    into.put("number of members", len(members))
    for i, name in enumerate(members.names):
        into.put(f"values of {name}", members.recipe.told(i))
    into.put("t_end", task.t_end)
    into.put("step", task.step)
    into.put("method", task.method_for(model))
    put_system(into, model.system)
    into.put("outputs", [x.name for x in task.outputs])
    for x in task.outputs:
        into.put(f"output {x.name!r}", (x.quantity, x.reduce))
    for name, option in task.options.items():
        into.put(f"option {name!r}", option)
    if callable(task.build):
        into.put("build", task.build)
        _put_members(into, task, members)
    return into.table


def _put_members(into: Identity, task: Task, members: Members) -> None:
    """Add what some other members have that the first one has not: builders also read files."""
    n = len(members)
    for i in sorted({0, n // 3, n // 2, n - 1}):
        own = Identity()
        try:
            put_system(own, MemberModels(task.build, task.names).model(members[i]).system)
        except Exception as error:
            own.table = {"what is wrong": f"{type(error).__name__}: {error}"[:200]}
        for name, x in own.table.items():
            if into.table.get(name) != x:
                into.table[f"{name}, of member {i}"] = x


def _other(old: Packed, i: int, new: Mapping[str, np.ndarray]) -> str:
    """Return in what a member that was kept differs from what is computed; "" where in nothing."""
    if bool(old["status"][i]) != bool(new["status"][0]):
        return f"how its run ends ({new['message'][0] or 'it goes well here'})"
    for name in (x for x in new if x[0] == "="):
        a, b = old[name][i], new[name][0]
        if a.ndim != b.ndim:
            return f"the output {name[1:]!r}"
        a = a[tuple(map(slice, b.shape))]  # longer ones of other members are filled up
        there = np.isfinite(b)
        same = a.shape == b.shape and np.array_equal(there, np.isfinite(a))
        if not same or np.linalg.norm((a - b)[there]) > FIT_SAME * np.linalg.norm(b[there]):
            return f"the output {name[1:]!r}"
    return ""
