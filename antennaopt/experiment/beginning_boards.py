"""Experiment files of `antennaopt new` for antennas on a substrate, which have ports in place of a feed's waveguide."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scipy.constants import c

from antennaopt.families.patch import closed_form
from antennaopt.quantities import format_frequency

PERMITTIVITY, LOSS = 2.2, 9e-4
THICKNESS = 0.03
"""Of the substrate, wavelengths: thick enough for a band of some 3 %."""
MARGIN = 0.15
HALF_BAND = 0.01
GAINS = (5.0, 8.5)
"""dBi that a patch on such a substrate and a small ground can have."""


PIN, LARGEST_PIN = 0.02, 0.65e-3
"""Radius of the pin, wavelengths, and that of the pin of an SMA connector, m, which no pin is thicker than here."""
FARTHEST = 0.37
"""Of the pin from the centre, lengths of the patch; the whole pin is below the shortest patch."""


def _pin(lam: float) -> str:
    return f"radius = {_mm(min(PIN * lam, LARGEST_PIN))}    # of your pin; without it S11 does not converge"


def _patch(made: Mapping[str, float], lam: float) -> list[str]:
    long, wide = made["patch.length"], made["patch.width"]
    return [
        "[antenna.patch]",
        f"length = {_range(0.9 * long, 1.1 * long)}    # along x, which resonates",
        f"width = {_range(0.7 * wide, 1.3 * wide)}",
        "",
        '[antenna.feed]    # a pin from below, 50 ohm; "inset" and "edge" are lines',
        'kind = "probe"',
        f"offset = {_range(0.05 * long, FARTHEST * long)}    # from the centre",
        _pin(lam),
    ]


def _pixels(made: Mapping[str, float], lam: float) -> list[str]:
    long, wide = made["patch.length"], made["patch.width"]
    return [
        "[antenna.pixels]    # as seen from above; the lower half is the mirror image of the upper",
        f"length = {_range(0.9 * long, 1.2 * long)}    # of the grid along x",
        f"width = {_range(0.7 * wide, 1.3 * wide)}",
        "columns = 6",
        "rows = 6",
        'mirror = "y"',
        "metal = { count = 18, choices = [0, 1] }    # row by row",
        "",
        '[antenna.feed]    # a pin from below, 50 ohm; "edge" is a line',
        'kind = "probe"',
        f"offset = {_range(0.05 * long, FARTHEST * long)}    # from the centre; the pixel there is metal",
        _pin(lam),
    ]


TABLES: dict[str, tuple[str, Callable[[Mapping[str, float], float], list[str]], tuple[str, ...]]] = {
    "patch": ("Patch", _patch, ('algorithm = "auto"    # `antennaopt validate FILE` says which',)),
    "pixel_patch": (
        "Pixel patch",
        _pixels,
        (
            'crossover = { kind = "uniform" }',
            'mutation = { kind = "gaussian", sigma = 0.4, probability = 0.08 }    # wide: pixels have two values',
        ),
    ),
}
"""Families that have such files: title, tables from closed form and wavelength, lines of [evolution]."""


def board_text(family: str, hz: float, gain_dbi: float) -> str:
    """Return the text of an experiment file.

    Args:
        family: One of `TABLES`.
        hz: In the middle of the band.
        gain_dbi: Goal on axis, dBi.
    """
    lam = c / hz
    title, tables, evolution = TABLES[family]
    thickness = float(f"{THICKNESS * lam * 1e3:.3g}") * 1e-3
    made = closed_form({"substrate.permittivity": PERMITTIVITY, "substrate.thickness": thickness}, hz)
    frequencies = [format_frequency(float(f"{hz * share:.6g}")) for share in (1 - HALF_BAND, 1.0, 1 + HALF_BAND)]
    lines = [
        f"# {title} of {gain_dbi:g} dBi at {format_frequency(hz)}.",
        "# Run it with `antennaopt run FILE`; `--dry-run` shows its cost on your machine. The search chooses within",
        "# every range; single values stay. Change any of them.",
        "#",
        "# Ranges are about the patch of the transmission-line model (Balanis, Antenna Theory, section 14.2), which",
        "# the search begins with. Any patch has about that gain; the goal to work for is the match over the band.",
        f"# Wavelength lam = {lam * 1e3:.5g} mm.",
        "",
        f'title = "{title}, {gain_dbi:g} dBi at {format_frequency(hz)}"',
        "seed = 1",
        'certificate = "off"    # S11 of a resonance moves by more than the limit of 0.02 from mesh to mesh',
        "",
        "[antenna]",
        f'family = "{family}"',
        "",
        "[antenna.substrate]    # a laminate such as RT/duroid 5880; write that of yours",
        f"permittivity = {PERMITTIVITY:g}",
        f"loss_tangent = {LOSS:g}",
        f"thickness = {_mm(thickness)}    # {THICKNESS:g} lam",
        f"margin = {_mm(MARGIN * lam)}    # of substrate and ground round the metal",
        "",
        *tables(made, lam),
        "",
        "[solver]",
        "frequencies = [" + ", ".join(f'"{one}"' for one in frequencies) + "]",
        f"cell = {_mm(thickness)}    # at edges of metal",
        "pml_cells = 8",
        "",
        "[evolution]",
        "population = 24",
        "generations = 12",
        "stop = { fitness = 0.0 }",
        'start = "balanis"    # the closed form; the others are drawn at random',
        *evolution,
        "",
        "[[objective]]    # over the whole band",
        'metric = "s11_db"',
        "at_most = -10",
        "",
        "[[objective]]",
        'metric = "gain_dbi"',
        f"at_least = {gain_dbi:g}",
        "weight = 0.5",
    ]
    return "\n".join(lines) + "\n"


def _range(low: float, high: float) -> str:
    return f"{{ min = {_mm(low)}, max = {_mm(high)} }}"


def _mm(metres: float) -> str:
    return f'"{float(f"{metres * 1e3:.4g}"):g} mm"'
