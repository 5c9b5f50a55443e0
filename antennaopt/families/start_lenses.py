"""Starts of lenses and rods, from closed forms. Gains G are ratios over an isotropic antenna.

References:
    Born and Wolf, Principles of Optics, sec. 4.2 (the ellipse that focuses); Zucker, in Volakis, Antenna Engineering
    Handbook, 4th ed., ch. 10 (rods).
"""

from __future__ import annotations

import math

from antennaopt.families.start import FEED_RADIUS, LOBES, POLYSTYRENE, WALL, Fixed, Gene, Start, aperture, around

_LENS_EFFICIENCY = 0.9
"""Of a lens of one to four wavelengths: 0.8 to 1.2 of its cross-section, measured on the closed forms below."""
_INDEX = math.sqrt(POLYSTYRENE)
_LENS = (
    Fixed(name="lens.permittivity", value=POLYSTYRENE, why="cross-linked polystyrene"),
    Fixed(name="lens.loss_tangent", value=6.6e-4, why="at the design frequency"),
)
_LENS_GOALS = (("s11_db", "at_most", -8.0, 0.5), LOBES)


def _lens_about(d: float, rule: str) -> tuple[str, ...]:
    return (
        f"G = 0.9 (pi d)^2 gives a lens of d = {d:.3g} wavelengths across. {rule}",
        "The step from the air in the feed to the dielectric reflects about -8 dB.",
    )


def hemispherical_lens(gain: float) -> Start:
    """Return the start of a hemispherical lens."""
    d = aperture(gain, _LENS_EFFICIENCY)
    focus = d / 2 / (_INDEX - 1)
    rule = (
        f"Rays focus with an extension of R/(n - 1) = {focus:.3g}; waves, for R of a wavelength or two, at 0.7 of it."
    )
    return Start(
        about=_lens_about(d, rule),
        entries=(
            *_LENS,
            around("lens.radius", d / 2, 0.8, 1.3, "of the hemisphere", least=1.1 * (FEED_RADIUS + WALL)),
            around("lens.extension", 0.7 * focus, 0.3, 1.5, "cylinder between feed and hemisphere"),
        ),
        goals=_LENS_GOALS,
    )


def shaped_lens(gain: float) -> Start:
    """Return the start of a shaped lens."""
    d = aperture(gain, _LENS_EFFICIENCY)
    axis = d / 2 * math.sqrt((_INDEX + 1) / (_INDEX - 1))
    count = 8
    radii = tuple(axis * (_INDEX - 1) / (_INDEX - math.cos(math.pi / 2 * at / (count - 1))) for at in range(count))
    least = 1.1 * (FEED_RADIUS + WALL)
    return Start(
        about=_lens_about(d, "The ellipse of eccentricity 1/n focuses rays from its far focus."),
        entries=(
            *_LENS,
            Gene(
                name="lens.radii",
                best=tuple(max(one, 1.01 * least) for one in radii),
                low=max(0.7 * radii[-1], least),
                high=1.2 * axis,
                why="from the axis to the aperture plane, at equal angles",
            ),
        ),
        goals=_LENS_GOALS,
    )


def shell_lens(gain: float) -> Start:
    """Return the start of a shell lens."""
    d = aperture(gain, _LENS_EFFICIENCY)
    eps = 3.8
    return Start(
        about=(
            f"G = 0.9 (pi d)^2 gives a lens of d = {d:.3g} wavelengths across: an ellipse of eccentricity 1/n,",
            "whose far focus is the aperture, under a matching layer of permittivity sqrt(eps), a quarter of a",
            "wavelength thick.",
        ),
        entries=(
            Fixed(name="lens.permittivity", value=eps, why="fused quartz"),
            Fixed(name="lens.loss_tangent", value=1e-3, why="at the design frequency"),
            Fixed(name="lens.shape", value="ellipse", why="the core"),
            around("lens.radius", d / 2, 0.8, 1.3, "of the core", least=1.1 * (FEED_RADIUS + WALL)),
            Gene(
                name="matching.permittivity",
                best=math.sqrt(eps),
                low=1.3,
                high=2.8,
                why="of the matching layer",
                unit="",
            ),
            Gene(name="matching.thickness", best=0.25 / eps**0.25, low=0.1, high=0.3, why="a quarter of a wavelength"),
        ),
        goals=_LENS_GOALS,
    )


def dielectric_rod(gain: float) -> Start:
    """Return the start of a dielectric rod."""
    length, radius = gain / 7, FEED_RADIUS
    return Start(
        about=(
            f"End-fire rule: G = 7 L/lam gives a rod of {length:.3g} wavelengths (Zucker). It covers the feed, and so",
            "is thick and wants a low permittivity: about 1.7 for 15 dBi.",
        ),
        entries=(
            Gene(name="rod.permittivity", best=1.7, low=1.3, high=2.3, why="2.1 is PTFE, below it foams", unit=""),
            Fixed(name="rod.loss_tangent", value=3e-4, why="at the design frequency"),
            Gene(
                name="rod.radius",
                best=1.06 * radius,
                low=1.01 * radius,
                high=1.4 * radius,
                why="at the foot",
            ),
            around("rod.length", length, 0.75, 1.4, "taper included"),
            around("rod.taper", 0.8 * length, 0.4, 1.2, "at the tip's end"),
            Gene(name="rod.tip_radius", best=0.1, low=0.04, high=0.2, why="at the tip"),
        ),
        goals=(("s11_db", "at_most", -12.0, 0.5), ("sidelobe_db", "at_most", -15.0, 0.5)),
    )
