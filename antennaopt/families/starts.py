"""Where a search begins: each family's dimensions for a gain, from closed forms, with ranges round them.

Lengths are in wavelengths lam at the frequency. Gains G are ratios over an isotropic antenna.

References:
    Balanis, Antenna Theory, 4th ed., ch. 13 (horns); Granet and James, IEEE Antennas Propag. Mag. 47 (2005) no. 2, 76
    (corrugations); Potter, Microwave J. 6 (1963) 71 (dual mode); Zucker, in Volakis, Antenna Engineering Handbook,
    4th ed., ch. 10 (rods); Born and Wolf, Principles of Optics, sec. 4.2 (the ellipse that focuses).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

ABOVE_CUTOFF = 1.24
"""Frequency over the cutoff of TE11: 5 % above it TM01 is still cut off (1.306)."""

FEED_RADIUS = ABOVE_CUTOFF * 1.8411837813406593 / (2 * math.pi)
WALL = 0.04
FEED_LENGTH = 1.5


@dataclass(frozen=True, kw_only=True)
class Gene:
    """A parameter that the search may choose.

    Attributes:
        name: Dotted name.
        best: Value of the closed form, in wavelengths or plain; of a list one for each entry.
        low: Lower end of the range.
        high: Upper end.
        why: For the comment.
        unit: `lam`, or empty for a plain number; `integer` for a whole one.
    """

    name: str
    best: float | tuple[float, ...]
    low: float
    high: float
    why: str
    unit: str = "lam"


@dataclass(frozen=True, kw_only=True)
class Fixed:
    """A parameter with one value: wavelengths, a plain number or a word."""

    name: str
    value: float | str
    why: str
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Start:
    """Begin of a search.

    Attributes:
        about: What the antenna is, and which closed form gives its size; a few lines.
        entries: Parameters but the feed's.
        goals: (metric, bound, level, weight) in addition to the gain.
        cells: A wavelength in the densest medium.
        feed_radius: Inner radius of the feed, wavelengths.
        about_feed: For the comment.
    """

    about: tuple[str, ...]
    entries: tuple[Gene | Fixed, ...]
    goals: tuple[tuple[str, str, float, float], ...]
    cells: float = 20.0
    feed_radius: float = FEED_RADIUS
    about_feed: str = f"{ABOVE_CUTOFF:g} times the cutoff of TE11; TM01 stays cut off"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The closed form of a family.

    Attributes:
        lowest: Smallest gain that it holds for, dBi.
        highest: Largest.
        make: Returns the start for a gain as a ratio.
    """

    lowest: float
    highest: float
    make: Callable[[float], Start]


def aperture(gain: float, efficiency: float) -> float:
    """Return the diameter of a round aperture, wavelengths: G = efficiency (pi d)^2."""
    return math.sqrt(gain / efficiency) / math.pi


_MATCHED = ("s11_db", "at_most", -20.0, 0.5)
_LOBES = ("sidelobe_db", "at_most", -20.0, 0.5)
_PURE = ("crosspol_db", "at_most", -25.0, 0.5)
_HORN_WALL = Fixed(name="horn.wall", value=2 * WALL, why="thickness of the wall", unit="lam")


def _conical_horn(gain: float) -> Start:
    d = (0.6451 + math.sqrt(0.6451**2 + 4 * 5.1572 * (gain - 1.3645))) / (2 * 5.1572)
    apex = 0.3232 * d**2 - 0.0475 * d + 0.0052
    length = apex * (1 - 2 * FEED_RADIUS / d)
    return Start(
        about=(
            f"Optimum horn: G = 5.1572 d^2 - 0.6451 d + 1.3645 gives d = {d:.3g} wavelengths, and",
            f"L = 0.3232 d^2 - 0.0475 d + 0.0052 = {apex:.3g} wavelengths from the apex (Balanis, eq. 13-57); the",
            "formula is up to 0.8 dB low below 2.6 wavelengths.",
        ),
        entries=(
            _length("horn.length", length, 0.4, 1.8, "from the feed to the aperture", least=0.3),
            _length("horn.aperture_radius", d / 2, 0.8, 1.25, "of the inside", least=1.05 * FEED_RADIUS),
            _HORN_WALL,
        ),
        goals=(_MATCHED, ("sidelobe_db", "at_most", -12.0, 0.5)),
    )


