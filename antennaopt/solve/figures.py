"""Compute the figures with options of a run from the cuts of its outcomes, without a new solution.

Workers compute them for a whole batch; the driver for outcomes that come from the evaluation cache.

Cuts are taken as they are stored, complex64, so that a figure has the same bits whether the antenna was solved a moment
before, in an earlier run (evaluation cache), or is read from a run folder. They do not depend on the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from antennaopt.families import Family, kind
from antennaopt.families.measures import Measures, measures
from antennaopt.figures import LINEAR, Figure, Solved, SolvedInSpace
from antennaopt.solve.cuts import amplitudes
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.rings import rings_from
from fdtd.farfield import or_none
from fdtd.farfield.cuts import Circles, Cuts

AT_ONCE = 256
"""Outcomes whose cuts are interpolated together: bounds the memory that a large batch takes."""


def with_figures(
    outcomes: Sequence[Outcome], designs: Sequence[Mapping[str, float]], figures: Sequence[Figure], family: Family
) -> list[Outcome]:
    """Return outcomes with the figures that are asked for.

    Those that have figures already stay as they are, and so do those without cuts: antennas that were not solved.

    Args:
        outcomes: As `evaluate` returns them, or from the cache.
        designs: Full designs, SI, in the same order.
        figures: To compute.
        family: Antenna family, with its bodies where the file draws them.
    """
    found = list(outcomes)
    if not figures:
        return found
    together: dict[tuple, list[int]] = {}
    for place, one in enumerate(found):
        if one.figures is None and one.e_plane is not None and one.frequency_hz:
            key = tuple(one.frequency_hz), np.shape(one.theta_deg), len(one.rings[0]) if one.rings else 0
            together.setdefault(key, []).append(place)
    groups = (group[at : at + AT_ONCE] for group in together.values() for at in range(0, len(group), AT_ONCE))
    for places in groups:
        computed = _computed([found[place] for place in places], [designs[place] for place in places], figures, family)
        for at, place in enumerate(places):
            found[place] = found[place].changed(figures={name: values[at] for name, values in computed.items()})
    return found


def _computed(
    outcomes: Sequence[Outcome], designs: Sequence[Mapping[str, float]], figures: Sequence[Figure], family: Family
) -> dict[str, list[list[float | None]]]:
    """Return each figure's values, a list a frequency of each outcome."""
    planes = [
        np.stack([amplitudes(getattr(one, name)).astype(np.complex64) for one in outcomes])
        for name in ("e_plane", "h_plane")
    ]
    if family.spatial is not None:
        circles = Circles(e=planes[0][..., :-1], h=planes[1][..., :-1])  # the last angle is the first one
        texts = [one.rings for one in outcomes if one.rings is not None]
        there = SolvedInSpace(
            frequencies=tuple(outcomes[0].frequency_hz or ()),
            cuts=circles,
            rings=rings_from(texts) if texts else None,
            efficiency=np.array([one.metrics["radiation_efficiency"] for one in outcomes], dtype=float),
            areas=_areas(family, designs),
        )
        return _by_name(outcomes, figures, lambda one: _in_space(there, one))
    sized = any(one.kind.geometric for one in figures)
    data = Solved(
        frequencies=tuple(outcomes[0].frequency_hz or ()),
        cuts=Cuts(e=planes[0], h=planes[1]),
        efficiency=np.array([one.metrics["radiation_efficiency"] for one in outcomes], dtype=float),
        sizes=_sizes([measures(family, design) for design in designs]) if sized else {},
    )
    return _by_name(outcomes, figures, lambda one: one.kind.compute and one.kind.compute(data, one.settings))


def _in_space(data: SolvedInSpace, figure: Figure) -> np.ndarray | None:
    """Return a figure's values; NaN where it needs what a solver of the caller's own did not return."""
    if figure.kind.in_space is None:
        return None
    if figure.needs_rings and (data.rings is None or (figure.kind.levels and data.rings.least is None)):
        return data.everywhere(np.full((len(data.cuts.e), 1), np.nan))
    return figure.kind.in_space(data, figure.settings)


def _by_name(
    outcomes: Sequence[Outcome], figures: Sequence[Figure], compute: Callable[[Figure], np.ndarray | None]
) -> dict[str, list[list[float | None]]]:
    """Return the values of figures, copied from the metrics or computed; those without either are left out."""
    found: dict[str, list[list[float | None]]] = {}
    for one in figures:
        if one.copied:
            found[one.name] = [list(outcome.metrics[one.metric]) for outcome in outcomes]
        elif (values := compute(one)) is not None:
            found[one.name] = or_none(values)
    return found


def _areas(family: Family, designs: Sequence[Mapping[str, float]]) -> np.ndarray | None:
    """Return the areas of apertures, m^2, (antennas, 1); None of a family without one."""
    mouth = None if family.spatial is None else family.spatial.mouth
    return None if mouth is None else np.array([[mouth(design)] for design in designs])


def _sizes(each: Sequence[Measures]) -> dict[str, np.ndarray]:
    """Return the sizes of antennas, (antennas, 1) each."""
    return {one.name: np.array([[getattr(size, one.name)] for size in each]) for one in fields(Measures)}


def planned(plan: Mapping[str, Any], figures: Sequence[Figure], polarisation: str = LINEAR) -> dict[str, Any]:
    """Return a plan that tells workers to compute figures too; no part of the arithmetic class or of a digest.

    Where a figure of antennas in space needs means over phi (`rings`) the plan asks for these as well, and its outcomes
    are of the wanted polarisation. Those are parts of both: an outcome without them is no answer then. Outcomes of
    bodies of revolution are of a linear feed.

    Args:
        plan: As `SolverPlan.to_dict` wrote it, or `YeePlan.to_dict`.
        figures: Of the experiment.
        polarisation: Of it.
    """
    in_space = plan.get("solver") == "yee"
    plan = {**plan, **({"polarisation": polarisation} if in_space and polarisation != LINEAR else {})}
    if not figures:
        return plan
    kinds = [one.kind for one in figures if in_space and one.needs_rings]
    more = {"rings": bool(kinds), "levels": any(one.levels for one in kinds)}
    return {**plan, "figures": [one.to_dict() for one in figures], **{key: True for key in more if more[key]}}


def with_planned(
    outcomes: Sequence[Outcome], family: str, designs: Sequence[Mapping[str, float]], plan: Mapping[str, Any]
) -> list[Outcome]:
    """Return outcomes of a batch with the figures that `planned` put into its plan."""
    figures = [Figure.of(one) for one in plan.get("figures", ())]
    if not figures or not designs:
        return list(outcomes)
    return with_figures(outcomes, designs, figures, kind(family, plan.get("bodies", ())).of(designs[0]))
