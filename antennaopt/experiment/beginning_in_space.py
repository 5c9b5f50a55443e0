"""Contents of experiment files of `antennaopt new` for antennas in three dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scipy.constants import c

from antennaopt.families import SPATIAL


@dataclass(frozen=True, kw_only=True)
class InSpace:
    """What the file of a family has.

    Attributes:
        lowest: Gain that such an antenna can have, dBi.
        highest: The same.
        half_band: From the middle of the band to its ends, over the middle.
        about: Lines on ranges and first design.
        tables: Returns the tables of [antenna] for a wavelength, m, and a gain, dBi.
        solver: Lines of [solver] after the frequencies, for a wavelength.
        reflection: Goal for S11 over the band, dB.
        certificate: Line on it where it is off; empty where it is on.
        evolution: Last lines of [evolution].
    """

    lowest: float
    highest: float
    half_band: float
    about: tuple[str, ...]
    tables: Callable[[float, float], list[str]]
    solver: Callable[[float], list[str]]
    reflection: float = -10.0
    certificate: str = ""
    evolution: tuple[str, ...] = ('algorithm = "auto"    # `antennaopt validate FILE` says which',)


def _begun(family: str, lam: float, given: Mapping[str, float] | None = None) -> Mapping[str, float]:
    """Return the first design of a family's closed form, made from what is given, SI, by dotted name."""
    spatial = SPATIAL[family].spatial
    if spatial is None:
        raise KeyError(family)
    return spatial.start(given or {}, c / lam)


PERMITTIVITY, LOSS = 2.2, 9e-4
THICKNESS = 0.03
"""Of a patch's substrate, wavelengths: thick enough for a band of some 3 %."""
MARGIN = 0.15

PIN, LARGEST_PIN = 0.02, 0.65e-3
"""Radius of the pin, wavelengths, and that of the pin of an SMA connector, m, which no pin is thicker than here."""
FARTHEST = 0.37
"""Of the pin from the centre, lengths of the patch; the whole pin is below the shortest patch."""


def _thickness(lam: float) -> float:
    return float(f"{THICKNESS * lam * 1e3:.3g}") * 1e-3


def _laminate(lam: float) -> list[str]:
    return [
        "[antenna.substrate]    # a laminate such as RT/duroid 5880; write that of yours",
        f"permittivity = {PERMITTIVITY:g}",
        f"loss_tangent = {LOSS:g}",
        f"thickness = {_mm(_thickness(lam))}    # {THICKNESS:g} lam",
        f"margin = {_mm(MARGIN * lam)}    # of substrate and ground round the metal",
        "",
    ]


def _probe(lam: float, long: float, *, feeds: str, where: str) -> list[str]:
    return [
        f"[antenna.feed]    # a pin from below, 50 ohm; {feeds}",
        'kind = "probe"',
        f"offset = {_range(0.05 * long, FARTHEST * long)}    # from the centre{where}",
        f"radius = {_mm(min(PIN * lam, LARGEST_PIN))}    # of your pin; without it S11 does not converge",
    ]


def _size(lam: float) -> tuple[float, float]:
    """Return length and width of the closed form's patch, m."""
    made = _begun("patch", lam, {"substrate.permittivity": PERMITTIVITY, "substrate.thickness": _thickness(lam)})
    return made["patch.length"], made["patch.width"]


def _patch(lam: float, _: float) -> list[str]:
    long, wide = _size(lam)
    return [
        *_laminate(lam),
        "[antenna.patch]",
        f"length = {_range(0.9 * long, 1.1 * long)}    # along x, which resonates",
        f"width = {_range(0.7 * wide, 1.3 * wide)}",
        "",
        *_probe(lam, long, feeds='"inset" and "edge" are lines', where=""),
    ]


