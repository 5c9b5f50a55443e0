"""Rows of derivatives as absorbing layers stretch them, and the options of the loops that call this."""
# ruff: noqa: ANN001, ANN201 - compiled text: Numba infers the types

from __future__ import annotations

from typing import Any

from fdtd.backends.cpu.compiled import compiled

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}


@compiled(**OPTIONS)
def stretch_along(difference, psi, filters, cells, n):
    """Stretch a row of d/dx in the layers at its two ends."""
    for i in range(cells):
        psi[i] = filters[1, i] * psi[i] + filters[2, i] * difference[i]
        difference[i] = filters[0, i] * difference[i] + psi[i]
    for i in range(max(cells, n - cells), n):
        psi[i] = filters[1, i] * psi[i] + filters[2, i] * difference[i]
        difference[i] = filters[0, i] * difference[i] + psi[i]


@compiled(**OPTIONS)
def stretch_across(difference, psi, gain, decay, drive, n):
    """Stretch a row of d/dy that lies in a layer."""
    for i in range(n):
        psi[i] = decay * psi[i] + drive * difference[i]
        difference[i] = gain * difference[i] + psi[i]
