"""The electric field of an antenna with its coordinates and geometry, as one `.npz` or NetCDF (`.nc`) file.

A run keeps its best antenna's as `best/field.npz`, so that the report can draw it without solving anything.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import netcdf_file

from antennaopt.errors import ConfigurationError
from antennaopt.store.files import storing, write_atomically


@dataclass(frozen=True)
class Variable:
    """One array.

    Attributes:
        dims: Names of its dimensions; one of its own name makes it a coordinate.
        units: SI.
        meaning: In words.
    """

    dims: tuple[str, ...]
    units: str
    meaning: str


_PLANE = ("z", "r")
_FIELD = ("frequency", *_PLANE)
_FINE = ("outline_z", "outline_r")
COMPONENTS = ("e_r", "e_phi", "e_z")

VARIABLES = {
    "frequency": Variable(("frequency",), "Hz", "frequencies of the field"),
    "r": Variable(("r",), "m", "radius of the nodes"),
    "z": Variable(("z",), "m", "height of the nodes; the aperture of the feed is z = 0"),
    "e_r": Variable(_FIELD, "V/m", "complex amplitude of the radial electric field, of cos(phi)"),
    "e_phi": Variable(_FIELD, "V/m", "complex amplitude of the azimuthal electric field, of sin(phi)"),
    "e_z": Variable(_FIELD, "V/m", "complex amplitude of the axial electric field, of cos(phi)"),
    "permittivity": Variable(_PLANE, "1", "relative permittivity on the nodes, averaged at surfaces"),
    "metal": Variable(_PLANE, "1", "whether the node conducts"),
    "outline_r": Variable(("outline_r",), "m", "radius of the samples of the outlines"),
    "outline_z": Variable(("outline_z",), "m", "height of the samples of the outlines"),
    "outline_metal": Variable(_FINE, "m", "distance into the nearest conductor, cut off near its surface"),
    "outline_dielectrics": Variable(("body", *_FINE), "m", "distance into each dielectric, cut off near its surface"),
    "sweep_frequency": Variable(("sweep_frequency",), "Hz", "frequencies of sweep_s11"),
    "sweep_s11": Variable(("sweep_frequency",), "1", "complex S11 in the plane z = 0"),
}

ATTRIBUTES = {
    "title": "Electric field of an axisymmetric antenna",
    "time_convention": "exp(+jwt), peak values: E(t) = Re(E exp(+jwt))",
    "azimuthal_dependence": "E_r and E_z times cos(phi), E_phi times sin(phi); E plane phi = 0, H plane 90 degrees",
    "normalisation": "the wave coming in from the feed carries 1 W; its E is along +x on the axis, phase 0 at z = 0",
    "region": "the half plane r >= 0 outside the absorbing layers; zero inside conductors",
}


_LARGE = 2**31 - 1  # bytes; version 1 of the format has offsets of 32 bits


def netcdf_bytes(variables: Mapping[str, NDArray]) -> bytes:
    """Return the bytes of a NetCDF classic file, which xarray, ParaView, MATLAB and IDL read.

    The format has no complex numbers: `e_r` becomes `e_r_real` and `e_r_imag`.

    Args:
        variables: Arrays by the names of `VARIABLES`; others become attributes of the file. An empty one is left out,
            since the format takes a dimension of length 0 for one that grows.
    """
    total = sum(array.nbytes for array in variables.values())
    buffer = io.BytesIO()
    with netcdf_file(buffer, "w", version=1 if total < _LARGE else 2) as file:
        for name, value in ATTRIBUTES.items():
            setattr(file, name, value)
        for name, array in variables.items():
            if name in VARIABLES:
                if array.size:
                    _add(file, name, array)
            elif array.dtype.kind in "iu" or str(array):
                setattr(file, name, str(array) if array.dtype.kind == "U" else np.int32(array))
        file.flush()
        return buffer.getvalue()


def _add(file: Any, name: str, array: NDArray) -> None:
    about = VARIABLES[name]
    for dim, size in zip(about.dims, array.shape, strict=True):
        if dim not in file.dimensions:
            file.createDimension(dim, size)
    parts = {name: array}
    if array.dtype.kind == "c":
        parts = {f"{name}_real": np.real(array), f"{name}_imag": np.imag(array)}
    elif array.dtype.kind == "b":
        parts = {name: array.astype(np.int8)}
    for part, values in parts.items():
        made = file.createVariable(part, values.dtype, about.dims)
        made[:] = values
        made.units, made.long_name = about.units, about.meaning


KINDS = ("npz", "nc")


@dataclass(frozen=True, kw_only=True)
class Outlines:
    """Level sets of the bodies, sampled more finely than the field: their zero contours are the true surfaces.

    Attributes:
        r: Radii, shape (R,), m, from 0.
        z: Heights, shape (Z,), m.
        metal: Distance into the nearest conductor, shape (Z, R), m, positive inside, cut off near the surface.
        dielectrics: The same of each dielectric body, shape (bodies, Z, R).
    """

    r: NDArray[np.float64]
    z: NDArray[np.float64]
    metal: NDArray[np.float32]
    dielectrics: NDArray[np.float32]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Outlines:
        """Take them from an outcome's `field` or `film`."""
        return cls(r=data["r_m"], z=data["z_m"], metal=data["metal"], dielectrics=data["dielectrics"])


