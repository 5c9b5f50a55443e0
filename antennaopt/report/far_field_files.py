"""Far fields as files of other programs: GRASP, CST, Feko, MSI Planet, netCDF.

GRASP's files and Feko's gain columns hold directivity or gain whatever the mismatch; CST's and Feko's fields and netCDF
are those of an incident wave of 1 W. `docs/guide/results.md` has a table.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.io import netcdf_file

from antennaopt import __version__
from antennaopt.errors import ConfigurationError
from antennaopt.figures import LINEAR
from antennaopt.quantities import format_frequency
from antennaopt.report.far_field import IMPEDANCE, FarField
from antennaopt.solve.cuts import sphere_angles
from antennaopt.store.files import write_atomically
from fdtd.farfield import decibels, half_power_beamwidth
from fdtd.farfield.polarisation import components
from fdtd.farfield.waves import spherical_waves

CUT_ANGLES_DEG = (0.0, 45.0, 90.0, 135.0)
"""Angles phi of the cuts of a GRASP file."""


def cut_text(field: FarField) -> str:
    """Return a GRASP cut file: polar cuts theta = -180 ... 180 degrees, total power 4 pi.

    Of a linear antenna co and cross after Ludwig's third definition, along x (ICOMP 3); of a circular one the right-
    and the left-hand component (ICOMP 2). All cuts of a frequency come before those of the next one.

    References:
        TICRA, GRASP technical description, "Field data in cuts".
    """
    theta = field.theta_deg
    lines = []
    in_space = field.sphere is not None
    cuts = {phi: field.polar_cut(phi) for phi in CUT_ANGLES_DEG} if field.polarisation == LINEAR or in_space else {}
    for place, hz in enumerate(field.frequency_hz):
        for phi in CUT_ANGLES_DEG:
            c, s = np.cos(np.radians(phi)), np.sin(np.radians(phi))
            if field.polarisation == LINEAR:
                of_theta, of_phi = (one[place] for one in cuts[phi])
                parts, icomp = (of_theta * c - of_phi * s, of_theta * s + of_phi * c), 3
            elif in_space:
                of_theta, of_phi = (one[place] for one in cuts[phi])
                parts, icomp = components(of_theta, of_phi, np.radians(phi), "rhcp"), 2
            else:  # (E_theta +- j E_phi) exp(+-j phi) / sqrt(2)
                e, h = (np.concatenate([one[place, :0:-1], one[place]]) for one in (field.e_plane, field.h_plane))
                way = 1.0 if field.polarisation == "rhcp" else -1.0
                parts, icomp = ((e + h) / 2, (e - h) / 2 * (c - 1j * way * s) ** 2)[:: int(way)], 2
            lines.append(f"{_ascii(field.title)}, {hz / 1e9:.9g} GHz, phi = {phi:g} deg")
            lines.append(f"{-theta[-1]:.10E} {theta[1] - theta[0]:.10E} {2 * len(theta) - 1} {phi:.10E} {icomp} 1 2")
            lines += _numbers(*_parts(*parts))
    return "\n".join(lines) + "\n"


def sph_text(field: FarField) -> str:
    """Return a GRASP file of spherical waves, total power 4 pi; a part a frequency.

    The file holds Q' = conj(Q) / sqrt(8 pi) of the coefficients of `fdtd.farfield.waves`, so that the power of an
    azimuthal index is half of the sum of |Q'|^2.

    Raises:
        ConfigurationError: The antenna is no body of revolution.

    References:
        TICRA, GRASP technical description, "Spherical wave expansion (SWE) Q-coefficients".
    """
    if field.sphere is not None:
        raise ConfigurationError("--sph holds waves of bodies of revolution here; use --cut, --ffs, --ffe or --netcdf")
    lines = []
    for place, hz in enumerate(field.frequency_hz):
        first, second = (
            np.conj(q) / np.sqrt(8.0 * np.pi) for q in spherical_waves(field.e_plane[place], field.h_plane[place])
        )
        degrees = len(first)
        samples = 2 * (len(field.theta_deg) - 1)
        lines += [
            f"antennaopt {__version__}",
            f"{_ascii(field.title)}, {hz / 1e9:.9g} GHz",
            f"{samples:6d} {4:5d} {degrees:5d} {1:5d}",
            f"frequency {hz / 1e9:.9g} GHz",
            f" {0.0:.5f} {180.0:.5f} {0.0:.5f} {360.0:.5f} {0.0:.5f}",
            f" {0.0:.5f} {180.0:.5f} {0.0:.5f} {360.0:.5f} {0.0:.5f}",
            "exp(-iwt) coefficients after Hansen",
            "phase reference: axis, z = 0 (aperture of the feed)",
            f"{0:6d} {0.0:23.16E}",
            *_numbers(*[np.zeros(degrees)] * 4),
            f"{1:6d} {(np.abs(first) ** 2 + np.abs(second) ** 2).sum():23.16E}",
        ]
        minus, plus = (_numbers(*_parts(size * first, size * way * second)) for way, size in _orders(field))
        lines += [line for pair in zip(minus, plus, strict=True) for line in pair]
    return "\n".join(lines) + "\n"


def _orders(field: FarField) -> tuple[tuple[int, float], tuple[int, float]]:
    """Return the sign of the second coefficient and the size of the waves m = -1 and +1, which go as exp(-jm phi)."""
    sizes = {LINEAR: (1.0, 1.0), "rhcp": (0.0, math.sqrt(2.0)), "lhcp": (math.sqrt(2.0), 0.0)}[field.polarisation]
    return (-1, sizes[0]), (1, sizes[1])


def ffs_text(field: FarField) -> str:
    """Return a CST far field source of version 3.0: r E in V of 1 W stimulated power, peak values.

    References:
        CST Studio Suite help, "Farfield source file format".
    """
    phi, theta = sphere_angles(), field.theta_deg
    lines = [
        "// CST Farfield Source File", "", "// Version:", "3.0", "", "// Data Type", "Farfield", "",
        "// #Frequencies", str(len(field.frequency_hz)), "",
        "// Position", _vector(0, 0, 0), "", "// zAxis", _vector(0, 0, 1), "", "// xAxis", _vector(1, 0, 0), "",
        "// Radiated/Accepted/Stimulated Power , Frequency",
    ]  # fmt: skip
    for radiated, accepted, hz in zip(field.radiated_w, field.accepted_w, field.frequency_hz, strict=True):
        lines += [f"{radiated:.9e}", f"{accepted:.9e}", f"{1.0:.9e}", f"{hz:.12e}", ""]
    spheres = zip(*field.sphere_volts(), strict=True)
    for of_theta, of_phi in spheres:
        lines += ["", "// >> Total #phi samples, total #theta samples", f"{len(phi)} {len(theta)}", ""]
        lines.append("// >> Phi, Theta, Re(E_Theta), Im(E_Theta), Re(E_Phi), Im(E_Phi):")
        numbers = _numbers(*_parts(of_theta.ravel(), of_phi.ravel()))
        angles = (f"{one:8.3f} {other:8.3f} " for one in phi for other in theta)
        lines += [angle + row for angle, row in zip(angles, numbers, strict=True)]
    return "\n".join(lines) + "\n"


def ffe_text(field: FarField) -> str:
    """Return a Feko far field: r E in V of 1 W incident power, peak values, and gain in dBi.

    References:
        Altair Feko user guide, "ASCII file formats: far field (.ffe)".
    """
    phi, theta = sphere_angles(), field.theta_deg
    names = ("Theta", "Phi", "Re(Etheta)", "Im(Etheta)", "Re(Ephi)", "Im(Ephi)")
    names += ("Gain(Theta)", "Gain(Phi)", "Gain(Total)")
    lines = [
        "##File Type: Far field", "##File Format: 3", f"##Source: {_ascii(field.title)}",
        f"** File exported by antennaopt {__version__}",
    ]  # fmt: skip
    spheres = zip(*field.sphere_volts(), strict=True)
    for place, (hz, sphere) in enumerate(zip(field.frequency_hz, spheres, strict=True)):
        of_theta, of_phi = (one.ravel() for one in sphere)
        scale = 2.0 * np.pi / (IMPEDANCE * max(field.accepted_w[place], 1e-300))
        powers = [scale * np.abs(one) ** 2 for one in (of_theta, of_phi)]
        gains = [decibels(one) for one in (*powers, powers[0] + powers[1])]
        lines += [
            "", "#Request Name: FarField1", f"#Frequency: {hz:.11E}", "#Coordinate System: Spherical",
            f"#No. of Theta Samples: {len(theta)}", f"#No. of Phi Samples: {len(phi)}", "#Result Type: Gain",
            "#No. of Header Lines: 1", "#" + "".join(f"{chr(34) + name + chr(34):>20}" for name in names),
        ]  # fmt: skip
        columns = (np.tile(theta, len(phi)), np.repeat(phi, len(theta)))
        lines += _numbers(*columns, *_parts(of_theta, of_phi), *gains)
    return "\n".join(lines) + "\n"


def msi_text(field: FarField) -> str:
    """Return an MSI Planet file of one frequency: gain, and losses of the H plane (horizontal) and E plane (vertical).

    The antenna looks at the horizon, so its axis is the angle 0 of both planes, and it is polarised vertically.

    Raises:
        ConfigurationError: The field has several frequencies, or angles that leave out whole degrees.

    References:
        MSI Planet antenna file; MathWorks, msiread.
    """
    check_single(field.frequency_hz.tolist())
    per_degree = (len(field.theta_deg) - 1) / 180.0
    if per_degree != round(per_degree):
        raise ConfigurationError(f"--msi holds whole degrees, and the cuts have {per_degree:g} angles a degree")
    linear = field.polarisation == LINEAR
    if field.sphere is None:
        powers = [np.abs(one[0]) ** 2 for one in (field.h_plane, field.e_plane)]
        powers = [np.concatenate([one, one[-2:0:-1]]) for one in (powers if linear else [np.mean(powers, axis=0)] * 2)]
    else:  # both components, from -180 degrees on; around from 0 on
        cuts = [np.sum([np.abs(one[0]) ** 2 for one in field.polar_cut(phi)], axis=0) for phi in (90.0, 0.0)]
        powers = [np.roll(one[:-1], -(len(one) // 2)) for one in cuts]
    dbi = [decibels(field.efficiency[0] * one) for one in powers]
    highest = max(float(one.max()) for one in dbi)
    half = len(field.theta_deg)
    widths = [_width(one[:half], np.roll(one[::-1], 1)[:half], field.theta_deg) for one in dbi]
    behind = float(dbi[1][0] - dbi[1][half - 1])
    lines = [f"NAME {_ascii(field.title)}", "MAKE antennaopt", f"FREQUENCY {field.frequency_hz[0] / 1e6:.6f}"]
    lines += [
        f"{name} {width:.2f}" for name, width in zip(("H_WIDTH", "V_WIDTH"), widths, strict=True) if width == width
    ]
    lines += [f"FRONT_TO_BACK {behind:.2f}", f"GAIN {highest:.4f} dBi", "TILT MECHANICAL"]
    lines.append(f"POLARIZATION {'VERTICAL' if linear else field.polarisation.upper()}")
    planes = "horizontal is the H plane, vertical the E plane" if linear else "both components together"
    planes += "; both components together" if linear and field.sphere is not None else ""
    lines.append(f"COMMENT antennaopt {__version__}; {planes}")
    for name, one in zip(("HORIZONTAL", "VERTICAL"), dbi, strict=True):
        whole = highest - one[:: round(per_degree)]
        lines += [f"{name} 360", *(f"{degree}.0 {loss:.4f}" for degree, loss in enumerate(whole))]
    return "\n".join(lines) + "\n"


def _width(one: np.ndarray, other: np.ndarray, theta_deg: np.ndarray) -> float:
    """Return the width at half power of a beam whose two sides are given, dBi, degrees; NaN where it has none."""
    return float(half_power_beamwidth(np.stack([one, other]), theta_deg).sum() / 2)


def check_single(solved: Sequence[float]) -> None:
    """Refuse several frequencies, Hz, for an MSI file.

    Raises:
        ConfigurationError: There are several.
    """
    if len(solved) > 1:
        known = ", ".join(format_frequency(hz) for hz in solved)
        raise ConfigurationError(
            f"--msi holds one frequency, and {len(solved)} are solved; name one with --pattern-frequency: {known}"
        )


def netcdf_bytes(field: FarField) -> bytes:
    """Return a netCDF classic file: complex E_theta and E_phi on the sphere as real and imaginary parts, and powers."""
    phi = sphere_angles()
    of_theta, of_phi = field.sphere_volts()
    of_feed = " of a linear feed" if field.sphere is None else ", wanted polarisation"
    sphere, planes, each = ("frequency", "phi", "theta"), ("frequency", "theta"), ("frequency",)
    variables: list[tuple[str, tuple[str, ...], np.ndarray, str, str]] = [
        ("frequency", each, field.frequency_hz, "Hz", "frequency"),
        ("phi", ("phi",), phi, "degree", "angle from the E plane"),
        ("theta", ("theta",), field.theta_deg, "degree", "angle from the axis"),
        ("radiated_power", each, field.radiated_w, "W", "of 1 W incident"),
        ("accepted_power", each, field.accepted_w, "W", "of 1 W incident"),
    ]
    for name, dims, values, units, meaning in (
        ("E_theta", sphere, of_theta, "V", "r exp(jkr) E_theta"),
        ("E_phi", sphere, of_phi, "V", "r exp(jkr) E_phi"),
        (
            "e_plane",
            planes,
            field.e_plane,
            "1",
            f"amplitude in the E plane{of_feed}; its square is directivity",
        ),
        ("h_plane", planes, field.h_plane, "1", f"amplitude in the H plane{of_feed}"),
        ("s11", each, field.s11, "1", "S11 in the plane z = 0" if field.sphere is None else "S11 at the port"),
        *((name, each, values, "1", "wave over the incident TE11") for name, values in field.waves.items()),
    ):
        for part, numbers in zip(("real", "imag"), _parts(values), strict=True):
            variables.append((f"{name}_{part}", dims, numbers, units, meaning))
    buffer = io.BytesIO()
    with netcdf_file(buffer, "w") as file:
        file.title = _ascii(field.title)
        file.source = f"antennaopt {__version__}"
        file.polarisation = field.polarisation
        file.time_convention = "exp(+jwt), peak values"
        file.normalisation = "incident wave of 1 W, phase 0 " + (
            "in the plane z = 0, the phase reference of the field"
            if field.sphere is None
            else "at the port; the phase reference of the field is the drawing's origin"
        )
        for name, size in zip(sphere, of_theta.shape, strict=True):
            file.createDimension(name, size)
        for name, dims, values, units, meaning in variables:
            made = file.createVariable(name, np.float64, dims)
            made[:] = values
            made.units, made.long_name = units, meaning
        file.flush()
        return buffer.getvalue()


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """A kind of far-field file.

    Attributes:
        endings: Of its files, without the dot.
        content: Makes it.
    """

    endings: tuple[str, ...]
    content: Callable[[FarField], str | bytes]


KINDS = {
    "cut": FileKind(endings=("cut",), content=cut_text),
    "sph": FileKind(endings=("sph",), content=sph_text),
    "ffs": FileKind(endings=("ffs",), content=ffs_text),
    "ffe": FileKind(endings=("ffe",), content=ffe_text),
    "msi": FileKind(endings=("msi", "pln"), content=msi_text),
    "netcdf": FileKind(endings=("nc",), content=netcdf_bytes),
}
"""By the name of the option."""


def check_ending(name: str, path: Path) -> None:
    """Refuse a file's name that has not the ending of its kind.

    Raises:
        ConfigurationError: With the endings that it may have.
    """
    endings = KINDS[name].endings
    if path.suffix.lower().removeprefix(".") not in endings:
        known = ", ".join(f".{one}" for one in endings)
        raise ConfigurationError(f"--{name} {path} has no known ending; use {'one of ' * (len(endings) > 1)}{known}")


def write_far_field(name: str, path: Path, field: FarField) -> Path:
    """Write a far field as one of `KINDS` and return the file.

    Raises:
        ConfigurationError: The kind cannot hold it.
        StorageError: It cannot be written.
    """
    content = KINDS[name].content(field)
    data = content if isinstance(content, bytes) else content.encode("ascii")
    write_atomically(path, lambda target: target.write(data))
    return path


def _numbers(*columns: np.ndarray) -> list[str]:
    return [" ".join(f"{value: .10E}" for value in row) for row in zip(*(one.tolist() for one in columns), strict=True)]


def _parts(*values: np.ndarray) -> list[np.ndarray]:
    """Return the real and the imaginary part of each."""
    return [part for one in values for part in (np.real(one), np.imag(one))]


def _vector(*values: float) -> str:
    return " ".join(f"{value:.6e}" for value in values)


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode() or "antenna"
