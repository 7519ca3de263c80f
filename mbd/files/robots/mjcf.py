"""Systems from MJCF files: equalities, actuators, keyframes; bodies are in ``mjcf_bodies.py``."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from mbd.base.checked import mapping, meant, shown
from mbd.files.modelfile import ModelFile
from mbd.files.robots.description import Closure, Effort, LinkFrame, Mimic, Origin, Tie
from mbd.files.robots.mjcf_bodies import Bodies, limited
from mbd.files.robots.mjcf_source import MjcfSource
from mbd.files.robots.options import RobotOptions, reader
from mbd.files.robots.robot import built
from mbd.files.robots.xml_tree import Node, Notes, unread

_ONE = ("revolute", "prismatic")
_SIZES = {"revolute": (1, 1), "prismatic": (1, 1), "ball": (4, 3), "floating": (7, 6)}
_FORMS = ("general", "motor", "position", "velocity")


@reader("packages", "massless")
def read_mjcf(path: Path, *, keyframe: str | int | None = None, **options: Any) -> ModelFile:
    """Read an MJCF file; ``mbd.read`` calls it for ``.xml`` and ``.mjcf``.

    Parameters
    ----------
    path : Path
    keyframe : str or int, optional
        Name or number of the key that says positions, velocities and commands of actuators at the
        start; default all joints are at their reference values and nothing moves. ``positions`` and
        ``rates`` go before it.
    **options
        Those of :class:`~mbd.files.robots.options.RobotOptions`, ``fixed`` of bodies without
        joints.
    """
    how = RobotOptions(**options)
    notes, source = Notes(), MjcfSource(path)
    bodies = Bodies(source, notes, source.top.text("model", path.stem))
    if how.loops == "closed":
        _equalities(bodies)
    q, rate, ctrl = _start(bodies, keyframe)
    if how.actuators == "act":
        _actuators(bodies, ctrl)
    _exclusions(bodies)
    run, of_file = _settings(source, bodies)
    start_of: dict[str, Any] = {
        what: of_key | mapping("read", what, getattr(how, what), "{'hip': 0.1}")
        for what, of_key in (("positions", q), ("rates", rate))
    }
    gravity = of_file if how.gravity is None else how.gravity
    how = replace(how, gravity=gravity, **start_of)
    for section in ("keyframe", *("equality",) * (how.loops == "open"),
                    *("actuator",) * (how.actuators == "none")):  # fmt: skip
        for node in source.sections(section):
            node.passed()
    source.close()
    for text, node in unread(source.top):
        notes.add(text, node)
    return built(bodies.robot, path, how, run)


def _settings(source: MjcfSource, bodies: Bodies) -> tuple[dict[str, Any], Any]:
    """Return how the file is run, and its gravity."""
    step, gravity = 1e-3, (0.0, 0.0, -9.81)
    for option in source.sections("option"):
        step = option.number("timestep", step)
        gravity = option.numbers("gravity", gravity, 3)  # type: ignore[assignment]
        for key in ("density", "viscosity"):
            if option.number(key, 0.0):
                bodies.notes.add(f"option: {key} of a fluid is not used", option)
    if "gravity" in bodies.off:
        gravity = (0.0, 0.0, 0.0)
    return {"t_end": 2.0, "step": step}, gravity


def _equalities(bodies: Bodies) -> None:
    """Read <equality>; what cannot hold exactly is noted."""
    for section in bodies.source.sections("equality"):
        for i, raw in enumerate(section.children, 1):
            if raw.tag not in _EQUALITIES:
                continue
            node = bodies.source.merged(raw)
            name = node.text("name", "") or f"{raw.tag} {i}"
            node.called(f"equality {name!r}")
            raw.entered = True
            if node.choice("active", ("false", "true"), "true") == "false":
                bodies.notes.add(f"equality {name!r} is not active", raw)
                raw.passed()
            elif "equality" not in bodies.off:
                _EQUALITIES[raw.tag](bodies, node, name.replace("/", "_"))


def _exclusions(bodies: Bodies) -> None:
    """Read which bodies do not touch each other."""
    for section in bodies.source.sections("contact"):
        for node in section.all("exclude"):
            names = [bodies.called(node, key, "body") for key in ("body1", "body2")]
            bodies.robot.excluded.add(frozenset(names))
    if "contact" in bodies.off:
        bodies.robot.planes.clear()


def _sites(bodies: Bodies, node: Node) -> tuple[LinkFrame, LinkFrame] | None:
    """Return two sites that an equality names."""
    if "site1" not in node.attributes:
        return None
    pair = [bodies.robot.frames[bodies.called(node, key, "site")] for key in ("site1", "site2")]
    return pair[0], pair[1]


def _pair(bodies: Bodies, node: Node) -> tuple[str, str]:
    one = bodies.called(node, "body1", "body")
    two = bodies.called(node, "body2", "body") if "body2" in node.attributes else "world"
    return one, two


def _connect(bodies: Bodies, node: Node, name: str) -> None:
    places = _sites(bodies, node)
    if places is None:
        one, two = _pair(bodies, node)
        first = Origin(np.array(node.numbers("anchor", None, 3)))
        there = bodies.reference[two].inverse @ bodies.reference[one] @ first
        places = LinkFrame(one, first), LinkFrame(two, Origin(there.position))
    bodies.robot.closures.append(Closure(name, "ball", *places))


def _weld(bodies: Bodies, node: Node, name: str) -> None:
    places = _sites(bodies, node)
    if places is None:
        one, two = _pair(bodies, node)
        pose = node.numbers("relpose", (0.0,) * 7, 7)
        if any(pose[3:]):
            turn = Rotation.from_quat(pose[3:], scalar_first=True).as_matrix()
            between = Origin(np.array(pose[:3]), turn)
        else:
            between = bodies.reference[one].inverse @ bodies.reference[two]
        anchor = Origin(np.array(node.numbers("anchor", (0.0,) * 3, 3)))
        places = LinkFrame(one, between @ anchor), LinkFrame(two, anchor)
    bodies.robot.closures.append(Closure(name, "fixed", *places))


def _polynomial(bodies: Bodies, node: Node) -> tuple[float, float] | None:
    """Return constant and slope of an equality; a curved one is noted."""
    a = node.numbers("polycoef", (0.0, 1.0, 0.0, 0.0, 0.0), (1, 5))
    if any(a[2:]):
        bodies.notes.add(f"{node.who}: is curved, which is not used", node)
        return None
    return a[0], a[1] if len(a) > 1 else 1.0


def _of_joints(bodies: Bodies, node: Node, name: str) -> None:
    line = _polynomial(bodies, node)
    here = [bodies.called(node, key, "joint") for key in ("joint1", "joint2")
            if key in node.attributes]  # fmt: skip
    which = {j.name: i for i, j in enumerate(bodies.robot.joints)}
    joints = [bodies.robot.joints[which[x]] for x in here]
    if any(j.type not in _ONE for j in joints):
        raise node.error("must be of joints with one coordinate, hinge or slide")
    if line is None:
        return
    if len(joints) == 1:
        bodies.robot.ties.append(Tie(name, (here[0],), (1.0,), joints[0].zero + line[0]))
        return
    offset = joints[0].zero + line[0] - line[1] * joints[1].zero
    if joints[0].mimic is None and joints[1].mimic is None:
        followed = {j.mimic.joint for j in bodies.robot.joints if j.mimic is not None}
        if here[0] not in followed:
            mimic = Mimic(here[1], line[1], offset)
            bodies.robot.joints[which[here[0]]] = replace(joints[0], mimic=mimic)
            return
    bodies.robot.ties.append(Tie(name, (here[0], here[1]), (1.0, -line[1]), offset))


def _of_tendons(bodies: Bodies, node: Node, name: str) -> None:
    line = _polynomial(bodies, node)
    zeros = {j.name: j.zero for j in bodies.robot.joints if j.type in _ONE}
    fixed = {x.attributes.get("name"): x for section in bodies.source.sections("tendon")
             for x in section.children if x.tag == "fixed"}  # fmt: skip
    terms: dict[str, float] = {}
    value = 0.0
    for key, sign in (("tendon1", 1.0), ("tendon2", None)):
        if key not in node.attributes or line is None:
            continue
        tendon = fixed.get(node.text(key))
        if tendon is None:
            bodies.notes.add(f"{node.who}: is of a tendon through space, which is not used", node)
            return
        k = -line[1] if sign is None else sign
        for end in tendon.called(f"tendon {node.text(key)!r}").all("joint"):
            joint, coefficient = bodies.called(end, "joint", "joint"), end.number("coef", 1.0)
            if joint not in zeros:
                raise end.error("must be of joints with one coordinate, hinge or slide")
            terms[joint] = terms.get(joint, 0.0) + k * coefficient
            value += k * coefficient * zeros[joint]
    if line is not None:
        tie = Tie(name, tuple(terms), tuple(terms.values()), value + line[0])
        bodies.robot.ties.append(tie)


_EQUALITIES = {"connect": _connect, "weld": _weld, "joint": _of_joints, "tendon": _of_tendons}


def _actuators(bodies: Bodies, ctrl: tuple[float, ...]) -> None:
    """Read <actuator>: those at joints with one coordinate, without dynamics of their own."""
    nodes = [x for section in bodies.source.sections("actuator") for x in section.children]
    for i, raw in enumerate(nodes):
        if raw.tag not in _FORMS:
            continue
        node = bodies.source.merged(raw)
        name = node.text("name", "") or f"{raw.tag} {i + 1}"
        raw.entered = True
        node.called(f"actuator {name!r}")
        _actuator(bodies, raw, node, name.replace("/", "_"), ctrl[i] if i < len(ctrl) else 0.0)


def _actuator(bodies: Bodies, raw: Node, node: Node, name: str, command: float) -> None:
    """Read one: effort gear (g u + b0 + b1 gear q + b2 gear dq/dt) at the command u."""
    key = "joint" if "joint" in node.attributes else "jointinparent"
    types = {j.name: j.type for j in bodies.robot.joints}
    why = ""
    if key not in node.attributes:
        why = "acts at no joint"
    elif types[joint := bodies.called(node, key, "joint")] not in _ONE:
        why = f"acts at {joint!r}, which has not one coordinate"
    else:
        g, bias, why = _gains(bodies.source.defaults(raw, ""), raw)
    if why:
        bodies.notes.add(f"actuator {name!r} is not used: it {why}", raw)
        raw.passed()
        return
    gear = node.numbers("gear", (1.0,), (1, 6))[0]
    low, high = limited(node, "ctrlrange", "ctrllimited", bodies.source.autolimits)
    u = command if low is None or high is None else min(max(command, low), high)
    least, most = limited(node, "forcerange", "forcelimited", bodies.source.autolimits)
    effort = g * u + bias[0]
    moves = bias[1] or bias[2]
    if least is not None and most is not None:
        if moves:
            bodies.notes.add(f"actuator {name!r}: its forcerange is not used", raw)
        else:
            effort = min(max(effort, least), most)
    stiffness, damping = -bias[1] * gear**2, -bias[2] * gear**2
    if "actuation" in bodies.off:
        return
    if stiffness:
        reference = gear * effort / stiffness
        bodies.robot.efforts.append(Effort(name, joint, 0.0, stiffness, damping, reference))
    else:
        bodies.robot.efforts.append(Effort(name, joint, gear * effort, 0.0, damping))


def _gains(defaults: list[Node], node: Node) -> tuple[float, tuple[float, float, float], str]:
    """Return gain, bias and why it cannot be had; each element changes what those before said."""
    gain, bias = [1.0], [0.0, 0.0, 0.0]
    words = {"gaintype": "fixed", "biastype": "none", "dyntype": "none"}
    why = ""
    for x in (*defaults, node):
        if x.tag == "motor":
            gain, bias = [1.0], [0.0, 0.0, 0.0]
            words = {"gaintype": "fixed", "biastype": "none", "dyntype": "none"}
        elif x.tag == "velocity":
            kv = x.number("kv", 1.0)
            gain, bias, words["biastype"] = [kv], [0.0, 0.0, -kv], "affine"
        elif x.tag == "position":
            kp = x.number("kp", gain[0] if bias[1] else 1.0)
            kv = x.number("kv", -bias[2])
            gain, bias, words["biastype"] = [kp], [0.0, -kp, -kv], "affine"
            for key in ("dampratio", "timeconst", "inheritrange"):
                if x.number(key, 0.0):
                    why = f"has {key}"
        elif x.tag == "general":
            gain = list(x.numbers("gainprm", tuple(gain), (1, 10)))
            more = x.numbers("biasprm", tuple(bias), (1, 10))
            bias = [*more, 0.0, 0.0, 0.0][:3]
            words = {key: x.text(key, word) for key, word in words.items()}
        else:
            why = f"has the defaults of a {x.tag}"
    if words["biastype"] == "none":
        bias = [0.0, 0.0, 0.0]
    if words["gaintype"] != "fixed" or words["biastype"] not in ("none", "affine"):
        why = f"has a gain or bias of type {words['gaintype']}, {words['biastype']}"
    if words["dyntype"] != "none":
        why = f"has dynamics of its own ({words['dyntype']})"
    return gain[0], (bias[0], bias[1], bias[2]), why


def _start(bodies: Bodies, wanted: Any) -> tuple[dict[str, float], dict[str, float], Any]:
    """Put free bodies and balls as a keyframe says; return coordinates, rates and commands."""
    keys = [x for section in bodies.source.sections("keyframe") for x in section.all("key")]
    if wanted is None:
        return {}, {}, ()
    names = [x.attributes.get("name", "") for x in keys]
    if isinstance(wanted, str) and wanted in names:
        key = keys[names.index(wanted)]
    elif isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < len(keys):
        key = keys[wanted]
    else:
        there = ", ".join(f"{i}" + (f" {x!r}" if x else "") for i, x in enumerate(names)) or "none"
        raise ValueError(
            f"keyframe must be the name or the number of one, got {shown(wanted)}"
            f"{meant(wanted, names)}; there are {there}"
        )
    key.called(f"keyframe {wanted!r}")
    n_q, n_v = (sum(_SIZES[x.type][k] for x in bodies.moving) for k in (0, 1))
    rest = [y for x in bodies.moving for y in _at_rest(x)]
    qpos = key.numbers("qpos", tuple(rest), n_q)
    qvel = key.numbers("qvel", (0.0,) * n_v, n_v)
    ctrl = key.numbers("ctrl", (), (0, 10**6))
    q, rate, i, j = dict[str, float](), dict[str, float](), 0, 0
    which = {x.name: k for k, x in enumerate(bodies.robot.joints)}
    for x in bodies.moving:
        of_q, of_v = _SIZES[x.type]
        here, now = np.array(qpos[i : i + of_q]), np.array(qvel[j : j + of_v])
        i, j = i + of_q, j + of_v
        if x.type in _ONE:
            q[x.name], rate[x.name] = float(here[0]), float(now[0])
            continue
        if not here[-4:].any():
            raise key.error(f"qpos must have a quaternion for {x.name!r}, got zeros")
        turn = Rotation.from_quat(here[-4:], scalar_first=True).as_matrix()
        if x.type == "ball":
            motion, twist = Origin(rotation=turn), (np.zeros(3), now)
        else:
            motion = x.seat.inverse @ Origin(here[:3], turn)
            twist = (x.seat.rotation.T @ now[:3], now[3:])
        joint = bodies.robot.joints[which[x.name]]
        bodies.robot.joints[which[x.name]] = replace(joint, motion=motion, twist=twist)
    return q, rate, ctrl


def _at_rest(x: Any) -> list[float]:
    """Return the coordinates of a joint where nothing has moved."""
    if x.type in _ONE:
        return [x.zero]
    quaternion = Rotation.from_matrix(x.seat.rotation).as_quat(scalar_first=True).tolist()
    return [1.0, 0.0, 0.0, 0.0] if x.type == "ball" else [*x.seat.position.tolist(), *quaternion]