def _smooth(gain: float) -> tuple[float, float, tuple[str, ...]]:
    d = aperture(gain, 0.6)
    length = max(0.4 * d**2, 0.8)
    about = (
        f"G = 0.6 (pi d)^2 gives an aperture of d = {d:.3g} wavelengths; a length of 0.4 d^2 (at least 0.8",
        "wavelengths) keeps the phase over it within an eighth of a period or so.",
    )
    return d, length, about


def _profile_horn(gain: float) -> Start:
    d, length, about = _smooth(gain)
    return Start(
        about=about,
        entries=(
            _length("horn.length", length, 0.5, 1.6, "from the feed to the aperture"),
            _length("horn.aperture_radius", d / 2, 0.85, 1.2, "of the inside", least=1.05 * FEED_RADIUS),
            _HORN_WALL,
            Fixed(name="horn.curve", value="sinusoid", why="sine to the power rho, a share A of it; see the guide"),
            Gene(name="horn.amplitude", best=0.8, low=0.3, high=1.0, why="A: 0 is a cone", unit=""),
            Gene(name="horn.rho", best=1.5, low=0.6, high=3.0, why="exponent rho", unit=""),
        ),
        goals=(_MATCHED, _LOBES, _PURE),
    )


def _spline_horn(gain: float) -> Start:
    d, length, about = _smooth(gain)
    count = 6
    rise = d / 2 - FEED_RADIUS
    radii = tuple(FEED_RADIUS + rise * math.sin(math.pi / 2 * (at + 1) / count) ** 1.5 for at in range(count))
    return Start(
        about=about,
        entries=(
            _length("horn.length", length, 0.5, 1.6, "from the feed to the aperture"),
            Gene(
                name="horn.radii",
                best=radii,
                low=FEED_RADIUS,
                high=1.2 * d / 2,
                why="at equal steps of z, the last one at the aperture",
            ),
            _HORN_WALL,
        ),
        goals=(_MATCHED, _LOBES, _PURE),
    )


_DUAL_MODE_FEED = 0.5


def _dual_mode_horn(gain: float) -> Start:
    d = aperture(gain, 0.6)
    flare = max(0.2416 * d**2, 0.6)
    return Start(
        about=(
            f"G = 0.6 (pi d)^2 gives an aperture of d = {d:.3g} wavelengths. The step excites TM11, which propagates",
            "from a radius of 0.61 wavelengths on, and the phasing section brings it into phase in the aperture; flare",
            "as Potter's: 7.22 wavelengths long for d = 5.467.",
        ),
        entries=(
            Gene(name="horn.step_radius", best=0.66, low=0.62, high=0.76, why="TM11 from 0.61 wavelengths on"),
            Gene(name="horn.phasing", best=0.58, low=0.1, high=1.4, why="sets the phase of TM11"),
            _length("horn.flare", flare, 0.5, 1.8, "length of the cone"),
            _length("horn.aperture_radius", d / 2, 0.85, 1.2, "of the inside", least=0.78),
            _HORN_WALL,
        ),
        goals=(_MATCHED, _LOBES, ("crosspol_db", "at_most", -30.0, 1.0)),
        feed_radius=_DUAL_MODE_FEED,
        about_feed="1.7 times the cutoff of TE11, so that the step reflects little; TM01 may propagate, TM11 does not",
    )


