"""Which stencil, scheme and backend work together: what the plans say when they are asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fdtd.backends.cuda.device import DryDevice
from fdtd.backends.cuda.planar import PlanarBatch, prepare
from fdtd.errors import Unsuitable
from fdtd.planar.bodies import free_space
from fdtd.planar.problem import JacobiProblem, PlanarGrid, PlanarLayer, PlanarProblem
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import HOPPER, Limits
from fdtd.schemes.rates import SCHEMES as ALL_SCHEMES
from fdtd.schemes.rates import check_pair

STENCILS = ("bor", "tmz", "tez", "jacobi5")
BACKENDS = ("reference", "cpu", "cuda")

_STEPPED_ONCE = "steps once a trip through memory, whatever the lattice"
_ON_CPU = {("bor", "one_step"), ("bor", "skewed"), ("tmz", "one_step"), ("tez", "one_step")}
_POINTS = 64  # small enough for every scheme


def support_matrix(limits: Limits = HOPPER) -> list[dict[str, Any]]:
    """One row a stencil, scheme and backend.

    Args:
        limits: Of the device that the CUDA rows are for.

    Returns:
        `stencil`, `scheme`, `backend`, `works`, and `reason` where it does not; `diagonal_only`, why it works for
        surfaces = "diagonal" alone, where it does.
    """
    rows = []
    for stencil in STENCILS:
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
    """The matrix for people: the backends of each pair, and why pairs have none on a GPU.

    A star marks a backend that works for surfaces = "diagonal" alone.
    """
    table, reasons = [["", *ALL_SCHEMES]], []
    for stencil in STENCILS:
        line = [stencil]
        for scheme in ALL_SCHEMES:
            pair = [row for row in rows if row["stencil"] == stencil and row["scheme"] == scheme]
            works = [row["backend"] + ("*" if "diagonal_only" in row else "") for row in pair if row["works"]]
            line.append(" ".join(works) or "-")
            reasons += [
                f"{stencil}, {scheme}: {row['reason']}" for row in pair if row["backend"] == "cuda" and not row["works"]
            ]
            reasons += [f"* {stencil}, {scheme}: {row['diagonal_only']}" for row in pair if "diagonal_only" in row]
        table.append(line)
    return table, reasons


def _refusal(stencil: str, scheme: str, backend: str, limits: Limits) -> str | None:
    """Why a combination cannot work, or None."""
    if backend == "reference":
        return None if scheme == "one_step" else f"the oracle {_STEPPED_ONCE}"
    if backend == "cpu":
        if (stencil, scheme) in _ON_CPU:
            return None
        return "no kernel on the CPU" if stencil == "jacobi5" else f"the CPU has no {scheme} for {stencil}"
    return _said(_plan_bor if stencil == "bor" else _plan_planar(stencil), scheme, limits)


def _said(plan: Callable[..., None], *what: Any) -> str | None:
    """Why a plan refuses, or None."""
    try:
        plan(*what)
    except Unsuitable as error:
        return str(error)
    return None


def _plan_bor(scheme: str, limits: Limits, surfaces: str = "diagonal") -> None:
    from antennaopt.bench.kernels import reference_problem

    check_pair("bor", scheme)
    if scheme not in SCHEMES:
        raise Unsuitable(f"{scheme} has no kernel for bor (allowed: {', '.join(SCHEMES)})")
    SCHEMES[scheme](reference_problem((_POINTS, 2 * _POINTS), 8, 1, surfaces=surfaces), "float32", limits)


def _plan_planar(stencil: str) -> Callable[[str, Limits], None]:
    def plan(scheme: str, limits: Limits) -> None:
        problem: PlanarProblem | JacobiProblem = JacobiProblem(initial=np.zeros((1, _POINTS, _POINTS)), steps=1)
        if stencil != "jacobi5":
            grid = PlanarGrid(nx=_POINTS, ny=_POINTS, cell=1e-3, polarisation=stencil[:2].upper())
            problem = PlanarProblem(grid=grid, media=free_space(grid), layer=PlanarLayer(), steps=1)
        prepare(PlanarBatch(DryDevice(limits), problem, "float32"), scheme)

    return plan
