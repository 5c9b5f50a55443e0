"""Field data as a NetCDF classic file, which xarray, ParaView, MATLAB and IDL read.

The format has no complex numbers: `e_r` becomes `e_r_real` and `e_r_imag`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import netcdf_file

from antennaopt.report.exports.field_variables import ATTRIBUTES, VARIABLES

_LARGE = 2**31 - 1  # bytes; version 1 of the format has offsets of 32 bits


def netcdf_bytes(variables: Mapping[str, NDArray]) -> bytes:
    """Return the bytes of a NetCDF file.

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
