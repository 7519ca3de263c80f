"""The table of commands: what each is for, its options, its function, what may come after it.

Nothing heavy is imported here; the function is, when the command is run.
"""

from typing import Any, NamedTuple

from mbd.store.file_kinds import readable, writable


class Option(NamedTuple):
    """An argument of a command, as ``argparse`` takes it."""

    flags: tuple[str, ...]
    how: dict[str, Any]


class Command(NamedTuple):
    """A command.

    Attributes
    ----------
    help : str
    run : str
        ``"module:function"`` of this folder; it takes the options and returns the exit code.
    options : tuple of Option
    next : tuple of str
        What may come after it; the first line is printed all of whose words are there, see
        ``output.tell_next``.
    """

    help: str
    run: str
    options: tuple[Option, ...]
    next: tuple[str, ...]


def _option(*flags: str, **how: Any) -> Option:
    return Option(flags, how)


def _number(flag: str, help: str, metavar: str | None = None) -> Option:
    return Option((flag,), {"type": float, "metavar": metavar, "help": help})


def _switch(*flags: str, help: str, **how: Any) -> Option:
    return Option(flags, {"action": "store_true", "help": help, **how})


def _repeated(flag: str, metavar: str, dest: str, help: str) -> Option:
    how = {"metavar": metavar, "dest": dest, "action": "append", "default": []}
    return Option((flag,), {**how, "help": f"{help}; may be repeated"})


SCENE = "Python scene (.py), model file (.toml), robot (.urdf, .xml), or the name of a demo"
RESULTS = f"results ({', '.join(readable())})"

FILE = _option("file", metavar="FILE", help=SCENE)
PARAMETERS = _repeated("-p", "NAME=VALUE", "parameters", "parameter of build")
T_END = _number("--t-end", "end time [s]", "S")
STEP = _number("--step", "step size [s]", "S")
EVERY = _option("--every", type=int, metavar="N", help="keep every so many steps")
PROJECT = _switch("--project", default=None, help="as of mbd run")
CSV = _option("--csv", metavar="CSV", help="write results as a table of text")
PLOT = "(needs the extra 'plot')"
RUNNING = (
    T_END,
    _option(
        "--method", metavar="NAME",
        help="integrator, such as EnergyMomentum or \"LieRungeKutta4(scheme='quaternion')\"",
    ),
    _number("--rho", "spectral radius, 0 to 1 (default 0.8)"),
    CSV,
)  # fmt: skip
FORMULATIONS = "all, or names with commas, with options such as \"EulerParameters('reduced')\""
COMPARING = (
    _option("--steps", metavar="S,S,...",
            help="step sizes [s] (default 4, 2 and 1 times the scene's)"),
    _option("--turns", type=int, default=3, metavar="N", help="timed runs of each (default 3)"),
    _option("--watch", metavar="NAMES",
            help="bodies, joints, drives whose errors count (default all)"),
    _option("--reference", metavar="NAME", help="formulation to extrapolate, or a file of "
            f"{RESULTS} that ends at --t-end"),
    _option("--plot", metavar="PNG", help=f"draw errors {PLOT}"),
    _option("--quantity", metavar="NAME", help="error that is drawn, such as rotation or force"),
    PARAMETERS,
)  # fmt: skip
ONE_RUN = (
    PARAMETERS,
    *RUNNING,
    STEP,
    _number("--rtol", "let the steps be chosen to this tolerance"),
    _number("--max-step", "largest chosen step [s]", "S"),
    EVERY,
    _switch("--project", default=None, help="move the initial state to the nearest consistent one"),
    _option("-o", "--output", metavar="FILE", help=f"write results: {', '.join(writable())}"),
    _switch("--stream", help="write the .nc file while it runs, in constant memory"),
    _option("--threads", type=int, default=1, metavar="N", help="threads that take a step: 1 or 2"),
    _switch("-q", "--quiet", help="print errors only"),
)

_SHOWS = "`mbd view {results}` shows it moving, `mbd info {results}` how it went"

