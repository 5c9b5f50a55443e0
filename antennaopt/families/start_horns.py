"""Starts of horns and feeds of metal, from closed forms. Gains G are ratios over an isotropic antenna.

References:
    Balanis, Antenna Theory, 4th ed., ch. 13; Granet and James, IEEE Antennas Propag. Mag. 47 (2005) no. 2, 76
    (corrugations); Potter, Microwave J. 6 (1963) 71 (dual mode); Silver, Microwave Antenna Theory and Design (1949),
    ch. 11 (lenses of equal paths).
"""

from __future__ import annotations

import math

from antennaopt.families.start import (
    FEED_RADIUS,
    HORN_WALL,
    LOBES,
    MATCHED,
    POLYSTYRENE,
    PURE,
    Fixed,
    Gene,
    Start,
    aperture,
    around,
)


def optimum_horn(gain: float) -> tuple[float, float]:
    """Return diameter and length of the optimum conical horn, wavelengths.

    A fit to full-wave solutions of 48 lengths (docs/gallery/horn_atlas.py), within 0.34 dB from 10.5 to 23.4 dBi and
    0.2 dB high at 27 dBi. The feed's radius is 0.36, and the length counts from the throat to the mouth.
    """
    d = (0.7377 + math.sqrt(0.7377**2 + 4 * 5.4544 * (gain - 4.4303))) / (2 * 5.4544)
    return d, 0.3204 * d**2 - 0.1883 * d - 0.0875


def conical_horn(gain: float) -> Start:
    """Return the start of a conical horn."""
    d, length = optimum_horn(gain)
    return _cone(
        d,
        length,
        f"Optimum horn: G = 5.4544 d^2 - 0.7377 d + 4.4303 gives d = {d:.3g} wavelengths, and",
        f"l = 0.3204 d^2 - 0.1883 d - 0.0875 = {length:.3g} wavelengths from the throat to the mouth. The fit is",
        "within 0.34 dB of full-wave solutions; the gallery has the atlas of conical horns.",
    )


def balanis_horn(gain: float) -> Start:
    """Return the start of a conical horn after Balanis."""
    d = (0.6451 + math.sqrt(0.6451**2 + 4 * 5.1572 * (gain - 1.3645))) / (2 * 5.1572)
    apex = 0.3232 * d**2 - 0.0475 * d + 0.0052
    return _cone(
        d,
        apex * (1 - 2 * FEED_RADIUS / d),
        f"Optimum horn: G = 5.1572 d^2 - 0.6451 d + 1.3645 gives d = {d:.3g} wavelengths, and",
        f"L = 0.3232 d^2 - 0.0475 d + 0.0052 = {apex:.3g} wavelengths from the apex (Balanis, eq. 13-57).",
    )


def _cone(d: float, length: float, *about: str) -> Start:
    return Start(
        about=about,
        entries=(
            around("horn.length", length, 0.4, 1.8, "from the feed to the aperture", least=0.3),
            around("horn.aperture_radius", d / 2, 0.8, 1.25, "of the inside", least=1.05 * FEED_RADIUS),
            HORN_WALL,
        ),
        goals=(MATCHED, ("sidelobe_db", "at_most", -12.0, 0.5)),
    )


def _smooth(gain: float) -> tuple[float, float, tuple[str, ...]]:
    d = aperture(gain, 0.6)
    length = max(0.4 * d**2, 0.8)
    about = (
        f"G = 0.6 (pi d)^2 gives an aperture of d = {d:.3g} wavelengths; a length of 0.4 d^2 (at least 0.8",
        "wavelengths) keeps the phase over it within an eighth of a period or so.",
    )
    return d, length, about


