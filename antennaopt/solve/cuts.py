"""Complex cuts of an outcome: keys, forms, and directivity.

An amplitude's square is directivity in its plane, so both planes start with the same value. Its phase is that of
exp(+jwt) r exp(jkr) E, r from the axis's point z = 0, over that of the feed's incident wave in the same plane.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fdtd.arrays import product
from fdtd.farfield import decibels

CUTS = ("theta_deg", "e_plane", "h_plane")
"""Keys of the pattern: angles (T,), and complex amplitudes (frequencies, T)."""

LEVELS = ("e_plane_dbi", "h_plane_dbi")
"""Directivity, dBi, (frequencies, T): follows from the cuts."""

OLDER = "older_dbi"
"""Key of both `LEVELS` of an outcome of a run of schema version 4 or earlier, which has no complex cuts."""

PATTERN = (*CUTS, OLDER)
"""Keys of all that belongs to the pattern."""

PHI_STEP_DEG = 5.0
"""Of a far field on the whole sphere; of a body of revolution, order 1, a step below 90 degrees would do."""

NOT_NUMBERS = (TypeError, ValueError, OverflowError)
"""Exceptions of `amplitudes` for what holds none."""


def amplitudes(values: Any) -> np.ndarray:
    """Return amplitudes as a complex array (frequencies, T); an array that is one as it is.

    Args:
        values: Complex numbers, or pairs of real and imaginary part; arrays or lists. Or texts of `texts`.

    Raises:
        TypeError, ValueError: It holds something else.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        return values
    if isinstance(values, list) and values and all(isinstance(one, str) for one in values):
        return np.stack([_from_text(one) for one in values])
    found = np.asarray(values)
    if found.dtype.kind == "c":
        return found
    parts = found.astype(float)
    if parts.ndim != 3 or parts.shape[-1] != 2:
        raise ValueError(f"amplitudes of shape {parts.shape} are not complex (must end in real and imaginary part)")
    return np.ascontiguousarray(parts).view(complex)[..., 0]


def texts(values: Any) -> list[str]:
    """Return amplitudes as one text a frequency: precision, then bytes in base64. A quarter of the size of pairs."""
    found = amplitudes(values)
    kind = f"<c{found.itemsize}"
    return [f"{kind} {base64.b64encode(row.astype(kind).tobytes()).decode()}" for row in found]


def _from_text(text: str) -> np.ndarray:
    kind, _, coded = text.partition(" ")
    if kind not in ("<c8", "<c16"):
        raise ValueError(f"amplitudes of type {kind!r:.20} are not complex (allowed: <c8, <c16)")
    return np.frombuffer(base64.b64decode(coded, validate=True), kind).astype(kind[1:])


def pairs(values: Any) -> list:
    """Return complex values of any shape as lists of [real, imaginary]."""
    found = np.asarray(values)
    return np.stack([np.real(found), np.imag(found)], axis=-1).tolist()


def joined(real: Any, imaginary: Any) -> np.ndarray:
    """Return complex values of two real parts, of their precision, also where one is not finite."""
    parts = np.stack([real, imaginary], axis=-1)
    return parts.view(np.complex64 if parts.dtype == np.float32 else np.complex128)[..., 0]


def directivity_dbi(values: Any) -> np.ndarray:
    """Return the directivity of amplitudes, dBi, float64 of the same shape; not below -120."""
    found = amplitudes(values)
    return decibels(np.real(found).astype(float) ** 2 + np.imag(found).astype(float) ** 2)


def normalised(
    a: np.ndarray,
    b: np.ndarray,
    power: np.ndarray,
    incident: np.ndarray,
    out: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the cuts of a far field; an antenna's bits do not depend on the others in its batch.

    Args:
        a: Far field A, complex, (..., F, T); see `fdtd.farfield`.
        b: Far field B.
        power: Third value of `fdtd.farfield.directivity`, (..., F).
        incident: Incident wave in the plane z = 0 over its modulus, (..., F).
        out: Where to write them, complex; new arrays if None.

    Returns:
        Amplitudes in the E plane and the H plane.
    """
    scale = 2 / np.sqrt(np.maximum(power, np.finfo(float).tiny))
    turn = (scale * incident.conj())[..., None]
    e_plane, h_plane = (product(one, turn, out=to) for one, to in zip((a, b), out or (None, None), strict=True))
    return e_plane, np.negative(h_plane, out=h_plane)


def from_behind(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a far field in the frame turned by 180 degrees about the x axis, in which theta counts from -z.

    There theta' = 180 degrees - theta and phi' = -phi, so both unit vectors change their sign, and with phi that of
    E_phi, B sin(phi), once more.

    Args:
        a: Far field A at angles from 0 to 180 degrees that are spaced alike from both ends, complex, (..., T).
        b: Far field B.
    """
    # Copies: what is computed from views with negative strides rounds differently alone and in a batch.
    return np.ascontiguousarray(-a[..., ::-1]), np.ascontiguousarray(b[..., ::-1])


def fault_of_cuts(outcome: Mapping[str, Any], frequencies: int) -> str | None:
    """Return what is wrong with the pattern of an outcome of a file; None with a sound one, or with none.

    Args:
        outcome: What the file held.
        frequencies: Number of the outcome's frequencies.
    """
    older = OLDER in outcome
    wanted = ("theta_deg", OLDER) if older else CUTS
    present = [name for name in wanted if name in outcome]
    if not present:
        return None
    if len(present) < len(wanted):
        return f"it has {present[0]} without the other cuts"
    try:
        theta = np.asarray(outcome["theta_deg"], dtype=np.float32)
        levels: Sequence[Any] = outcome[OLDER] if older else ()
        planes = [np.asarray(one, dtype=np.float32) for one in levels] or [amplitudes(outcome[one]) for one in CUTS[1:]]
    except NOT_NUMBERS:
        return "its cuts are not numbers"
    if theta.ndim != 1 or not theta.size or not np.isfinite(theta).all():
        return "its theta_deg are not angles"
    if len(planes) != len(LEVELS) or any(plane.shape != (frequencies, theta.size) for plane in planes):
        return "its cuts have not one value an angle and frequency"
    return None


def sphere_angles() -> np.ndarray:
    """Return the angles phi of a far field on the whole sphere, degrees, both ends included, (P,)."""
    return np.arange(0.0, 360.0 + PHI_STEP_DEG / 2, PHI_STEP_DEG)
