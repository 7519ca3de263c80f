"""Every kind of file that the package writes, with two contents each; what is in them, as bytes."""

import math
import re
import resource
import zipfile
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

import mbd
from mbd.cli import main
from mbd.fmi import export
from mbd.history.impacts import Impacts
from mbd.studies.comparison import COLUMNS, Comparison
from tests.results.samples import spinner


class Things:
    """What is written: two of each."""

    def __init__(self, folder):
        self.runs = [mbd.simulate(spinner(), t, 1e-3) for t in (0.01, 0.023)]
        self.systems = [spinner(), spinner()]
        self.systems[1].add(mbd.PointMass("more", mass=1.0))
        self.models = [x.build() for x in self.systems]
        row = {k: "" if u == "" else math.nan for k, u in COLUMNS.items()}
        self.tables = [
            Comparison(f"no {n}", [{**row, "formulation": "a" * n}] * n, "", {}, ()) for n in (3, 9)
        ]
        self.impacts = [Impacts(["floor.0"], np.full((60 * n, 13), 0.25)) for n in (1, 2)]
        self.files = [mbd.write(x, folder / f"of {n}.toml") for n, x in enumerate(self.systems)]
        system = spinner()
        system.add(mbd.PointForce("push", system["wheel"], lambda t: (0, 0, t)))
        stored = [mbd.simulate(system, t, 1e-3).save(folder / f"{t}.nc") for t in (0.01, 0.02)]
        self.stored = [mbd.load(path) for path in stored]


WRITERS = {
    "run.npz": lambda x, n, path: x.runs[n].save(path),
    "run.nc": lambda x, n, path: x.runs[n].save(path),
    "copy.nc": lambda x, n, path: x.stored[n].save(path),
    "run.csv": lambda x, n, path: x.runs[n].save(path),
    "run.mat": lambda x, n, path: x.runs[n].save(path),
    "run.pvd": lambda x, n, path: x.runs[n].save(path),
    "page.html": lambda x, n, path: x.runs[n].animate(path),
    "film.gif": lambda x, n, path: x.runs[n].animate().save(path, size=(60, 50), fps=2 + n),
    "picture.png": lambda x, n, path: x.runs[n].snapshot(path, size=(60 + n, 50)),
    "model.toml": lambda x, n, path: mbd.write(x.systems[n], path),
    "matrices.npz": lambda x, n, path: x.models[n].assemble().save(path),
    "matrices": lambda x, n, path: x.models[n].assemble().save(path),
    "table.csv": lambda x, n, path: x.tables[n].to_csv(path),
    "scene.py": lambda x, n, path: _command("convert", x.files[n], path, "--force"),
    "matrices.mat": lambda x, n, path: x.models[n].assemble().save(path),
    "schema.json": lambda x, n, path: _schema(n, path),
    "unit.fmu": lambda x, n, path: _unit(x.systems[n], path),
    "impacts.csv": lambda x, n, path: x.impacts[n].to_csv(path),
}
BY = {  # which file of the package writes them
    "animation/animation.py": ["page.html"], "animation/film.py": ["film.gif"],
    "cli/convert.py": ["scene.py", "schema.json"],
    "drawing/figure.py": ["picture.png"], "studies/comparison.py": ["table.csv"],
    "files/modelfile.py": ["model.toml"], "fmi/export.py": ["unit.fmu"],
    "model/assembly.py": ["matrices", "matrices.npz", "matrices.mat"],
    "history/impacts.py": ["impacts.csv"], "store/archive.py": ["run.npz", "run.csv", "run.mat"],
    "store/netcdf.py": ["run.nc", "copy.nc"], "store/paraview.py": ["run.pvd"],
}  # fmt: skip
GROWING = {  # files of work that goes on: each has a test of its own
    "fitting/evaluations.py": "test_a_fit_and_an_optimum_on_a_full_disk",
    "store/log.py": "test_a_stream_onto_a_full_disk",
    "studies/kept_chunks.py": "test_a_full_disk_loses_no_chunk_that_was_kept",
}


def _schema(n, path):
    """Write the schema of model files, of two titles."""
    with mock.patch("mbd.files.schema.json_schema", return_value={"title": str(n) * 900 * (n + 1)}):
        _command("schema", "--output", path)


def _unit(system, path):
    """Write a unit without its library, which the compiler makes."""
    with (
        mock.patch.object(export, "_compile", side_effect=Path.touch),
        mock.patch.object(export, "_check"),
    ):
        mbd.export_fmu(system, path, step=1e-3, inputs=[], outputs=["wheel.position"])


def _command(*words):
    """Run the command line; raise what it refused."""
    import contextlib
    import io

    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main([str(x) for x in words] + ["--traceback"])
    if code == 130:
        raise KeyboardInterrupt
    if code:
        raise RuntimeError(said.getvalue())


def content(path):
    """Return what there is of a file and of those it names: by name, in bytes."""
    if path.is_dir():
        return {x.name: x.read_bytes() for x in sorted(path.iterdir())}
    text = path.read_bytes()
    if path.suffix == ".fmu":  # which has the time in it, too
        with zipfile.ZipFile(path) as archive:
            return {x: archive.read(x) for x in archive.namelist()}
    if path.suffix == ".mat":
        text = text[116:]  # in front of it stands when it was written
    if path.suffix != ".pvd":
        return {path.name: text}
    assert text.endswith(b"</VTKFile>\n")
    members = re.findall(rb'file="run/([0-9a-f]{8})/([^"]*)"', text)
    assert members
    found = {name.decode(): (path.parent / "run" / token.decode() / name.decode()).read_bytes()
             for token, name in members}  # fmt: skip
    return {**found, path.name: re.sub(rb"[0-9a-f]{8}/", b"", text)}


def debris(folder):
    """Return what no reader would ask for: new files, members that no file names."""
    found = [x.name for x in folder.rglob("*") if x.name.endswith((".new", ".part"))]
    for path in folder.glob("*.pvd"):
        sets = [x.name for x in path.with_suffix("").iterdir()]
        found += [x for x in sets if x.encode() not in path.read_bytes()]
    return found


@contextmanager
def full_disk(size):
    """Let no file grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
