"""Units of co-simulation (FMI 3.0): the process behind them, and a tool that runs them."""

import os
import pickle
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from test_control import arm

import mbd
from mbd.fmi import export
from mbd.fmi.process import Described, Running, serve, token_of
from mbd.fmi.variables import inputs_of, outputs_of, parameters_of, settable

H = 1e-3
OUTPUTS = ("shoulder.angle", "two.position", "energy.kinetic", "motor.load", "gap")


def described(system=None, **options):
    stepper = mbd.Stepper(system or arm(), H)
    model = stepper.model
    variables = [*inputs_of(model, settable(model)), *outputs_of(stepper, OUTPUTS),
                 *parameters_of(model.system, ["one.mass"])]  # fmt: skip
    return Described(model.system, variables, H, None, None)


@pytest.fixture(scope="module")
def unit():
    return described()


def number(unit, name):
    """Return the value reference of a variable."""
    return 1 + [x.name for x in unit.variables].index(name)


def test_variables_of_an_arm(unit):
    names = {x.name: x for x in unit.variables}
    assert {n for n, x in names.items() if x.causality == "input"} == {
        "motor.effort", "drive.velocity", "push.force.x", "push.force.y", "push.force.z"
    }  # fmt: skip
    assert names["two.position.z"].unit == "m"
    assert names["shoulder.angle"].unit == "rad"
    assert names["one.mass"].start == 1.0
    assert names["two.position.x"].start is None


def test_description(unit):
    """Of each variable reference, causality, start; of units the powers; the structure is whole."""
    root = ElementTree.fromstring(export.described(unit.variables, "arm", "arm", "{x}", H))
    variables = {x.get("name"): x.attrib for x in root.find("ModelVariables")}
    assert variables["time"]["causality"] == "independent"
    assert len({x["valueReference"] for x in variables.values()}) == 1 + len(unit.variables)
    for x in unit.variables:
        about = variables[x.name]
        assert about["causality"] == x.causality
        assert ("start" in about) == (x.causality != "output")
    powers = {x.get("name"): x.find("BaseUnit").attrib for x in root.find("UnitDefinitions")}
    assert powers["J"] == {"kg": "1", "m": "2", "s": "-2"}
    assert "unit" not in variables["gap"]  # in m or -
    outputs = {v["valueReference"] for v in variables.values() if v["causality"] == "output"}
    for kind in ("Output", "InitialUnknown"):
        refs = [x.get("valueReference") for x in root.find("ModelStructure").iter(kind)]
        assert set(refs) == outputs
        assert len(refs) == len(outputs)


def test_the_bits_of_simulate(unit):
    """Steps of the tool in equal parts, of one size and of another."""
    angle = number(unit, "shoulder.angle")
    for size, h in ((2e-3, 1e-3), (1.5e-3, 0.75e-3), (0.4e-3, 0.4e-3)):
        running = Running(unit)
        running.enter(0.0)
        running.go()
        for i in range(10):
            running.do(i * size, size)
        alone = mbd.simulate(unit.system, 10 * size, h)
        assert running.get([angle]) == [alone["shoulder"].angle[-1]]
        assert running.get([0])[0] == pytest.approx(10 * size, rel=1e-15)


def test_inputs_parameters_and_states(unit):
    """What is set from outside holds, a mass before the run; a state can be gone back to."""
    push, mass = number(unit, "push.force.z"), number(unit, "one.mass")
    seen = [number(unit, "two.position.z"), number(unit, "energy.kinetic")]
    running = Running(unit)
    running.set([mass, push], [3.0, -2.0])
    running.enter(0.0)
    assert running.get([mass, push]) == [3.0, -2.0]
    running.go()
    running.do(0.0, 5e-3)
    kept = running.keep(0)
    running.set([push], [40.0])
    assert running.get([push]) == [40.0]
    running.do(5e-3, 5e-3)
    there = running.get(seen)
    running.go_back(kept)
    assert running.get([push, 0]) == [-2.0, 5e-3]
    running.do(5e-3, 5e-3)
    assert running.get(seen) != there
    running.go_back(kept)
    running.set([push], [40.0])
    running.do(5e-3, 5e-3)
    assert running.get(seen) == there

    model = unit.system.build().with_values({"one.mass": 3.0})
    stepper = mbd.Stepper(model, H, inputs=["push.force", "drive.velocity", "motor.effort"])
    for force in (-2.0, 40.0):
        stepper["push.force"] = (0.0, 0.0, force)
        stepper.step(5)
    now = [stepper["two.position.z"], stepper["energy.kinetic"]]
    assert there == pytest.approx(now, rel=1e-8, abs=1e-12)  # accelerations were met anew
    running.reset()
    assert running.get([mass, push]) == [1.0, 0.0]


