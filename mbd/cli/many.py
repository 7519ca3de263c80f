"""``mbd sweep``, ``compare``, ``bench``: many runs, with other values, formulations or methods."""

import argparse
from typing import Any

from mbd.cli.output import DONE, FAILED, answer, print_json, wrote
from mbd.cli.scene import check_outputs, integrator, parameters_of, read, stored, whole_run


def sweep(options: argparse.Namespace) -> int:
    """Run a model with many values of its parameters."""
    check_outputs("sweep", (options.output, (".nc",)), (options.csv, (".csv",)))
    scene, parameters = read(options)
    varied = dict(_varied(text, options.sample is not None) for text in options.vary)
    paths = [name for name in varied if "." in name]
    if paths and len(paths) < len(varied):
        raise ValueError("--vary takes parameters of build or paths such as rod.mass, not both")
    how = dict(scene.run)
    t_end = how.get("t_end") if options.t_end is None else options.t_end
    step = how.get("step") if options.step is None else options.step
    if t_end is None or step is None:
        raise ValueError(f"{scene.path}: give --t-end and --step [s], or put them in RUN")

    from mbd.studies.samples import sample
    from mbd.studies.study import study

    method = integrator(how, options)
    outputs = [tuple(x.split(":", 1)) if ":" in x else x for x in options.keep]

    def build(**values: Any) -> Any:
        return scene.build({**parameters, **values})

    done = study(
        build() if paths else build,
        sample(varied, int(options.sample[1]), method=options.sample[0])
        if options.sample else varied,
        t_end=t_end, step=step, outputs=outputs, method=method,
        every=options.every, directory=options.directory, progress=False if options.json else None,
    )  # fmt: skip
    if options.output:
        done.to_netcdf(options.output)
    if options.csv:
        done.to_dataframe().to_csv(options.csv)
    bad = done["status"].values != 0
    messages = [str(x) for x in done["message"].values[bad]]
    values = {"members": bad.size, "failed": int(bad.sum()), "messages": messages[:20]}
    if not messages:
        return answer(options, values, done)
    why = f"{len(messages)} of {bad.size} members failed: {messages[0]}"
    return answer(options, values, done, code=FAILED, why=why)


def _varied(text: str, sampled: bool) -> tuple[str, Any]:
    """Return name and values of ``name=1,2,3`` or ``name=low:high:n``."""
    name, _, values = text.partition("=")
    ends = values.split(":")
    try:
        if sampled:
            low, high = map(float, ends)
            return name, (low, high)
        if len(ends) == 3:
            import numpy as np

            return name, np.linspace(float(ends[0]), float(ends[1]), int(ends[2]))
        return name, [float(x) for x in values.split(",")]
    except ValueError:
        form = "low:high" if sampled else "1,2,3 or low:high:n"
        raise ValueError(f"--vary must be written NAME={form}, got {text!r}") from None


def compare(options: argparse.Namespace) -> int:
    """Run a model in several formulations."""
    return _compared("compare", options, method=options.method, rho=options.rho,
                     newton=options.newton)  # fmt: skip


def bench(options: argparse.Namespace) -> int:
    """Run a problem in all formulations by all methods, or list those of publications."""
    if options.file is not None:
        return _compared("bench", options, methods=options.method)
    from mbd.studies.benchmarks import BENCHMARKS

    told = {name: {"source": x.source, "t_end": x.t_end, "steps": list(x.steps)}
            for name, x in BENCHMARKS.items()}  # fmt: skip
    lines = (f"  {name:18} {x['t_end']:g} s  {x['source']}" for name, x in told.items())
    return answer(options, told, "problems of publications; run one by `mbd bench NAME`:", *lines)


def _compared(who: str, options: argparse.Namespace, **how: Any) -> int:
    """Run a model in several formulations; print, write and draw the table."""
    import inspect

    from mbd.files import scenes
    from mbd.studies import compare as studies
    from mbd.studies.benchmarks import BENCHMARKS

    function = getattr(studies, who)
    _check_outputs(who, options)
    parameters = parameters_of(options)
    if "formulation" in parameters:
        raise ValueError(f"{who}: formulation is what is compared; choose by --formulations")
    for name in parameters.keys() & inspect.signature(function).parameters.keys():
        raise ValueError(f"{who}: {name!r} is its own option; it cannot be one of the scene here")
    steps = None
    if options.steps is not None:
        try:
            steps = [float(x) for x in options.steps.split(",")]
        except ValueError:
            raise ValueError(
                f"{who}: --steps must be numbers with commas [s], got {options.steps!r}"
            ) from None
    named = who == "bench" and options.file in BENCHMARKS
    reference = options.reference  # a formulation by its name, or the solution of a file
    if reference is not None and stored(reference):
        without = "so it is no reference; compare in Python with reference=solution"
        reference = whole_run(reference, without)
    comparison = function(
        options.file if named else scenes.load(options.file).path,
        formulations=options.formulations, steps=steps, t_end=options.t_end, turns=options.turns,
        watch=None if options.watch is None else [x.strip() for x in options.watch.split(",")],
        reference=reference, **how, **parameters,
    )  # fmt: skip
    written: list[str] = []
    if not options.json:
        print(comparison, flush=True)
    try:  # the comparison is printed even if it cannot be written
        if options.csv:
            written.append(str(comparison.to_csv(options.csv)))
        if options.plot:
            comparison.plot(options.plot, options.quantity)
            written.append(options.plot)
    finally:
        if options.json:
            print_json({**comparison.plain(), "written": written})
    for line in () if options.json else wrote(*written):
        print(line)
    return DONE if any(row["status"] == "done" for row in comparison.rows) else FAILED


def _check_outputs(who: str, options: argparse.Namespace) -> None:
    """Refuse before the runs what could not be written after them."""
    if options.quantity and not options.plot:
        raise ValueError(
            f"{who}: --quantity says what --plot draws, got {options.quantity!r} without "
            "--plot; give --plot NAME.png"
        )
    if options.plot:
        from mbd.drawing.figure import checked_path
        from mbd.studies.comparison import checked_quantity

        checked_path(options.plot, "plot")
        checked_quantity(options.quantity or "position")
    check_outputs(who, (options.csv, (".csv",)), (options.plot, ()))