def _pixels(lam: float, _: float) -> list[str]:
    long, wide = _size(lam)
    return [
        *_laminate(lam),
        "[antenna.pixels]    # as seen from above; the lower half is the mirror image of the upper",
        f"length = {_range(0.9 * long, 1.2 * long)}    # of the grid along x",
        f"width = {_range(0.7 * wide, 1.3 * wide)}",
        "columns = 6",
        "rows = 6",
        'mirror = "y"',
        "metal = { count = 18, choices = [0, 1] }    # row by row",
        "",
        *_probe(lam, long, feeds='"edge" is a line', where="; the pixel there is metal"),
    ]


def _dipole(lam: float, _: float) -> list[str]:
    made = _begun("strip_dipole", lam)
    long, high = made["dipole.length"], made["reflector.height"]
    return [
        "[antenna.dipole]",
        f"length = {_range(0.8 * long, 1.1 * long)}    # along x, the gap included",
        f"width = {_range(0.02 * lam, 0.15 * lam)}    # wide strips have wide bands",
        f"gap = {_mm(0.02 * lam)}    # in the middle; the port fills it, 50 ohm",
        "",
        "[antenna.reflector]    # without this table the dipole radiates to both sides, with 2 dBi",
        f"height = {_range(0.5 * high, 1.2 * high)}    # of the strip over it",
        f"length = {_mm(lam)}",
        f"width = {_mm(lam)}",
    ]


RESONATOR = 10.2
"""Permittivity of the resonator: a laminate such as RT/duroid 6010, or a ceramic."""
LINES, SHEET = 3.55, 0.016
"""Permittivity and thickness, wavelengths, of the substrate below the resonator's ground."""


def _resonator(lam: float, _: float) -> list[str]:
    given = {"resonator.radius": 1.0, "resonator.height": 1.0, "resonator.permittivity": RESONATOR}
    below = {"substrate.permittivity": LINES, "substrate.thickness": SHEET * lam, "feed.kind": 1.0}
    made = _begun("dielectric_resonator", lam, given | below)
    slot, stub = made["feed.slot_length"], made["feed.stub_length"]
    return [
        "[antenna.resonator]    # of a ceramic or a laminate; write the permittivity of yours",
        'shape = "cylinder"    # or "block"',
        f"permittivity = {RESONATOR:g}",
        "loss_tangent = 0.002",
        f"radius = {_range(0.7 * made['resonator.radius'], 1.4 * made['resonator.radius'])}",
        f"height = {_range(0.6 * made['resonator.height'], 1.4 * made['resonator.height'])}",
        "",
        "[antenna.ground]",
        f"length = {_mm(lam)}",
        f"width = {_mm(lam)}",
        "",
        "[antenna.substrate]    # below the ground, of the line; a laminate such as RO4003C",
        f"permittivity = {LINES:g}",
        "loss_tangent = 0.0027",
        f"thickness = {_mm(SHEET * lam)}    # {SHEET:g} lam",
        "",
        '[antenna.feed]    # a line below a slot in the ground; "probe" is a pin',
        'kind = "slot"',
        f"slot_length = {_range(0.5 * slot, 1.5 * slot)}",
        f"slot_width = {_mm(made['feed.slot_width'])}",
        f"stub_length = {_range(0.4 * stub, 1.5 * stub)}    # of the line beyond the slot",
        f"line_width = {_mm(made['feed.line_width'])}    # 50 ohm",
        f"line_length = {_mm(0.4 * lam)}    # from the port to the slot",
    ]


GUIDE, WALL = 0.76, 0.042
"""Width of a horn's guide and thickness of its walls, wavelengths: those of WR-90 at 10 GHz."""
EFFICIENCY = 0.51
"""Of an optimum horn's aperture: Balanis, Antenna Theory, 4th ed., sec. 13.4.3."""