def test_another_step_size_goes_on(unit):
    """The size of the tool's steps may change; inputs stay as they are."""
    push, z = number(unit, "push.force.z"), number(unit, "two.position.z")
    running = Running(unit)
    running.enter(0.0)
    running.go()
    running.set([push], [30.0])
    running.do(0.0, 5e-3)
    running.do(5e-3, 2.5e-3)
    running.do(7.5e-3, 1.3e-3)
    stepper = mbd.Stepper(unit.system, 1e-4, inputs=["push.force"])
    stepper["push.force"] = (0.0, 0.0, 30.0)
    stepper.step(88)
    assert running.get([z])[0] == pytest.approx(stepper["two.position.z"], abs=1e-7)


def test_a_late_start():
    """Laws of time hold from the instant at which the tool begins."""
    system = mbd.System()
    cart = system.add(mbd.RigidBody("cart", mass=2.0, inertia=(1, 1, 1)))
    system.add(mbd.Prismatic("rail", system.ground, cart, at=(0, 0, 0), axis=(1, 0, 0)))
    system.add(mbd.PointForce("push", cart, lambda t: (6.0 * t, 0.0, 0.0)))
    stepper = mbd.Stepper(system, H)
    unit = Described(system, outputs_of(stepper, ["rail.displacement_rate"]), H, None, None)
    running = Running(unit)
    running.enter(10.0)
    running.go()
    running.do(10.0, 0.1)
    rate, t = running.get([1, 0])
    assert t == pytest.approx(10.1, rel=1e-14)
    assert rate == pytest.approx(1.5 * (10.1**2 - 10.0**2), rel=1e-9)


class Tool:
    """What the library of a unit does, on the other end of a socket."""

    def __init__(self, folder):
        self.link, self.other = socket.socketpair()
        self.thread = threading.Thread(target=serve, args=(folder, self.other))
        self.thread.start()

    def ask(self, what, data=b""):
        """Return the kinds and contents of all that is answered."""
        self.link.sendall(struct.pack("=II", ord(what), len(data)) + data)
        answers = []
        while not answers or answers[-1][0] == "w":
            kind, size = struct.unpack("=II", self.link.recv(8))
            answers.append((chr(kind), self.link.recv(size) if size else b""))
        return answers


@pytest.fixture
def tool(unit, tmp_path):
    (tmp_path / "unit.pickle").write_bytes(pickle.dumps(unit))
    with warnings.catch_warnings():
        tool = Tool(tmp_path)
        yield tool
        tool.link.close()
        tool.thread.join(10)
        tool.other.close()
    assert not tool.thread.is_alive()


def test_requests(unit, tool, tmp_path):
    """Errors are text, and the unit goes on; the wrong token is refused."""
    ((kind, text),) = tool.ask("h", b"{y}")
    assert kind == "e"
    assert b"{y}" in text
    own = token_of((tmp_path / "unit.pickle").read_bytes()).encode()
    assert own in text
    assert tool.ask("h", own) == [("k", b"")]
    assert tool.ask("i", struct.pack("=d", 0.0)) == [("k", b"")]
    assert tool.ask("x") == [("k", b"")]
    assert tool.ask("d", struct.pack("=dd", 0.0, 1e-3)) == [("k", b"")]
    z = number(unit, "two.position.z")
    ((kind, data),) = tool.ask("g", struct.pack("=II", 0, z))
    assert struct.unpack("=dd", data)[0] == 1e-3
    mass = number(unit, "one.mass")
    for what, data, word in (
        ("d", struct.pack("=dd", 0.5, 1e-3), b"the unit is at"),
        ("d", struct.pack("=dd", 1e-3, -1e-3), b"must be positive"),
        ("s", struct.pack("=Id", z, 1.0), b"two.position.z"),
        ("s", struct.pack("=Id", mass, 1.0), b"one.mass"),
        ("s", struct.pack("=Id", 999, 1.0), b"variable 999"),
        ("s", struct.pack("=Id", number(unit, "motor.effort"), np.nan), b"must be finite"),
        ("d", b"", b""),
    ):
        ((kind, text),) = tool.ask(what, data)
        assert (kind, word in text) == ("e", True), text
    number_of_state = tool.ask("n", struct.pack("=I", 0))[0][1]
    assert tool.ask("t", number_of_state) == [("k", b"")]
    assert tool.ask("f", number_of_state) == [("k", b"")]
    assert tool.ask("t", number_of_state)[0][0] == "e"
    assert tool.ask("r") == [("k", b"")]


