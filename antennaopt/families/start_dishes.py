"""Starts of dishes, from closed forms. Gains G are ratios over an isotropic antenna.

References:
    Balanis, Antenna Theory, 4th ed., ch. 15; Hannan, IRE Trans. Antennas Propag. 9 (1961) 140 (Cassegrain).
"""

from __future__ import annotations

import math

from antennaopt.families.start import FEED_RADIUS, HORN_WALL, WALL, Fixed, Gene, Start, aperture, around

_METAL = Fixed(name="reflector.thickness", value=2 * WALL, why="of the metal", unit="lam")
_GOALS = (("s11_db", "at_most", -12.0, 0.5), ("sidelobe_db", "at_most", -15.0, 0.5))


def reflector(gain: float) -> Start:
    """Return the start of a paraboloid with an open waveguide in its focus."""
    d = aperture(gain, 0.55)
    return Start(
        about=(
            f"G = 0.55 (pi d)^2 gives a dish of d = {d:.3g} wavelengths; an open waveguide lights one of F/D = 0.35 to",
            "about -10 dB at its rim. The feed stands in the beam.",
        ),
        entries=(
            around("reflector.diameter", d, 0.9, 1.15, "of the reflecting surface"),
            Gene(name="reflector.focal_ratio", best=0.35, low=0.28, high=0.5, why="focal ratio F/D", unit=""),
            Gene(name="reflector.defocus", best=0.05, low=-0.15, high=0.25, why="from the focus to the mouth"),
            _METAL,
        ),
        goals=_GOALS,
    )


def cassegrain(gain: float) -> Start:
    """Return the start of a Cassegrain antenna with a conical horn."""
    d, ratio, magnification, horn = aperture(gain, 0.5), 0.4, 2.2, 1.0
    focal, times = ratio * d, magnification * ratio
    half = 2 * math.degrees(math.atan(1 / (4 * times)))
    sub = 0.2 * d
    apart = sub / 2 * (2 * ratio - 1 / (8 * ratio) + 2 * times - 1 / (8 * times))
    return Start(
        about=(
            f"G = 0.5 (pi d)^2 gives a dish of d = {d:.3g} wavelengths, and a fifth of it the sub-reflector. With a",
            f"magnification of {magnification:g} the horn lights a half angle of {half:.3g} degrees to about -10 dB.",
            "The dish's place follows from the foci (Hannan); the tube is long enough for it.",
        ),
        entries=(
            around("horn.length", horn, 0.6, 1.3, "from the feed to the aperture"),
            around("horn.aperture_radius", 27.5 / half, 0.7, 1.2, "of the inside", least=1.05 * FEED_RADIUS),
            HORN_WALL,
            Fixed(name="reflector.feed", value="conical_horn", why="family of the feed"),
            around("reflector.diameter", d, 0.9, 1.15, "of the reflecting surface"),
            Gene(name="reflector.focal_ratio", best=ratio, low=0.35, high=0.45, why="focal ratio F/D", unit=""),
            Gene(name="reflector.defocus", best=0.0, low=-0.2, high=0.2, why="from the feed's focus to its mouth"),
            _METAL,
            around("subreflector.diameter", sub, 0.8, 1.1, "of the hyperboloid"),
            Gene(name="subreflector.magnification", best=magnification, low=1.8, high=2.5, why="M", unit=""),
            Fixed(name="subreflector.thickness", value=2 * WALL, why="of its edge", unit="lam"),
        ),
        goals=_GOALS,
        feed_length=max(1.3 * focal - 0.7 * apart, 1.5),
    )


def ring_focus(gain: float) -> Start:
    """Return the start of a ring-focus antenna with a conical horn."""
    d, ratio, horn, half = aperture(gain, 0.5), 0.3, 1.2, 36.0
    sub = max(0.22 * d, 3.0)
    focal, edge, width = ratio * d, sub / 2 / math.tan(math.radians(half) / 2), (d - sub) / 2
    tip = sub / 2 * (focal / width - width / (4 * focal))
    ring = (edge - tip - math.hypot(sub / 2, tip)) / 2
    return Start(
        about=(
            f"G = 0.5 (pi d)^2 gives a dish of d = {d:.3g} wavelengths, and {sub / d:.2g} of it the sub-reflector,",
            f"whose edge the horn lights at {half:g} degrees to about -10 dB. The feed's axis lights the dish's rim,",
            "so the aperture is lit evenly, and nothing comes back into the feed. The tube reaches behind the dish.",
        ),
        entries=(
            around("horn.length", horn, 0.6, 1.3, "from the feed to the aperture"),
            around("horn.aperture_radius", 27.5 / half, 0.75, 1.3, "of the inside", least=1.05 * FEED_RADIUS),
            HORN_WALL,
            Fixed(name="reflector.feed", value="conical_horn", why="family of the feed"),
            around("reflector.diameter", d, 0.9, 1.15, "of the reflecting surface"),
            Gene(name="reflector.focal_ratio", best=ratio, low=0.26, high=0.36, why="focal ratio F/D", unit=""),
            Gene(name="reflector.defocus", best=0.0, low=-0.2, high=0.2, why="from the feed's focus to its mouth"),
            _METAL,
            around("subreflector.diameter", sub, 0.85, 1.15, "of the sub-reflector and the ring"),
            Gene(name="subreflector.half_angle", best=half, low=30.0, high=44.0, why="of its edge, degrees", unit=""),
            Fixed(name="subreflector.thickness", value=2 * WALL, why="over the ellipse", unit="lam"),
        ),
        goals=_GOALS,
        feed_length=max(1.4 * focal - 0.7 * ring, 1.5),
    )


def splash_plate(gain: float) -> Start:
    """Return the start of a splash-plate antenna."""
    d, ratio = aperture(gain, 0.5), 0.27
    return Start(
        about=(
            f"G = 0.5 (pi d)^2 gives a dish of d = {d:.3g} wavelengths; a deep one of F/D = 0.27 catches what a plate",
            "a third of a wavelength in front of the guide sends back. The cone turns the wave outwards.",
        ),
        entries=(
            around("reflector.diameter", d, 0.9, 1.15, "of the reflecting surface"),
            Gene(name="reflector.focal_ratio", best=ratio, low=0.2, high=0.3, why="focal ratio F/D", unit=""),
            Gene(name="reflector.defocus", best=0.35, low=-0.1, high=0.6, why="from the plate to the focus"),
            _METAL,
            Gene(name="plate.diameter", best=2.5, low=1.8, high=3.0, why="of the plate"),
            Gene(name="plate.distance", best=0.35, low=0.32, high=0.75, why="from the mouth to the plate"),
            Fixed(name="plate.thickness", value=2 * WALL, why="of the metal", unit="lam"),
            Gene(name="plate.cone_height", best=0.15, low=0.05, high=0.3, why="of the cone on the plate"),
            Gene(name="plate.cone_radius", best=0.3, low=0.1, high=0.5, why="of the cone on the plate"),
        ),
        goals=_GOALS,
        feed_length=max(0.36 * d, 1.5),
    )