#: in the order of the help
COMMANDS = {
    "run": Command(
        "simulate a model, report and write results", "run:run", (FILE, *ONE_RUN),
        (_SHOWS, "`mbd view {timed}` shows it moving; -o run.nc keeps the results"),
    ),
    "sweep": Command(
        "run a model with many values of its parameters", "many:sweep",
        (
            FILE,
            _option("--vary", metavar="NAME=VALUES", action="append", required=True,
                    help="parameter of build, or a path such as rod.mass, with values 1,2,3 or "
                    "low:high:n, or low:high with --sample; may be repeated: all combinations"),
            _option("--keep", metavar="QUANTITY", action="append", required=True,
                    help="what is kept of each run: rod.position, or hinge.force:max (final, max, "
                    "min); may be repeated"),
            _option("--sample", nargs=2, metavar=("METHOD", "N"),
                    help="N members by sobol, latin or random instead of a grid"),
            STEP,
            Option(EVERY.flags, {**EVERY.how, "default": 1}),
            _option("--directory", help="keep results by chunks here, and go on from there"),
            _option("-o", "--output", metavar="FILE", help="write results: .nc"),
            PARAMETERS,
            *RUNNING,
        ),
        ("`xarray.open_dataset` reads {results} by name", "-o members.nc keeps the results"),
    ),
    "info": Command(
        "report bodies, freedoms, loops, redundant rows", "models:info",
        (
            _option("file", metavar="FILE", help=f"{SCENE}; or {RESULTS}"),
            _option("--matrices", metavar="PATH", help="write M, G, K, B at the initial pose: "
                    "Matrix Market files in a folder, .npz, .mat"),
            _option("--spy", metavar="PNG", help=f"draw the iteration matrix {PLOT}"),
            PARAMETERS,
        ),
        ("`mbd run {file}` simulates it, `mbd view {file}` shows it moving",),
    ),
    "equilibrium": Command(
        "find a pose in balance, with its reactions and stability", "models:equilibrium",
        (
            FILE,
            PARAMETERS,
            _option("--seek", choices=("minimum", "nearest"), default="minimum",
                    help="go downhill, or take the nearest one, stable or not"),
            _option("--load-factor", type=float, default=1.0, help="of weight and loads"),
            _option("--load-steps", type=int, default=1, metavar="N", help="in so many steps"),
            _option("--rotating", type=float, nargs=3, metavar=("X", "Y", "Z"),
                    help="rate of a frame in which the pose shall be at rest [rad/s]"),
        ),
        ("`mbd modes {file} --equilibrium` has the small motions about it",),
    ),
    "modes": Command(
        "frequencies, damping and shapes of small motions", "models:modes",
        (
            FILE,
            PARAMETERS,
            _option("-n", type=int, metavar="N",
                    help="how many, slowest first (default all; 40 of large models)"),
            _switch("--equilibrium", help="go to the equilibrium downhill first"),
            _option("--rotating", type=float, nargs=3, metavar=("X", "Y", "Z"),
                    help="rate of the frame in which the motion is steady [rad/s]"),
            _option("--plot", metavar="PNG", help=f"draw them {PLOT}"),
            _option("--animate", metavar="HTML", help="write a page in which modes play"),
            _option("--mode", type=int, metavar="I", help="the only one in the page"),
        ),
        ("open {animate} in a browser",
         "`mbd modes {file} --animate modes.html` shows them moving"),
    ),
    "compare": Command(
        "run a model in several formulations", "many:compare",
        (
            _option("file", metavar="MODEL", help=SCENE),
            _option("--formulations", default="all", metavar="NAMES", help=FORMULATIONS),
            *COMPARING,
            _option("--newton", help="modified (default) or full"),
            *RUNNING,
        ),
        ("open {plot}", "--plot errors.png draws the errors"),
    ),
    "bench": Command(
        "run a problem in all formulations by all methods", "many:bench",
        (
            _option("file", nargs="?", metavar="PROBLEM", help="one of a publication (none: list "
                    "them), or a scene"),
            _option("--formulations", metavar="NAMES",
                    help=f"{FORMULATIONS} (default those of the problem)"),
            *COMPARING,
            T_END,
            _option("--method", default="all", metavar="NAMES", help="integrators with commas "
                    "between, or all (default)"),
            CSV,
        ),
        ("open {plot}", "--plot errors.png draws the errors"),
    ),
    "view": Command(
        "show a model or a saved run moving in the browser", "run:view",
        (
            _option("file", metavar="FILE", help="Python scene, model file (.toml), name of a "
                    f"demo, or {RESULTS}"),
            PARAMETERS,
            T_END,
            STEP,
            PROJECT,
            _option("-o", "--output", metavar="HTML",
                    help="the page, .gif, .webp or .mp4 to write (default in a temporary folder)"),
            _number("--speed", "seconds of the model per second", "X"),
            _repeated("--trail", "BODY", "trails", "draw the path of a body"),
            _repeated("--plot", "NAME", "plots",
                      "draw a quantity beside the picture, such as hinge.force"),
            _switch("--no-open", help="write the page, do not open it"),
        ),
        ("`mbd run {timed} -o run.npz` keeps the results", "`mbd view --help` has trails, plots"),
    ),
    "convert": Command(
        f"write a model as .toml or .py, or results as {', '.join(writable())}", "convert:convert",
        (
            _option("file", metavar="IN", help=f"{SCENE}; or {RESULTS}"),
            _option("output", metavar="OUT", help="a new file: .toml, .py; .csv, .pvd, ..."),
            _switch("--force", help="write over a file that exists"),
            PARAMETERS,
        ),
        ("`mbd run {model}` simulates it", "`mbd info {results}` reports what is in it"),
    ),
    "export": Command(
        "write a model as a unit of co-simulation (FMI 3.0), which other tools run",
        "convert:export",
        (
            _option("kind", choices=("fmu",), help="what to write: fmu"),
            FILE,
            _option("-o", "--output", metavar="FMU",
                    help="where to write it (default the model's name)"),
            PARAMETERS,
            _number("--step", "largest step of the unit [s]", "S"),
            _option("--method", metavar="NAME", help="integrator, as of mbd run"),
            _number("--rho", "as of mbd run"),
            PROJECT,
            _option("--inputs", nargs="*", metavar="ARGUMENT",
                    help="what the tool sets, motor.effort (default all that can be set)"),
            _option("--outputs", nargs="*", metavar="QUANTITY",
                    help="what the tool reads, rod or hinge.angle (default of all parts)"),
            _option("--parameters", nargs="*", metavar="ARGUMENT", dest="settable",
                    help="what is set before a run, rod.mass (default the named ones)"),
        ),
        ("a tool that knows FMI 3.0 opens {output}",),
    ),
    "schema": Command(
        "print the JSON schema of model files, for editors", "convert:schema",
        (_option("-o", "--output", metavar="JSON", help="write it to a file"),),
        ("`#:schema {output}` as first line of a model file lets an editor check it",
         "`mbd schema -o mbd.json` writes it for an editor"),
    ),
    "demo": Command(
        "list the scenes that come along, or run one", "run:demo",
        (_option("file", metavar="NAME", nargs="?", help="name of a scene"), *ONE_RUN),
        (
            _SHOWS,
            "`mbd view {timed}` shows it moving; `mbd convert {file} model.py` is a start of your "
            "own",
            "`mbd demo fourbar` runs one, `mbd view fourbar` shows it",
        ),
    ),
    "doctor": Command(
        "check packages, kernels, a short run, pictures and start times", "doctor:doctor",
        (
            _switch("--fast", help="packages only: run nothing"),
            _switch("--warm", help="compile the kernels of the usual models now"),
        ),
        ("`mbd demo` lists models to begin with",),
    ),
    "completion": Command(
        "print the script that lets a shell complete commands and options", "convert:completion",
        (_option("shell", choices=("bash", "zsh", "tcsh"), help="which shell"),),
        ("the documentation of the command line says where your shell looks for it",),
    ),
}  # fmt: skip
