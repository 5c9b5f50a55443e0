"""Results of one antenna for other programs: CSV tables, and one-port Touchstone 1.1 files.

Every CSV column's name carries its unit.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scipy import constants

from antennaopt.families.parameters import cutoff_frequency, te10_cutoff_frequency
from antennaopt.metrics import METRICS
from antennaopt.store.files import storing, write_text

PATTERN_COLUMNS = ("frequency_hz", "theta_deg", "e_plane_dbi", "h_plane_dbi")


def write_csv(path: Path | str, outcome: Mapping[str, Any]) -> list[Path]:
    """Write an antenna's figures of merit to `path` and its patterns next to it, `<stem>_patterns.csv`.

    Args:
        path: The first file, `lens.csv`; replaced when it exists.
        outcome: An `ok` outcome as `evaluate` returns it.

    Returns:
        The files written: one row a frequency, and one row a frequency and angle. An empty cell is a value that is not
        defined (no side lobe, a pattern that never falls by 3 dB).

    Raises:
        StorageError: They cannot be written.
        ValueError: The outcome has no frequencies: it was not solved.
    """
    if not outcome.get("frequency_hz"):
        raise ValueError(f"there is nothing to export: the antenna's status is {outcome.get('status')!r}")
    path = Path(path)
    written = [(path, result_rows(outcome))]
    if "e_plane_dbi" in outcome:
        written.append((patterns_file(path), pattern_rows(outcome)))
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    for target, rows in written:
        write_text(target, csv_text(rows))
    return [target for target, _ in written]


def patterns_file(path: Path) -> Path:
    """Return where the patterns go whose figures of merit go to `path`."""
    return path.with_name(f"{path.stem}_patterns{path.suffix or '.csv'}")


def result_rows(outcome: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Return the header and one row a frequency; S11 (`s11_re`, `s11_im`) and waves of modes are linear, exp(+jwt)."""
    present = [name for name in (*METRICS, *(outcome.get("figures") or ())) if outcome.get(name) is not None]
    columns = [outcome[name] for name in present]
    for name, values in waves_of(outcome).items():
        present += [f"{name}_re", f"{name}_im"]
        columns += [[None if one != one else float(getattr(one, part)) for one in values] for part in ("real", "imag")]
    header = ["frequency_hz", "s11_re", "s11_im", *present]
    rows = zip(outcome["frequency_hz"], outcome["s11"], *columns, strict=True)
    return [header, *([hz, *s11, *values] for hz, s11, *values in rows)]


def waves_of(outcome: Mapping[str, Any]) -> dict[str, list[complex]]:
    """Return the waves of all modes reported but S11, over the incident TE11, by name: `TM11_transmitted_0mm`.

    Args:
        outcome: Its `modes`, see `antennaopt.solve.modes`.

    Returns:
        A value a frequency, in the outcome's order; not a number where the mode does not propagate.
    """
    frequencies: Sequence[float] = outcome.get("frequency_hz") or ()
    found: dict[str, list[complex]] = {}
    modes: Sequence[Sequence[Mapping[str, Any]]] = outcome.get("modes") or ()
    for place, waves in enumerate(modes):
        for one in waves:
            if (one["plane"], one["name"], one["direction"]) != (0.0, "TE11", "reflected"):
                name = f"{one['name']}_{one['direction']}_{one['plane'] * 1e3:.9g}mm"
                found.setdefault(name, [complex(math.nan, math.nan)] * len(frequencies))[place] = complex(*one["s"])
    return found