def _horn(lam: float, gain_dbi: float) -> list[str]:
    from scipy.optimize import brentq

    wide, high = GUIDE * lam, GUIDE * lam / 2

    def optimum(length: float) -> tuple[float, float]:
        made = _begun("pyramidal_horn", lam, {"feed.width": wide, "feed.height": high, "horn.length": length})
        return made["horn.width"], made["horn.height"]

    def gain_missed(length: float) -> float:
        return 10 * math.log10(EFFICIENCY * 4 * math.pi * math.prod(optimum(length)) / lam**2) - gain_dbi

    length = float(brentq(gain_missed, 1e-3 * lam, 1e3 * lam))  # type: ignore[arg-type]
    across, up = optimum(length)
    return [
        "[antenna.feed]    # WR-90 is 22.86 x 10.16 mm; write the inside of your guide",
        f"width = {_mm(wide)}    # {GUIDE:g} lam, along y",
        f"height = {_mm(high)}    # along x, the direction of E",
        f"length = {_mm(lam)}    # in drawings and solids",
        "",
        "[antenna.horn]",
        f"length = {_range(0.6 * length, 1.3 * length)}",
        f"width = {_range(max(0.8 * across, wide), 1.25 * across)}    # of the aperture along y, in the H plane",
        f"height = {_range(max(0.8 * up, high), 1.25 * up)}    # along x, in the E plane",
        f"wall = {_mm(WALL * lam)}",
    ]


_ABOUT_PATCHES = (
    "Ranges are about the patch of the transmission-line model (Balanis, Antenna Theory, section 14.2), which",
    "the search begins with. Any patch has about that gain; the goal to work for is the match over the band.",
)


def _patch_cells(lam: float) -> list[str]:
    return [f"cell = {_mm(_thickness(lam))}    # at edges of metal", "pml_cells = 8"]


FILES = {
    "patch": InSpace(
        lowest=5.0,
        highest=8.5,
        half_band=0.01,
        about=_ABOUT_PATCHES,
        tables=_patch,
        solver=_patch_cells,
    ),
    "pixel_patch": InSpace(
        lowest=5.0,
        highest=8.5,
        half_band=0.01,
        about=_ABOUT_PATCHES,
        tables=_pixels,
        solver=_patch_cells,
        certificate='certificate = "off"    # S11 of pixels moves by more than the limit of 0.02 from mesh to mesh',
        evolution=(
            'crossover = { kind = "uniform" }',
            'mutation = { kind = "gaussian", sigma = 0.4, probability = 0.08 }    # wide: pixels have two values',
        ),
    ),
    "strip_dipole": InSpace(
        lowest=6.0,
        highest=8.5,
        half_band=0.08,
        about=(
            "Ranges are about a dipole of 0.475 wavelengths a quarter over a reflector (Balanis, Antenna Theory,",
            "section 4.6), which the search begins with. The goal to work for is the match over the band.",
        ),
        tables=_dipole,
        solver=lambda lam: [f"cell = {_mm(0.02 * lam)}    # at edges of metal"],
    ),
    "dielectric_resonator": InSpace(
        lowest=4.5,
        highest=7.5,
        half_band=0.03,
        about=(
            "Ranges are about a cylinder as high as its radius that resonates at the frequency (Mongia, 1994),",
            "over a slot and a line by the usual first choices. The search begins with it. Any such resonator has",
            "about that gain; the goal to work for is the match over the band.",
        ),
        tables=_resonator,
        solver=lambda lam: [f"cell = {_mm(SHEET * lam)}    # at edges of metal"],
    ),
    "pyramidal_horn": InSpace(
        lowest=10.0,
        highest=20.0,
        half_band=0.05,
        about=(
            "Ranges are about the optimum horn of that gain (Balanis, Antenna Theory, section 13.4.3). The search",
            "begins with it.",
        ),
        tables=_horn,
        solver=lambda _: ["cells_per_wavelength = 15    # in the densest medium, at the highest frequency"],
        reflection=-20.0,
        certificate='certificate = "off"    # S11 on staircases moves by more than the limit of 0.02 from mesh to mesh',
    ),
}
"""Families that have such files."""


def _range(low: float, high: float) -> str:
    return f"{{ min = {_mm(low)}, max = {_mm(high)} }}"


def _mm(metres: float) -> str:
    return f'"{float(f"{metres * 1e3:.4g}"):g} mm"'