@pytest.mark.parametrize(("options", "word"), [
    ({"outputs": ["shoulder.angel"]}, "did you mean 'angle'"),
    ({"outputs": ["drift"]}, "'gap'"),
    ({"outputs": ["energy.work"]}, "'energy.work' adds up since the start"),
    ({"outputs": ["energy"]}, "'energy.dissipated' adds up since the start"),
    ({"inputs": ["one.mass"]}, "one.mass"),
    ({"inputs": ["push.forc"]}, "did you mean 'force'"),
    ({"parameters": ["one.inertia"]}, "one.inertia.xx|'rod.inertia.xx'"),
    ({"parameters": ["on.mass"]}, "did you mean 'on"),
    ({"parameters": ["motor.effort"]}, "more than one of"),
    ({"path": "unit.zip"}, "must end in .fmu"),
    ({"step": 0.0}, "step must be"),
])  # fmt: skip
def test_refused_by_name(options, word, tmp_path):
    how = {"path": tmp_path / "unit.fmu", "step": H} | options
    with pytest.raises((ValueError, TypeError, KeyError), match=word):
        mbd.export_fmu(arm(), how.pop("path"), **how)
    assert not list(tmp_path.iterdir())


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr(export, "_check", lambda resources: None)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="there is no C compiler"):
        mbd.export_fmu(arm(), tmp_path / "unit.fmu", step=H)
    monkeypatch.setenv("CC", "nosuchcompiler --fast")
    with pytest.raises(RuntimeError, match="'nosuchcompiler' cannot be run"):
        mbd.export_fmu(arm(), tmp_path / "unit.fmu", step=H)
    assert not list(tmp_path.iterdir())


# --- by a tool: needs fmpy and a C compiler -------------------------------------------------------
has_compiler = any(map(shutil.which, ("cc", "gcc", "clang")))


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    pytest.importorskip("fmpy")
    if not has_compiler:
        pytest.skip("no C compiler")
    path = tmp_path_factory.mktemp("units") / "arm.fmu"
    return mbd.export_fmu(arm(), path, step=H, outputs=OUTPUTS, parameters=["one.mass"])


def test_prototypes(archive, tmp_path):
    """Every function is declared as the headers of the standard do, which fmpy has."""
    import fmpy

    headers = Path(fmpy.__file__).parent / "c-code"
    shim = Path(export.__file__).with_name("shim.c")
    words = [shutil.which("cc") or "gcc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
             "-Wno-unused-parameter", f"-I{headers}", "-DFMI_HEADERS", str(shim)]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_tool_runs_it(archive):
    """Validated by fmpy; its run is that of mbd.simulate to the last bit, inputs are felt."""
    import fmpy
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(archive)) == []
    alone = mbd.simulate(arm(), 0.1, H)
    out = fmpy.simulate_fmu(str(archive), stop_time=0.1, output_interval=0.01)
    assert len(out) == 11
    assert np.array_equal(out["shoulder.angle"], alone["shoulder"].angle[::10])
    assert np.array_equal(out["two.position.z"], alone["two"].position[::10, 2])

    pushed = np.array([(0.0, 5.0)], dtype=[("time", float), ("push.force.z", float)])
    felt = fmpy.simulate_fmu(str(archive), stop_time=0.1, output_interval=0.01, input=pushed,
                             start_values={"one.mass": 3.0})  # fmt: skip
    stepper = mbd.Stepper(arm().build().with_values({"one.mass": 3.0}), H, inputs=["push.force"])
    stepper["push.force"] = (0.0, 0.0, 5.0)
    stepper.step(100)
    assert felt["two.position.z"][-1] == pytest.approx(stepper["two.position.z"], abs=1e-12)