def _corrugated_horn(gain: float) -> Start:
    d = aperture(gain, 0.58)
    pitch = 1 / 6
    slots = max(round(0.45 * d**2 / pitch), 7)
    return Start(
        about=(
            f"G = 0.58 (pi d)^2 gives an aperture of d = {d:.3g} wavelengths (HE11 has 0.69 without phase error); a",
            f"length of 0.45 d^2 and a pitch of a sixth of a wavelength give {slots} slots. Depths follow Granet",
            "and James: a converter of slots from sigma wavelengths to a quarter. A tooth is 0.04 wavelengths thick,",
            "and the cells are small for it.",
        ),
        entries=(
            Gene(
                name="horn.slots", best=slots, low=max(round(0.7 * slots), 6), high=min(round(1.4 * slots), 200),
                why="number of slots", unit="integer",
            ),
            Fixed(name="horn.pitch", value=pitch, why="a slot and a tooth", unit="lam"),
            Fixed(name="horn.slot_share", value=0.75, why="width of the slot over the pitch"),
            Fixed(name="horn.wavelength", value=1.0, why="that the slots are made for", unit="lam"),
            Gene(name="horn.sigma", best=0.42, low=0.38, high=0.5, why="depth of the first slot, wavelengths", unit=""),
            Gene(name="horn.output_ratio", best=1.02, low=1.0, high=1.2, why="shortens the last slots", unit=""),
            _length("horn.aperture_radius", d / 2, 0.85, 1.2, "of the teeth", least=1.05 * FEED_RADIUS),
            _HORN_WALL,
        ),
        goals=(_MATCHED, ("sidelobe_db", "at_most", -22.0, 0.5), ("crosspol_db", "at_most", -30.0, 1.0)),
        cells=30.0,
    )  # fmt: skip


_LENS_EFFICIENCY = 0.9
"""Of a lens of one to four wavelengths: 0.8 to 1.2 of its cross-section, measured on the closed forms below."""
_PERMITTIVITY = 2.53
_INDEX = math.sqrt(_PERMITTIVITY)
_LENS = (
    Fixed(name="lens.permittivity", value=_PERMITTIVITY, why="cross-linked polystyrene"),
    Fixed(name="lens.loss_tangent", value=6.6e-4, why="at the design frequency"),
)
_LENS_GOALS = (("s11_db", "at_most", -8.0, 0.5), _LOBES)


def _lens_about(d: float, rule: str) -> tuple[str, ...]:
    return (
        f"G = 0.9 (pi d)^2 gives a lens of d = {d:.3g} wavelengths across. {rule}",
        "The step from the air in the feed to the dielectric reflects about -8 dB.",
    )


def _hemispherical_lens(gain: float) -> Start:
    d = aperture(gain, _LENS_EFFICIENCY)
    focus = d / 2 / (_INDEX - 1)
    rule = (
        f"Rays focus with an extension of R/(n - 1) = {focus:.3g}; waves, for R of a wavelength or two, at 0.7 of it."
    )
    return Start(
        about=_lens_about(d, rule),
        entries=(
            *_LENS,
            _length("lens.radius", d / 2, 0.8, 1.3, "of the hemisphere", least=1.1 * (FEED_RADIUS + WALL)),
            _length("lens.extension", 0.7 * focus, 0.3, 1.5, "cylinder between feed and hemisphere"),
        ),
        goals=_LENS_GOALS,
    )


def _shaped_lens(gain: float) -> Start:
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


def _shell_lens(gain: float) -> Start:
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
            _length("lens.radius", d / 2, 0.8, 1.3, "of the core", least=1.1 * (FEED_RADIUS + WALL)),
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


def _dielectric_rod(gain: float) -> Start:
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
            _length("rod.length", length, 0.75, 1.4, "taper included"),
            _length("rod.taper", 0.8 * length, 0.4, 1.2, "at the tip's end"),
            Gene(name="rod.tip_radius", best=0.1, low=0.04, high=0.2, why="at the tip"),
        ),
        goals=(("s11_db", "at_most", -12.0, 0.5), ("sidelobe_db", "at_most", -15.0, 0.5)),
    )


