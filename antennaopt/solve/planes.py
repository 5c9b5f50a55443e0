"""Planes in which modes are measured: those of the file, or the feed's port by default; and their checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from antennaopt.families import Family
from antennaopt.families.guides import Guide, guide_at, guides_of
from antennaopt.quantities import format_frequency, format_length
from antennaopt.settings import SolverSettings
from antennaopt.solve.modes import BACKWARD, FORWARD, REFLECTED
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.modes import PORT_PLANE, ModePlane, PlaneWaves, carried, mode_cutoff

_SHORTEST = 8  # cells of a guide in which modes are told apart; those next to its ends show another guide as well


def planes_of(settings: SolverSettings, feed_radius: float, permittivity: float = 1.0) -> tuple[ModePlane, ...]:
    """Return the planes that a file asks for, and the port's where its feed, of a radius in m, carries another mode."""
    planes = tuple(
        ModePlane(z=PORT_PLANE if abs(one.plane) < 1e-9 else one.plane, modes=one.modes)
        for one in settings.report_modes
    )
    several = len(carried(feed_radius, max(settings.frequencies), permittivity)) > 1
    if several and all(one.z != PORT_PLANE for one in planes):
        return (ModePlane(z=PORT_PLANE), *planes)
    return planes


def not_measured(
    layout: Layout, family: Family, design: Mapping[str, float], planes: Sequence[ModePlane]
) -> Iterator[str]:
    """Yield why modes of one antenna cannot be measured in planes, and what would do."""
    inner, filled = design["feed.inner_radius"], design.get("feed.permittivity", 1.0)
    lowest = (layout.source_plane + 1 - layout.origin) * layout.cell
    guides = guides_of(family.outline(design)) if any(one.z != PORT_PLANE for one in planes) else []
    for plane in planes:
        where = f"solver.report_modes: plane = {format_length(plane.z)}"
        held = Guide(radius=inner, bottom=-design["feed.length"], top=0.0, permittivity=filled)
        if plane.z != PORT_PLANE:
            guide = guide_at(guides, plane.z)
            if plane.z < lowest and (guide is None or guide.bottom < 0):
                yield (
                    f"{where} is inside the feed's source or absorber, or behind them (must be >= "
                    f"{format_length(lowest)}); move the plane or lengthen feed.length"
                )
                continue
            if guide is None or guide.permittivity is None:
                why = (
                    "is where a dielectric fills a part of the guide" if guide else "is not in a circular guide section"
                )
                free = [f"{_mm(one.bottom)} to {_mm(one.top)}" for one in guides if one.permittivity is not None]
                yield f"{where} {why} (sections of this antenna, mm: {', '.join(free)}); move it into one"
                continue
            held = guide
            length = guide.top - max(guide.bottom, lowest)
            if length < _SHORTEST * layout.cell * (1 - 1e-9):
                yield (
                    f"{where} is in a guide section {format_length(length)} long, too short for cells of "
                    f"{format_length(layout.cell)} (needs >= {_SHORTEST} cells); use cells <= "
                    f"{format_length(length / _SHORTEST)}"
                )
                continue
        yield from _below_cutoff(layout, where, plane.modes, held)


def _below_cutoff(layout: Layout, where: str, names: Sequence[str], guide: Guide) -> Iterator[str]:
    lowest = min(layout.frequencies)
    for name in names:
        cutoff = mode_cutoff(name, guide.radius, guide.permittivity or 1.0)
        if lowest <= cutoff:
            yield (
                f"{where}: {name} is below cutoff at {format_frequency(lowest)} in the guide of inner radius "
                f"{format_length(guide.radius)} (needs > {cutoff / 1e9:.5g} GHz); leave out the mode or the frequency, "
                "or leave out modes to report those that propagate"
            )


def _mm(length: float) -> str:
    return f"{length * 1e3:.4g}"


def modes_at(waves: Sequence[PlaneWaves | None], frequencies: int) -> list[list[dict[str, Any]]]:
    """Return an outcome's `modes`: a list a frequency of one entry a wave.

    Args:
        waves: Of each plane, in the plan's order; one that was not measured is left out.
        frequencies: Number of frequencies.
    """
    found: list[list[dict[str, Any]]] = [[] for _ in range(frequencies)]
    for plane in waves:
        if plane is None:
            continue
        parts = ((BACKWARD, plane.backward),)
        if plane.z != PORT_PLANE:
            parts = ((FORWARD, plane.forward), *parts)
        for direction, of_frequency in parts:
            shown = REFLECTED if plane.z == PORT_PLANE else direction
            for entries, amplitudes in zip(found, of_frequency, strict=True):
                entries += [
                    {"plane": plane.z, "name": name, "direction": shown, "s": [wave.real, wave.imag]}
                    for name, wave in amplitudes.items()
                ]
    return found
