"""The field map of an antenna as one `.npz` file: |E| on the grid's half plane, and what stands on it.

A run keeps its best antenna's as `best/field.npz`, so that the report can draw it without solving anything.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from antennaopt.results.atomic import storing, write_atomically

FLOOR_DB = -80.0
REFERENCE_PERCENTILE = 99.8
"""0 dB is the level that all but this share of the air and dielectric stays below: a few cells at metal edges, where
the field is singular, would dim all the rest."""


@dataclass(frozen=True, kw_only=True)
class FieldMap:
    """|E| in the half plane r >= 0, with the geometry.

    Attributes:
        r_mm: Radii of the columns, shape (nr,), ascending, mm.
        z_mm: Heights of the rows, shape (nz,), ascending, mm; the aperture is z = 0.
        e_db: Magnitude of E, shape (nz, nr), dB; see `REFERENCE_PERCENTILE`.
        metal: Where there is metal, shape (nz, nr).
        permittivity: Relative, shape (nz, nr).
        frequency_hz: Of the field; 0 when not known.
        individual: Whose field it is, empty when not known.
        sweep_hz: Frequencies of an S11 sweep, shape (f,), ascending; may be empty.
        sweep_s11: Complex S11 there, shape (f,).
    """

    r_mm: NDArray[np.float64]
    z_mm: NDArray[np.float64]
    e_db: NDArray[np.float64]
    metal: NDArray[np.bool_]
    permittivity: NDArray[np.float64]
    frequency_hz: float = 0.0
    individual: str = ""
    sweep_hz: NDArray[np.float64]
    sweep_s11: NDArray[np.complex128]

    @classmethod
    def of_outcome(cls, outcome: Mapping[str, Any], *, individual: str = "") -> FieldMap:
        """Take the map from an outcome of `evaluate(..., fields=True)`.

        Args:
            outcome: With `field` (r_m, z_m, e_magnitude, permittivity, metal, frequency_hz), and perhaps `sweep`.
            individual: Whose outcome it is.

        Raises:
            KeyError: The outcome has no field.
        """
        field = outcome["field"]
        metal = np.asarray(field["metal"], dtype=bool)
        sweep_hz, sweep_s11 = sweep_of(outcome)
        return cls(
            r_mm=1e3 * np.asarray(field["r_m"], dtype=float),
            z_mm=1e3 * np.asarray(field["z_m"], dtype=float),
            e_db=decibels(np.asarray(field["e_magnitude"], dtype=float), metal),
            metal=metal,
            permittivity=np.asarray(field["permittivity"], dtype=float),
            frequency_hz=float(field.get("frequency_hz") or 0.0),
            individual=individual,
            sweep_hz=sweep_hz,
            sweep_s11=sweep_s11,
        )


def sweep_of(outcome: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.complex128]]:
    """Return the frequencies (Hz) and complex S11 of an outcome's sweep, both empty when it has none."""
    sweep = outcome.get("sweep") or {}
    hz = np.asarray(sweep.get("frequency_hz", ()), dtype=float)
    pairs = np.asarray(sweep.get("s11", ()), dtype=float).reshape(-1, 2)
    return hz, pairs[:, 0] + 1j * pairs[:, 1]


def decibels(magnitude: NDArray[np.float64], metal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return a field's magnitude in dB, shape (nz, nr), clipped below at `FLOOR_DB`."""
    outside = magnitude[~metal & np.isfinite(magnitude)]
    reference = float(np.percentile(outside, REFERENCE_PERCENTILE)) if outside.size else 0.0
    if reference <= 0.0:
        return np.full(magnitude.shape, FLOOR_DB)
    relative = np.nan_to_num(magnitude / reference, nan=0.0, posinf=0.0)
    return 20.0 * np.log10(np.maximum(relative, 10.0 ** (FLOOR_DB / 20.0)))


def write_field_map(path: Path | str, outcome: Mapping[str, Any], *, individual: str = "") -> Path:
    """Write an outcome's field map in one step.

    Args:
        path: Target, `best/field.npz`; its folder is made when missing.
        outcome: From `evaluate(..., fields=True)`.
        individual: Whose it is; a report shows the map only beside the antenna that it belongs to.

    Raises:
        StorageError: It cannot be written.
        KeyError: The outcome has no field.
    """
    path = Path(path)
    field = FieldMap.of_outcome(outcome, individual=individual)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        r_mm=field.r_mm,
        z_mm=field.z_mm,
        e_db=field.e_db.astype(np.float32),
        metal=field.metal,
        permittivity=field.permittivity.astype(np.float32),
        frequency_hz=np.float64(field.frequency_hz),
        individual=np.array(field.individual),
        sweep_hz=field.sweep_hz,
        sweep_s11=field.sweep_s11,
    )
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(buffer.getvalue()))
    return path


def read_field_map(path: Path | str) -> FieldMap | None:
    """Return a field map, or None when the file is missing or is not one; nothing is unpickled."""
    try:
        with np.load(Path(path), allow_pickle=False) as data:
            r_mm, z_mm = np.asarray(data["r_mm"], float), np.asarray(data["z_mm"], float)
            arrays = {name: np.asarray(data[name], float) for name in ("e_db", "permittivity")}
            metal = np.asarray(data["metal"], bool)
            if any(array.shape != (z_mm.size, r_mm.size) for array in (*arrays.values(), metal)):
                return None
            return FieldMap(
                r_mm=r_mm,
                z_mm=z_mm,
                metal=metal,
                **arrays,
                frequency_hz=float(data["frequency_hz"]) if "frequency_hz" in data else 0.0,
                individual=str(data["individual"]) if "individual" in data else "",
                sweep_hz=np.asarray(data["sweep_hz"], float) if "sweep_hz" in data else np.empty(0),
                sweep_s11=np.asarray(data["sweep_s11"], complex) if "sweep_s11" in data else np.empty(0, complex),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