def pattern_rows(outcome: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Return the header and one row a frequency and angle, co-polar directivity in dBi of both principal planes."""
    rows: list[Sequence[Any]] = [PATTERN_COLUMNS]
    cuts = zip(outcome["frequency_hz"], outcome["e_plane_dbi"], outcome["h_plane_dbi"], strict=True)
    for hz, e_plane, h_plane in cuts:
        angles = zip(outcome["theta_deg"], e_plane, h_plane, strict=True)
        rows += [(hz, theta, e_level, h_level) for theta, e_level, h_level in angles]
    return rows


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV (RFC 4180 quoting, line feeds), numbers to their last bit, None as an empty cell."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(
        [repr(float(value)) if isinstance(value, float) else value for value in row] for row in rows
    )
    return buffer.getvalue()


VACUUM_IMPEDANCE = math.sqrt(constants.mu_0 / constants.epsilon_0)

HEADER = """\
S11 of the TE11 mode of the circular waveguide, reference plane z = 0 (aperture), time convention exp(+jwt).
The waves are normalised to the mode's own wave impedance, which varies with frequency;
R in the option line is the format's formality and does not enter the numbers."""

GUIDE_HEADER = """\
S11 of the TE10 mode of the rectangular guide, reference plane z = 0 (where the guide ends), time convention exp(+jwt).
The waves are normalised to the mode's own wave impedance, which varies with frequency;
R in the option line is the format's formality and does not enter the numbers."""

PORT_HEADER = """\
S11 of a lumped port, time convention exp(+jwt); the reference is the port's resistance, R in the option line."""


def write_touchstone(
    path: Path | str,
    outcome: Mapping[str, Any],
    *,
    title: str = "",
    feed_radius: float | None = None,
    resistance: float | None = None,
    feed_width: float | None = None,
) -> Path:
    """Write S11 as a one-port Touchstone 1.1 file, real and imaginary parts, frequencies in Hz and ascending.

    Args:
        path: Target; `.s1p` is added when it has no such ending.
        outcome: An `ok` outcome as `evaluate` returns it; its `sweep`, where there is one, is written too.
        title: First line of the file's comments.
        feed_radius: Inner radius of the waveguide, m; when given, the TE11 wave impedance that the reference stands
            for is listed in the comments.
        resistance: Of a port that is no waveguide, ohm: the reference of S11.
        feed_width: Broad side of a rectangular waveguide, m; when given, the TE10 wave impedance is listed.

    Returns:
        The file written.

    Raises:
        StorageError: It cannot be written.
        ValueError: The outcome has no S11: it was not solved.
    """
    points = reflection_points(outcome)
    if not points:
        raise ValueError(f"there is no S11 to export: the antenna's status is {outcome.get('status')!r}")
    path = touchstone_file(Path(path))
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    text = touchstone_text(points, title=title, feed_radius=feed_radius, resistance=resistance, feed_width=feed_width)
    write_text(path, text + "".join(f"{line}\n" for line in mode_lines(outcome)))
    return path


def reference_of(design: Mapping[str, float]) -> dict[str, float | None]:
    """Return what `write_touchstone` needs of a design: radius or width of an air-filled guide, or a resistance."""
    filled = design.get("feed.permittivity", 1.0) != 1.0
    return {
        "feed_radius": None if filled else design.get("feed.inner_radius"),
        "resistance": design.get("feed.resistance"),
        "feed_width": design.get("feed.width"),
    }


def mode_lines(outcome: Mapping[str, Any]) -> list[str]:
    """Return the waves of all modes reported as comments of a Touchstone file; none where there is only S11.

    A port for each mode would want its own column of S, and only TE11 is excited. Each block names a wave and has its
    s = wave over the incident TE11, with the file's columns.

    Args:
        outcome: Its `modes`, see `antennaopt.solve.modes`.
    """
    waves: dict[tuple[float, str, str], list[str]] = {}
    frequencies: Sequence[float] = outcome.get("frequency_hz") or ()
    modes: Sequence[Sequence[Mapping[str, Any]]] = outcome.get("modes") or [()] * len(frequencies)
    for hz, found in sorted(zip(frequencies, modes, strict=True), key=lambda pair: pair[0]):
        for one in found:
            key = (one["plane"], one["name"], one["direction"])
            if key != (0.0, "TE11", "reflected"):
                real, imaginary = one["s"]
                waves.setdefault(key, []).append(f"!   {hz:.12g} {real:+.12e} {imaginary:+.12e}")
    lines = []
    for (plane, name, direction), rows in sorted(waves.items()):
        lines += [f"! mode {name} plane {plane * 1e3:.9g} mm {direction}: frequency_hz  s_re  s_im", *rows]
    return lines


def touchstone_file(path: Path) -> Path:
    """Return a path with the ending of a one-port file, added where it has none."""
    return path if path.suffix.lower() == ".s1p" else path.with_name(path.name + ".s1p")


def reflection_points(outcome: Mapping[str, Any]) -> list[tuple[float, float, float]]:
    """Return (Hz, real, imaginary) of S11 at the requested frequencies and of the sweep, ascending, none twice."""
    points: dict[float, tuple[float, float]] = {}
    for source in (outcome.get("sweep"), outcome):
        for hz, pair in zip((source or {}).get("frequency_hz") or (), (source or {}).get("s11") or (), strict=True):
            points[float(hz)] = (float(pair[0]), float(pair[1]))
    return [(hz, *points[hz]) for hz in sorted(points)]


def touchstone_text(
    points: Sequence[tuple[float, float, float]],
    *,
    title: str = "",
    feed_radius: float | None = None,
    resistance: float | None = None,
    feed_width: float | None = None,
) -> str:
    """Return the text of a one-port file.

    Args:
        points: (Hz, real, imaginary), ascending.
        title: First comment.
        feed_radius: See `write_touchstone`, m.
        resistance: See `write_touchstone`, ohm.
        feed_width: See `write_touchstone`, m.

    References:
        EIA/IBIS Open Forum, Touchstone File Format Specification 1.1: option line, order of frequencies.
    """
    header = GUIDE_HEADER if feed_width is not None else HEADER if resistance is None else PORT_HEADER
    comments = [line for line in title.splitlines() if line.strip()] + header.splitlines()
    ends = sorted({points[0][0], points[len(points) // 2][0], points[-1][0]})
    cutoffs = {}
    if feed_radius is not None:
        cutoffs["TE11"] = cutoff_frequency(feed_radius, 1, "TE")
    if feed_width is not None:
        cutoffs["TE10"] = te10_cutoff_frequency(feed_width)
    for mode, cutoff in cutoffs.items():
        comments += [
            f"{mode} wave impedance at {hz / 1e9:.6g} GHz: {wave_impedance(hz, mode, cutoff):.2f} ohm" for hz in ends
        ]
    lines = [f"! {_ascii(line)}" for line in comments]
    lines += [f"# Hz S RI R {50 if resistance is None else resistance:g}", "! frequency_hz  s11_re  s11_im"]
    lines += [f"{hz:.12g} {real:+.12e} {imaginary:+.12e}" for hz, real, imaginary in points]
    return "\n".join(lines) + "\n"


def wave_impedance(frequency_hz: float, mode: str, cutoff_hz: float) -> float:
    """Return the wave impedance of a TE mode in an air-filled waveguide above its cutoff, ohm.

    References:
        Pozar, Microwave Engineering, 4th ed., sections 3.3 and 3.4: Z_TE = k eta / beta.
    """
    if frequency_hz <= cutoff_hz:
        raise ValueError(
            f"{frequency_hz / 1e9:g} GHz does not propagate: {mode} is cut off below {cutoff_hz / 1e9:.4g} GHz"
        )
    return VACUUM_IMPEDANCE / math.sqrt(1.0 - (cutoff_hz / frequency_hz) ** 2)


def _ascii(line: str) -> str:
    """Return a line in ASCII, which alone the format allows."""
    return line.encode("ascii", "replace").decode()