def profile_horn(gain: float) -> Start:
    """Return the start of a profile horn."""
    d, length, about = _smooth(gain)
    return Start(
        about=about,
        entries=(
            around("horn.length", length, 0.5, 1.6, "from the feed to the aperture"),
            around("horn.aperture_radius", d / 2, 0.85, 1.2, "of the inside", least=1.05 * FEED_RADIUS),
            HORN_WALL,
            Fixed(name="horn.curve", value="sinusoid", why="sine to the power rho, a share A of it; see the guide"),
            Gene(name="horn.amplitude", best=0.8, low=0.3, high=1.0, why="A: 0 is a cone", unit=""),
            Gene(name="horn.rho", best=1.5, low=0.6, high=3.0, why="exponent rho", unit=""),
        ),
        goals=(MATCHED, LOBES, PURE),
    )


def spline_horn(gain: float) -> Start:
    """Return the start of a spline horn."""
    d, length, about = _smooth(gain)
    count = 6
    rise = d / 2 - FEED_RADIUS
    radii = tuple(FEED_RADIUS + rise * math.sin(math.pi / 2 * (at + 1) / count) ** 1.5 for at in range(count))
    return Start(
        about=about,
        entries=(
            around("horn.length", length, 0.5, 1.6, "from the feed to the aperture"),
            Gene(
                name="horn.radii",
                best=radii,
                low=FEED_RADIUS,
                high=1.2 * d / 2,
                why="at equal steps of z, the last one at the aperture",
            ),
            HORN_WALL,
        ),
        goals=(MATCHED, LOBES, PURE),
    )


_DUAL_MODE_FEED = 0.5


def dual_mode_horn(gain: float) -> Start:
    """Return the start of a dual mode horn."""
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
            around("horn.flare", flare, 0.5, 1.8, "length of the cone"),
            around("horn.aperture_radius", d / 2, 0.85, 1.2, "of the inside", least=0.78),
            HORN_WALL,
        ),
        goals=(MATCHED, LOBES, ("crosspol_db", "at_most", -30.0, 1.0)),
        feed_radius=_DUAL_MODE_FEED,
        about_feed="1.7 times the cutoff of TE11, so that the step reflects little; TM01 may propagate, TM11 does not",
    )


def corrugated_horn(gain: float) -> Start:
    """Return the start of a corrugated horn."""
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
            around("horn.aperture_radius", d / 2, 0.85, 1.2, "of the teeth", least=1.05 * FEED_RADIUS),
            HORN_WALL,
        ),
        goals=(MATCHED, ("sidelobe_db", "at_most", -22.0, 0.5), ("crosspol_db", "at_most", -30.0, 1.0)),
        cells=30.0,
    )  # fmt: skip


def choke_ring_feed(_: float) -> Start:
    """Return the start of a choke ring feed."""
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
        goals=(MATCHED, ("crosspol_db", "at_most", -25.0, 1.0), ("front_to_back_db", "at_least", 25.0, 0.5)),
    )


def lens_horn(gain: float) -> Start:
    """Return the start of a lens horn."""
    d = aperture(gain, 0.55)
    length = max(0.9 * (d / 2 - FEED_RADIUS) / math.tan(math.radians(30)), 0.4)
    return Start(
        about=(
            f"G = 0.55 (pi d)^2 gives an aperture of d = {d:.3g} wavelengths. The horn opens at some 30 degrees to",
            "each side, and the lens in its mouth makes all paths from its apex equally long.",
        ),
        entries=(
            around("horn.length", length, 0.6, 1.8, "from the feed to the mouth"),
            around("horn.aperture_radius", d / 2, 0.85, 1.2, "of the inside", least=1.1 * FEED_RADIUS),
            HORN_WALL,
            Fixed(name="lens.permittivity", value=POLYSTYRENE, why="cross-linked polystyrene"),
            Fixed(name="lens.loss_tangent", value=6.6e-4, why="at the design frequency"),
            Gene(name="lens.edge", best=0.08, low=0.04, high=0.3, why="thickness of the rim"),
        ),
        goals=(("s11_db", "at_most", -12.0, 0.5), ("sidelobe_db", "at_most", -17.0, 0.5)),
    )