@dataclass(frozen=True, kw_only=True)
class FieldMap:
    """Electric field on the nodes of the half plane r >= 0, outside the absorbing layers, with the geometry.

    E_r and E_z vary as cos(phi), E_phi as sin(phi): the E plane phi = 0 has E_r and E_z alone.

    Attributes:
        frequency: Hz, shape (F,).
        r: Radii of the columns, shape (nr,), m, from 0.
        z: Heights of the rows, shape (nz,), m; the aperture is z = 0.
        e: Complex amplitudes of E_r, E_phi, E_z, shape (F, 3, nz, nr), V/m; time convention exp(+jwt), peak values, for
            1 W coming in from the feed with phase 0 at z = 0.
        permittivity: Relative, as the lattice has it on the nodes, shape (nz, nr).
        metal: Which nodes conduct, shape (nz, nr).
        outlines: Surfaces of the bodies.
        shown: Which frequency pictures show.
        individual: Whose field it is, empty when not known.
        sweep_frequency: Frequencies of an S11 sweep, shape (f,), Hz, ascending; may be empty.
        sweep_s11: Complex S11 there, shape (f,).
    """

    frequency: NDArray[np.float64]
    r: NDArray[np.float64]
    z: NDArray[np.float64]
    e: NDArray[np.complex64]
    permittivity: NDArray[np.float32]
    metal: NDArray[np.bool_]
    outlines: Outlines
    shown: int = 0
    individual: str = ""
    sweep_frequency: NDArray[np.float64]
    sweep_s11: NDArray[np.complex128]

    @classmethod
    def of_outcome(cls, outcome: Mapping[str, Any], *, individual: str = "") -> FieldMap:
        """Take the map from an outcome of `evaluate(..., fields=True)`.

        Args:
            outcome: With `field`, and perhaps `sweep`.
            individual: Whose outcome it is.

        Raises:
            KeyError: The outcome has no field.
        """
        field = outcome["field"]
        sweep_frequency, sweep_s11 = sweep_of(outcome)
        return cls(
            frequency=np.asarray(field["frequency_hz"], dtype=float),
            r=np.asarray(field["r_m"], dtype=float),
            z=np.asarray(field["z_m"], dtype=float),
            e=np.asarray(field["e"], dtype=np.complex64),
            permittivity=np.asarray(field["permittivity"], dtype=np.float32),
            metal=np.asarray(field["metal"], dtype=bool),
            outlines=Outlines.of(field["outlines"]),
            shown=int(field["shown"]),
            individual=individual,
            sweep_frequency=sweep_frequency,
            sweep_s11=sweep_s11,
        )

    def at(self, frequency: float) -> FieldMap:
        """Return the map whose pictures show the frequency nearest to this one, Hz."""
        return replace(self, shown=int(np.argmin(np.abs(self.frequency - frequency))))

    @property
    def shown_frequency(self) -> float:
        """The frequency that pictures show, Hz."""
        return float(self.frequency[self.shown])


