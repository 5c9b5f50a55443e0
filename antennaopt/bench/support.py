"""Supported combinations of stencil, scheme and backend, and self-tests that compare two backends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from antennaopt.bench.problems import plain_problem, reference_problem
from antennaopt.settings import SolverSettings
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from fdtd.backends.cuda.dry_device import DryDevice
from fdtd.backends.cuda.planar import PlanarBatch, prepare
from fdtd.backends.cuda.yee_choice import plan_unposed, unposed
from fdtd.errors import Unsuitable
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER, Limits
from fdtd.schemes.rates import SCHEMES as ALL_SCHEMES
from fdtd.schemes.rates import check_pair
from fdtd.schemes.trapezoidal.yee import plan_yee
from fdtd.stencils import BOR, SPATIAL, STENCILS

BACKENDS = ("reference", "cpu", "cuda")

_STEPPED_ONCE = "steps once a trip through memory, whatever the lattice"
ALL_STENCILS = {**STENCILS, **SPATIAL}
"""By name, in the order of tables."""

_ON_CPU = {("bor", "one_step"), ("bor", "skewed"), ("tmz", "one_step"), ("tez", "one_step")}
_ON_CPU |= {(stencil, "one_step") for stencil in SPATIAL}
_WITHOUT_ORACLE = ("heat7", "heat19")
_POINTS = 64  # small enough for every scheme
_IN_SPACE, _LARGE, _LAYER = (32, 32, 24), (256, 256, 256), 8


def support_matrix(limits: Limits = HOPPER) -> list[dict[str, Any]]:
    """Return one row a stencil, scheme and backend.

    Args:
        limits: Of the device that the CUDA rows are for.

    Returns:
        `stencil`, `scheme`, `backend`, `works`, and `reason` where it does not; `diagonal_only`, why it works for
        surfaces = "diagonal" alone, where it does.
    """
    rows = []
    for stencil in ALL_STENCILS:
        for scheme in ALL_SCHEMES:
            for backend in BACKENDS:
                reason = _refusal(stencil, scheme, backend, limits)
                row: dict[str, Any] = {"stencil": stencil, "scheme": scheme, "backend": backend}
                row |= {"works": reason is None} | ({} if reason is None else {"reason": reason})
                if stencil == "bor" and backend == "cuda" and reason is None:
                    coupled = _said(_plan_bor, scheme, limits, "full")
                    row |= {} if coupled is None else {"diagonal_only": coupled}
                rows.append(row)
    return rows


def matrix_table(rows: list[dict[str, Any]]) -> tuple[list[list[str]], list[str]]:
    """Return the matrix as a table, the backends of each pair, and why pairs have none on a GPU.

    A star marks a backend that works for surfaces = "diagonal" alone.
    """
    table, reasons = [["", *ALL_SCHEMES]], []
    for stencil in ALL_STENCILS:
        line = [stencil]
        for scheme in ALL_SCHEMES:
            pair = [row for row in rows if row["stencil"] == stencil and row["scheme"] == scheme]
            works = [row["backend"] + ("*" if "diagonal_only" in row else "") for row in pair if row["works"]]
            line.append(" ".join(works) or "-")
            said = [row["reason"] for row in pair if row["backend"] == "cuda" and not row["works"]]
            if stencil in SPATIAL and scheme in ALL_SCHEMES[2:]:  # three axes are a reason for all schemes
                said = [reason for reason in said if "has three" not in reason]
            reasons += [f"{stencil}, {scheme}: {reason}" for reason in said]
            reasons += [f"* {stencil}, {scheme}: {row['diagonal_only']}" for row in pair if "diagonal_only" in row]
        table.append(line)
    return table, reasons


def stencil_rows() -> list[dict[str, Any]]:
    """Return one row a stencil: components, counts of a cell and step, reach, limit, and what steps it.

    Returns:
        `stencil`, `title`, `axes`, `components` (place of each, cells), `coefficients`, `phases`, `operations` and
        their kinds, `memories` of absorbing layers (of bor they depend on the layer: None), `halo` (cells before and
        after, by axis), `fused_bytes`, `split_bytes` (float32), `limit`, `schemes` (backends of each), `unsuitable`
        (why not, by scheme).
    """
    matrix, rows = support_matrix(), []
    for name, stencil in ALL_STENCILS.items():
        pairs = [row for row in matrix if row["stencil"] == name and row["backend"] != "reference"]
        works: dict[str, list[str]] = {}
        for row in pairs:
            if row["works"]:
                works.setdefault(row["scheme"], []).append(row["backend"])
        about = _AXISYMMETRIC if stencil.formula is None else stencil.formula.summary()
        rows.append({
            **about, "operations": stencil.operations,
            "fused_bytes": int(stencil.bytes_per_step(4)), "split_bytes": int(stencil.split_bytes(4)),
            "schemes": works,
            "unsuitable": {
                row["scheme"]: row["reason"] for row in pairs if row["backend"] == "cuda" and not row["works"]
            },
        })  # fmt: skip
    return rows


_AXISYMMETRIC: dict[str, Any] = {
    "stencil": BOR.name,
    "title": "Maxwell's equations of one azimuthal order on (r, z); e = r E_phi, h = r H_phi",
    "axes": "rz",
    "components": {
        "e_r": [0.5, 0.0], "e": [0.0, 0.0], "e_z": [0.0, 0.5], "h_r": [0.0, 0.5], "h": [0.5, 0.5], "h_z": [0.5, 0.0],
    },
    "coefficients": ["keep_r", "keep", "keep_z", "gain_r", "gain", "gain_z"],
    "phases": BOR.phases,
    "additions": 10, "multiplications": 0, "multiply_adds": 10,
    "memories": None,
    "halo": {"r": [1, 1], "z": [1, 1]},
    "limit": "c dt/d <= 0.6726, 0.6212, 0.4255 for order 0, 1, 2",
}  # fmt: skip


def _refusal(stencil: str, scheme: str, backend: str, limits: Limits) -> str | None:
    """Return why a combination cannot work, or None."""
    if backend == "reference" and stencil in _WITHOUT_ORACLE:
        return "the oracle of the heat equation is a test's"
    if backend == "reference":
        return None if scheme == "one_step" else f"the oracle {_STEPPED_ONCE}"
    if backend == "cpu":
        if (stencil, scheme) in _ON_CPU:
            return None
        return "no kernel on the CPU" if stencil == "jacobi5" else f"the CPU has no {scheme} for {stencil}"
    if (stencil, scheme) == ("yee3d", "resident"):
        return _said(plan_unposed, _IN_SPACE, _LAYER, "float32", limits)
    if (stencil, scheme) == ("yee3d", "trapezoidal"):
        return _said(plan_yee, unposed(_LARGE, _LAYER, steps=1), 4, limits)
    if stencil in SPATIAL:
        return _said(check_pair, stencil, scheme)
    return _said(_plan_bor if stencil == "bor" else partial(_plan_planar, stencil), scheme, limits)


def _said(prepare_it: Callable[..., object], *what: Any) -> str | None:
    """Return why a plan refuses, or None."""
    try:
        prepare_it(*what)
    except Unsuitable as error:
        return str(error)
    return None


def _plan_bor(scheme: str, limits: Limits, surfaces: str = "diagonal") -> None:
    check_pair("bor", scheme)
    if scheme not in SCHEMES:
        raise Unsuitable(f"{scheme} has no kernel for bor (allowed: {', '.join(SCHEMES)})")
    SCHEMES[scheme](reference_problem((_POINTS, 2 * _POINTS), 8, 1, surfaces=surfaces), "float32", limits)


def _plan_planar(stencil: str, scheme: str, limits: Limits) -> None:
    problem: Any = plain_problem(stencil, (_POINTS, _POINTS), 1)
    prepare(PlanarBatch(DryDevice(limits), problem, "float32"), scheme)


TOLERANCE_DB = 0.01
"""Of every figure of merit in dB, between backends in single precision."""

_FIXED = {
    "feed.inner_radius": 3.6e-3,
    "feed.outer_radius": 4.0e-3,
    "feed.length": 7.2e-3,
    "lens.permittivity": 2.53,
    "lens.loss_tangent": 6.6e-4,
    "lens.extension": 1e-3,
}
_RADII = (4.5e-3, 5.5e-3, 6.5e-3)
_FIGURES = ("directivity_dbi", "gain_dbi", "s11_db", "front_to_back_db")
_SOLVER = SolverSettings(frequencies=(30e9,), design_frequency=30e9, cell=0.4e-3, pml_cells=8)


def self_test(
    backend: str = "cuda", *, against: str = "cpu", antennas: int = len(_RADII), surfaces: str = "diagonal"
) -> dict[str, Any]:
    """Solve small hemispherical lenses on two backends.

    Args:
        backend: The one that is tested.
        against: The one that it is compared with; `reference` is the oracle in NumPy, 1 s an antenna.
        antennas: At most three.
        surfaces: "diagonal" as in searches, or "full" as in certificates.

    Returns:
        `passed`; `worst_db`, the largest difference of a figure of merit; `repeats`, whether the middle antenna alone
        came out to the bit as in its batch; `cells`, `steps`; `seconds`, compilation included.

    Raises:
        FdtdError: The backend cannot solve them, with the reason.
    """
    designs = [{**_FIXED, "lens.radius": radius} for radius in _RADII[:antennas]]
    middle = antennas // 2
    made = plan("hemispherical_lens", designs[0], designs[-1], replace(_SOLVER, surfaces=surfaces)).to_dict()
    start = time.perf_counter()
    ours = evaluate("hemispherical_lens", designs, made, backend=backend)
    alone = evaluate("hemispherical_lens", designs[middle : middle + 1], made, backend=backend)[0]
    seconds = time.perf_counter() - start
    theirs = evaluate("hemispherical_lens", designs, made, backend=against)
    pairs = list(zip(ours, theirs, strict=True))
    solved = all(one["status"] == other["status"] == "ok" for one, other in pairs)
    worst = (
        float(np.max([np.abs(np.subtract(one[name], other[name])).max() for one, other in pairs for name in _FIGURES]))
        if solved
        else None
    )
    repeats = solved and all(alone[name] == ours[middle][name] for name in (*_FIGURES, "s11", "steps"))
    return {
        "passed": worst is not None and worst < TOLERANCE_DB and repeats,
        "worst_db": worst,
        "repeats": repeats,
        "cells": made["nr"] * made["nz"],
        "steps": max(one["steps"] for one in ours),
        "seconds": seconds,
    }
