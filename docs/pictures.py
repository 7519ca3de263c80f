"""Pictures of every scene, made when its page is read: a page that plays, a thumbnail."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mbd
from mbd.animation.painter import picture as draw
from mbd.animation.view import pace
from mbd.files import scenes
from mbd.files.modelfile import READERS
from mbd.files.scenes import Scene

SIZE = (300, 210)  # of thumbnails, pixels
LOOP, FPS = 5.0, 8.0  # seconds that one takes at most, frames per second
BARE = ("bodies", "springs", "trails", "loads", "grid")  # without the symbols of joints
REACTIONS = {"show": ("bodies", "joints", "springs", "trails", "loads", "reactions", "grid")}


@dataclass(frozen=True)
class Picture:
    """What is shown of a scene.

    Attributes
    ----------
    plot : str
        What is drawn over time, a name of ``Solution.plot``.
    t : float, optional
        Instant of the picture where nothing may move [s]; default the end of the run.
    t_end : float, optional
        End of the run [s], if not that of the scene.
    look : dict
        Options of ``Solution.snapshot``: trails, view, follow, show.
    run : dict
        Options of the run of a file that says none.
    """

    plot: str = "energy"
    t: float | None = None
    t_end: float | None = None
    look: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)


def _trail(*points: Any, **more: Any) -> dict[str, Any]:
    return {"trails": list(points), **more}


PICTURES = {
    "arm.urdf": Picture(
        "j2.moment", 0.3, run={"t_end": 0.5, "step": 1e-3}, look=_trail("tool", view=(1, -0.8, 0.4))
    ),
    "crank_drive.toml": Picture("crank.angular_velocity.y", 0.4),
    "fourbar.toml": Picture("rocker.angular_velocity.y", 0.9, None, _trail("coupler")),
    "slider_crank.toml": Picture("rod.position", 0.2),
    "andrews": Picture(
        "K1.angular_velocity.z",
        0.012,
        None,
        _trail(("K1", (0.007, 0, 0)), up=(0, 1, 0), view=(0.1, 0.1, 1)),
    ),
    "ball_on_turntable": Picture("ball.position", None, None, _trail("ball", show=BARE)),
    "bending_rod": Picture("wrist.force", 0.03, None, {"up": (0, 1, 0), "view": (0.1, 0.1, 1)}),
    "bennett": Picture("link 1.angular_velocity", 0.5, None, _trail("link 2")),
    "bicycle": Picture(
        "head.angle", 0.25, 0.5, {"follow": "frame", "view": (1, -2, 0.8), "show": BARE}
    ),
    "spheroid_in_water": Picture("spheroid.angular_velocity", 1.0),
    "breathing_body": Picture("body.scale", 1.7),
    "held_balloon": Picture("balloon.scale", 2.0),
    "bricard": Picture("rod 3.position", 0.6, None, _trail(("rod 2", (0.5, 0, 0)))),
    "cart_pole": Picture("cart.position.x", 0.3, 2.0, _trail("mass")),
    "catenary": Picture("left.force"),
    "princeton_beam": Picture(look={"color_by": "stress"}),
    **dict.fromkeys(
        ("flying_spaghetti", "roll_up", "spin_up_beam"), Picture(look={"color_by": "strain"})
    ),
    "ground_resonance": Picture("fuselage.position.x", 3.0),
    "goland_wing": Picture(
        "wing.12.position.z", 0.2, None, _trail("wing.12", view=(1, -1, 0.6), show=BARE)
    ),
    "iea15": Picture("shaft.angle_rate", 24.0, None, {"view": (-1, -1.2, 0.3), "show": BARE}),
    "rope_in_current": Picture(
        "rope.16.position", 6.0, None, {"up": (0, 1, 0), "view": (0.1, 0.1, 1)}
    ),
    "springboard": Picture("wall.force", 0.17, None, {"color_by": "strain"}),
    "elastic_crank": Picture("guide.force", 0.03, None, _trail("rod/2")),
    "modal_rotor": Picture("left pin.force", 0.012),
    "cassie": Picture(
        "left knee motor.load", 0.9, None, _trail("left foot", view=(1, 1, 0.2), show=BARE)
    ),
    "press": Picture("column 3.force", 0.5, None, {"view": (0.8, -1, 0.4)}),
    "scissor": Picture("lift.load", 1.0, None, {"view": (0.3, -1, 1.2), "show": BARE}),
    "scott_russell": Picture("table.position", 1.0, None, {"view": (0.3, -1, 0.25)}),
    "seven_axis_arm": Picture("joint1.angle", 0.4, None, _trail("link6", view=(0.3, -1, 0.3))),
    "stewart": Picture("leg 0.load", 0.8, None, _trail(("platform", (0.6, 0, 0)), show=BARE)),
    "strandbeest": Picture(
        "wind.load", 1.0, None, _trail("left foot", "right foot", view=(0.15, -1, 0.15))
    ),
    "quadruped": Picture("trunk.position", 1.0, None, {"view": (0.6, -1, 0.4), "show": BARE}),
    "quadruped.xml": Picture("trunk.position", 0.5, 0.5, {"view": (0.6, -1, 0.4), "show": BARE}),
    "leg.xml": Picture("hip.angle", 0.3, 0.5),
    "three_blade_rotor": Picture("yaw bearing.moment"),
    "chain": Picture("joint 1.force", 0.6, None, _trail(("bar 2", (0.5, 0, 0)))),
    "column": Picture("link 8.position"),
    "door": Picture(
        "upper hinge.force",
        0.6,
        None,
        _trail(("door", (0.45, 0, 0)), view=(2, 1, 0.8), **REACTIONS),
    ),
    "driven_slider_crank": Picture("bearing.force", 0.08, None, REACTIONS),
    "dzhanibekov": Picture("body.angular_velocity_body", 2.0, 20.0),
    "elastic_pendulum": Picture("mass.position", 8.0, None, _trail("mass")),
    "flexible_rod": Picture(
        "q1.displacement",
        0.006,
        0.08,
        {
            "show": BARE,
            "view": (0, -0.25, 1),
            "lines": [("crank end", "rod 1", "rod 2", "rod 3", "slider")],
        },
    ),
    "fourbar": Picture("hinge A.force", 0.9, None, _trail("coupler", ("coupler", (0.5, 0, 0)))),
    "geodesic": Picture("point.position", None, None, _trail("point")),
    "governor": Picture(
        "left hinge.force", 0.8, None, _trail(("right", (0, 0, -0.25)), view=(0.2, -1, 0.3))
    ),
    "heavy_top": Picture("pin.force", 0.9, None, _trail("top")),
    "hooke": Picture("output.angular_velocity_body.x", 0.3),
    "kynema_body": Picture(
        "body.angular_velocity_body", 0.5, None, _trail(("body", (0.1, 0.2, 0.3)))
    ),
    "multipliers": Picture("rocket.angular_velocity_body", 0.5),
    "n_fourbar": Picture("bar 0.angular_velocity.z", 0.4, None, _trail("top 1")),
    "non_twisting": Picture("body.angular_velocity", 0.1, 1.0),
    "pendulum": Picture("hinge.force", 0.4, None, _trail(("rod", (0.5, 0, 0)), **REACTIONS)),
    "planetary_gear": Picture(
        "planet.position", 0.4, None, _trail(("planet", (0.025, 0, 0.01)), view=(0.3, -0.6, 1))
    ),
    "point_chain": Picture("link 1.force", 0.7, None, _trail("mass 3")),
    "rack_and_pinion": Picture("slide.displacement", look={"view": (0.3, -1, 0.4)}),
    "rolling_disc": Picture("roll.force", 0.6, None, _trail("disc", **REACTIONS)),
    "rotor": Picture("rotor.position", 0.02),
    "screw_jack": Picture("screw.angle", 0.8),
    "simple_pendulum": Picture("rod.force", 4.0, None, _trail("mass")),
    "skate": Picture("skate.position", 1.2, None, _trail("skate", show=BARE, view=(1, -0.6, 0.8))),
    "slider_crank": Picture("slider pin.force", 0.2, None, REACTIONS),
    "sling": Picture("load.velocity", 0.75, 1.0, _trail("load")),
    "spring_mass": Picture("mass 10.position.x", 1.0),
    "swing_up": Picture("hinge.angle", 1.0, 2.0, _trail(("pole", (0, 0, 0)))),
    "squeezed_body": Picture("body.scale", 1.0),
    "steady_top": Picture("top.angular_velocity", 0.8, None, _trail(("top", (0, 0, 1)))),
    "truss": Picture("top.position.z", 0.4, look={"show": BARE}),
    "unstable_axis": Picture("body.angular_velocity_body", 0.3, 0.5),
}


def files() -> dict[str, Path]:
    """Return scenes by name, and model files by name and type."""
    others = [p for kind in READERS for p in sorted(scenes.folder().glob(f"*{kind}"))]
    return scenes.shipped() | {p.name: p for p in others}


def run(name: str, scene: Scene) -> dict[str, Any]:
    """Return how a scene is run."""
    return scene.run or PICTURES[name].run


def place(name: str) -> str:
    """Return how the files of a scene are called."""
    return name.replace(".", "_")


def make(name: str, scene: Scene, folder: Path) -> None:
    """Run a scene; write the page in which it plays, its thumbnail, and one that does not move."""
    picture = PICTURES.get(name, Picture())
    how = run(name, scene) | ({} if picture.t_end is None else {"t_end": picture.t_end})
    solution = mbd.simulate(scene.build({}), **how)
    solution.animate(
        folder / "play" / f"{place(name)}.html",
        **picture.look | {"plots": [picture.plot], "title": ""},
    )
    show = picture.look.get("show", BARE)
    small = picture.look | {"show": [x for x in show if x not in ("loads", "reactions", "grid")]}
    seconds = float(solution.t[-1] - solution.t[0])
    film = solution.animate(**small, arrows=False, speed=max(pace(seconds), seconds / LOOP))
    thumb = folder / "thumbs" / f"{place(name)}.webp"
    film.save(thumb, size=SIZE, fps=FPS)
    when = solution.t[-1] if picture.t is None else picture.t
    draw(film.drawing, thumb.with_suffix(".png"), when, SIZE)