def _choke_ring_feed(_: float) -> Start:
    return Start(
        about=(
            "Rings a quarter of a wavelength deep take the current from the outside of the tube (Wohlleben). The gain",
            "is about that of the open guide.",
        ),
        entries=(
            Gene(name="rings.count", best=2, low=1, high=3, why="number of rings", unit="integer"),
            Gene(name="rings.depth", best=0.25, low=0.18, high=0.36, why="a quarter of a wavelength"),
            Gene(name="rings.width", best=0.15, low=0.08, high=0.22, why="from tooth to tooth"),
            Gene(name="rings.set_back", best=0.1, low=0.02, high=0.35, why="from the openings to the mouth"),
            Fixed(name="rings.tooth", value=0.06, why="thickness of a tooth", unit="lam"),
            Fixed(name="rings.wall", value=0.06, why="of the plate behind the rings", unit="lam"),
        ),
        goals=(_MATCHED, ("crosspol_db", "at_most", -25.0, 1.0), ("front_to_back_db", "at_least", 25.0, 0.5)),
    )


def _lens_horn(gain: float) -> Start:
    d = aperture(gain, 0.55)
    length = max(0.9 * (d / 2 - FEED_RADIUS) / math.tan(math.radians(30)), 0.4)
    return Start(
        about=(
            f"G = 0.55 (pi d)^2 gives an aperture of d = {d:.3g} wavelengths. The horn opens at some 30 degrees to",
            "each side, and the lens in its mouth makes all paths from its apex equally long.",
        ),
        entries=(
            _length("horn.length", length, 0.6, 1.8, "from the feed to the mouth"),
            _length("horn.aperture_radius", d / 2, 0.85, 1.2, "of the inside", least=1.1 * FEED_RADIUS),
            _HORN_WALL,
            Fixed(name="lens.permittivity", value=_PERMITTIVITY, why="cross-linked polystyrene"),
            Fixed(name="lens.loss_tangent", value=6.6e-4, why="at the design frequency"),
            Gene(name="lens.edge", best=0.08, low=0.04, high=0.3, why="thickness of the rim"),
        ),
        goals=(("s11_db", "at_most", -12.0, 0.5), ("sidelobe_db", "at_most", -17.0, 0.5)),
    )


def _length(name: str, best: float, low: float, high: float, why: str, *, least: float = 0.0) -> Gene:
    """Return a length with a range of shares of it, no smaller than a limit."""
    best = max(best, 1.02 * least)
    return Gene(name=name, best=best, low=max(low * best, least), high=high * best, why=why)


RULES = {
    "hemispherical_lens": Rule(lowest=12.0, highest=26.0, make=_hemispherical_lens),
    "shaped_lens": Rule(lowest=12.0, highest=26.0, make=_shaped_lens),
    "shell_lens": Rule(lowest=12.0, highest=26.0, make=_shell_lens),
    "conical_horn": Rule(lowest=10.0, highest=28.0, make=_conical_horn),
    "profile_horn": Rule(lowest=10.0, highest=28.0, make=_profile_horn),
    "spline_horn": Rule(lowest=10.0, highest=28.0, make=_spline_horn),
    "dual_mode_horn": Rule(lowest=12.5, highest=26.0, make=_dual_mode_horn),
    "corrugated_horn": Rule(lowest=11.0, highest=25.0, make=_corrugated_horn),
    "lens_horn": Rule(lowest=13.0, highest=26.0, make=_lens_horn),
    "choke_ring_feed": Rule(lowest=7.0, highest=9.5, make=_choke_ring_feed),
    "dielectric_rod": Rule(lowest=11.0, highest=18.0, make=_dielectric_rod),
}
"""By family; a family that has none has nothing to search, or no closed form here."""
