"""Summaries of a model and of a run, as plain values and as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbd.front.solution import Solution
    from mbd.model.report import Report
    from mbd.store.source import Source


def facts(report: Report) -> dict[str, Any]:
    """Return a report as plain values."""
    from dataclasses import asdict

    derived = ("freedoms", "gruebler_freedoms", "n_redundant")
    return asdict(report) | {name: getattr(report, name) for name in derived}


def stored_summary(source: Source) -> dict[str, Any]:
    """Return what a file of results says of its run as plain values."""
    t, about = source["t"], source.about
    return {
        "success": int(about["status"]) == 0,
        "message": str(about["message"]),
        "instants": len(t),
        "t_start": float(t[0]) if len(t) else 0.0,
        "t_end": float(t[-1]) if len(t) else 0.0,
        "method": str(about["method"]),
        "options": about["options"],
        "version": str(about["version"]),
        "stats": {name: float(value) for name, value in about["stats"].items()},
    }


def summary(solution: Solution) -> dict[str, Any]:
    """Return what a run did as plain values."""
    from dataclasses import asdict

    from mbd.history.columns import of_gap

    energy = solution.energy
    change = float(abs(energy.total - energy.total[0]).max())
    return {
        "success": solution.success,
        "message": solution.message,
        "t_end": float(solution.t[-1]),
        "method": repr(solution.method),
        "rho": asdict(solution.method).get("rho"),
        "energy_change": change,
        "energy_balance": float(abs(energy.balance - energy.balance[0]).max()),
        "kinetic_energy_max": float(energy.kinetic.max()),
        "conservative": energy.conservative,
        "gap": float(solution.gap.max()),
        "gap_unit": of_gap(solution.model),
        "stats": {name: float(value) for name, value in solution.stats.items()},
    }


def text(solution: Solution, s: dict[str, Any], step: float | None) -> str:
    """Return the summary of a run as a few lines; without a step, the steps were chosen."""
    cost = solution.stats
    n = max(1, int(cost["steps"]))
    mean = (s["t_end"] - float(solution.t[0])) / n
    size = f"{mean:.2g} s (mean)" if step is None else f"{step:g} s"
    change = f"{s['energy_change']:.2e} J"
    if s["kinetic_energy_max"] > 0:
        change += f", {s['energy_change'] / s['kinetic_energy_max']:.1e} of the largest kinetic one"
    if not s["conservative"]:
        change += f"; less work done and dissipated at most {s['energy_balance']:.2e} J"
    again = f"{int(cost['rejected'])} repeated steps"
    if cost["divided_steps"]:
        again += f", {int(cost['divided_steps'])} taken in {int(cost['substeps'])} smaller ones"
    return "\n".join(
        (
            f"simulated to t = {s['t_end']:g} s: {n} steps of {size}, "
            f"{solution.method.facts.title}",
            f"  Newton          {cost['iterations'] / n:.2f} iterations per step, "
            f"{int(cost['factorizations'])} factorizations, {again}",
            f"  largest gap     {s['gap']:.1e} (of a constraint row) [{s['gap_unit']}]",
            f"  energy change   {change}",
            f"  time            {1e6 * cost['seconds'] / n:.3g} us per step, {cost['seconds']:.3g} "
            f"s for all steps; {cost['seconds_in_all']:.3g} s with all around them",
        )
    )