def loaded(archive, folder, log):
    """Return an instance of a unit, in initialisation."""
    import fmpy
    from fmpy.fmi3 import FMU3Slave, fmi3LogMessageCallback

    about = fmpy.read_model_description(str(archive))
    with zipfile.ZipFile(archive) as file:
        file.extractall(folder)
    fmu = FMU3Slave(guid=about.instantiationToken, unzipDirectory=str(folder),
                    modelIdentifier=about.coSimulation.modelIdentifier)  # fmt: skip
    fmu.told = fmi3LogMessageCallback(lambda env, status, kind, text: log.append((status, text)))
    fmu.instantiate(logMessage=fmu.told)
    fmu.enterInitializationMode()
    return fmu, {x.name: x.valueReference for x in about.modelVariables}


def test_errors_reach_the_log(archive, tmp_path):
    """A step that fails is fmi3Error with text; states of the unit are kept and taken again."""
    from fmpy.fmi1 import FMICallException

    log = []
    fmu, places = loaded(archive, tmp_path, log)
    fmu.exitInitializationMode()
    z = [places["two.position.z"]]
    fmu.doStep(0.0, 0.01)
    state = fmu.getFMUState()
    fmu.doStep(0.01, 0.01)
    first = fmu.getFloat64(z)
    fmu.setFMUState(state)
    fmu.doStep(0.01, 0.01)
    assert fmu.getFloat64(z) == first
    fmu.freeFMUState(state)
    fmu.setFloat64([places["push.force.z"]], [1e30])
    with pytest.raises(FMICallException) as caught:
        fmu.doStep(0.02, 0.01)
    assert caught.value.status == 3
    assert log[-1][0] == 3
    assert b"mbd: " in log[-1][1]
    fmu.terminate()
    fmu.freeInstance()


def children(process):
    out = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(process)],
                         capture_output=True, text=True, check=False).stdout  # fmt: skip
    return [int(x.split()[0]) for x in out.splitlines() if "mbd.fmi.process" in x]


def gone(process):
    for _ in range(200):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not shutil.which("ps"), reason="needs ps")
def test_no_process_is_left(archive, tmp_path):
    """Neither of an instance that is freed, nor of a tool that is killed; one that dies is told."""
    from fmpy.fmi1 import FMICallException

    log = []
    fmu, _ = loaded(archive, tmp_path / "one", log)
    (mine,) = children(os.getpid())
    fmu.freeInstance()
    assert gone(mine)

    fmu, _ = loaded(archive, tmp_path / "two", log)
    (mine,) = children(os.getpid())
    os.kill(mine, signal.SIGKILL)
    with pytest.raises(FMICallException):
        fmu.exitInitializationMode()
    assert log[-1][0] == 4
    fmu.freeInstance()

    code = (
        f"import sys; sys.path[:0] = {[*sys.path]!r}\n"
        "from pathlib import Path; from test_fmu import loaded\n"
        f"loaded(Path({str(archive)!r}), Path({str(tmp_path / 'three')!r}), [])\n"
        "print('ready', flush=True)\nimport time; time.sleep(60)"
    )
    tool = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert tool.stdout.readline() == "ready\n"
    (theirs,) = children(tool.pid)
    tool.kill()
    tool.wait()
    tool.stdout.close()
    assert gone(theirs)


def test_a_law_of_a_script_is_carried(tmp_path):
    """A function that no other process can import runs in the unit."""
    fmpy = pytest.importorskip("fmpy")
    if not has_compiler:
        pytest.skip("no C compiler")
    scene = tmp_path / "slide.py"
    scene.write_text(
        "import mbd\n"
        "def law(t): return 2.0 * t\n"
        "def build():\n"
        "    system = mbd.System()\n"
        "    cart = system.add(mbd.RigidBody('cart', mass=1.0, inertia=(1, 1, 1)))\n"
        "    rail = mbd.Prismatic('rail', system.ground, cart, at=(0, 0, 0), axis=(1, 0, 0))\n"
        "    system.add(rail)\n"
        "    system.add(mbd.Drive('drive', rail, velocity=law))\n"
        "    return system\n"
    )
    from mbd.cli import main

    path = tmp_path / "slide.fmu"
    assert main(["export", "fmu", str(scene), "-o", str(path), "--step", "1e-2"]) == 0
    scene.unlink()
    out = fmpy.simulate_fmu(str(path), stop_time=1.0, output_interval=0.1)
    assert out["cart.position.x"][-1] == pytest.approx(1.0, abs=1e-4)