def sweep_of(outcome: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.complex128]]:
    """Return the frequencies (Hz) and complex S11 of an outcome's sweep, both empty when it has none."""
    sweep = outcome.get("sweep") or {}
    hz = np.asarray(sweep.get("frequency_hz", ()), dtype=float)
    pairs = np.asarray(sweep.get("s11", ()), dtype=float).reshape(-1, 2)
    return hz, pairs[:, 0] + 1j * pairs[:, 1]


def write_field_map(path: Path | str, outcome: Mapping[str, Any], *, individual: str = "") -> Path:
    """Write an outcome's field in one step, `.npz` or `.nc` by the name's ending; its folder is made when missing.

    Args:
        path: Target.
        outcome: From `evaluate(..., fields=True)`.
        individual: Whose it is; a report shows the map only with the antenna that it belongs to.

    Raises:
        ConfigurationError: The name ends in neither.
        StorageError: It cannot be written.
        KeyError: The outcome has no field.
    """
    path = Path(path)
    kind = path.suffix.removeprefix(".").lower()
    if kind not in KINDS:
        raise ConfigurationError(f"{path} has no known ending for field data; use one of .npz, .nc")
    variables = variables_of(FieldMap.of_outcome(outcome, individual=individual))
    content = netcdf_bytes(variables) if kind == "nc" else _npz_bytes(variables)
    with storing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda file: file.write(content))
    return path


def variables_of(field: FieldMap) -> dict[str, NDArray]:
    """Return a field map as arrays by the names of `field_variables`."""
    found = {name: np.asarray(value) for name, value in vars(field).items() if name not in ("e", "outlines")}
    found |= {name: field.e[:, place] for place, name in enumerate(COMPONENTS)}
    found |= {f"outline_{name}": array for name, array in vars(field.outlines).items()}
    return {name: found[name] for name in (*VARIABLES, "shown", "individual")}


def _npz_bytes(variables: Mapping[str, NDArray]) -> bytes:
    about = {name: {"dims": list(one.dims), "units": one.units, "long_name": one.meaning} for name, one in
             VARIABLES.items()}  # fmt: skip
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        allow_pickle=False,
        **variables,  # type: ignore[arg-type]
        attributes=np.array(json.dumps({**ATTRIBUTES, "variables": about}, indent=1)),
    )
    return buffer.getvalue()


def read_field_map(path: Path | str) -> FieldMap | None:
    """Return a field map from an `.npz` file, or None when it is missing or is not one; nothing is unpickled."""
    try:
        with np.load(Path(path), allow_pickle=False) as data:
            arrays = {name: data[name] for name in VARIABLES}
            shown, individual = int(data["shown"]), str(data["individual"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    if not _fit(arrays) or not 0 <= shown < arrays["frequency"].size:
        return None
    e = np.stack([arrays.pop(name) for name in COMPONENTS], axis=1)
    outlines = Outlines(**{field.name: arrays.pop(f"outline_{field.name}") for field in fields(Outlines)})
    return FieldMap(**arrays, e=e, outlines=outlines, shown=shown, individual=individual)


def _fit(arrays: Mapping[str, NDArray]) -> bool:
    """Return whether all arrays are of numbers and have the dimensions of `VARIABLES`, each of one size throughout."""
    sizes: dict[str, int] = {}
    for name, about in VARIABLES.items():
        array = arrays[name]
        if array.ndim != len(about.dims) or array.dtype.kind not in "biufc":
            return False
        if any(sizes.setdefault(dim, size) != size for dim, size in zip(about.dims, array.shape, strict=True)):
            return False
    return True
