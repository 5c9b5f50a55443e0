"""The arithmetic class of a worker: what must be equal for two solutions of the same cells to be equal to the bit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from antennaopt import __version__
from antennaopt.evaluation.plan import SolverPlan
from antennaopt.machine import installed, processor_name

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "cupy-cuda12x", "cupy-cuda13x")
TEXT = (".py", ".cu", ".cuh")
DECIDING = (("fdtd",), ("antennaopt", "geometry"), ("antennaopt", "evaluation", "evaluate.py"))
"""Whose text decides an outcome, from the design to the figures of merit."""


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """Everything that a result rests on beside the cells.

    Attributes:
        solver: Version of the solver: the package's, and the digest of its own text, which changes with every edit.
        context: SHA-256 in hexadecimal of the solver, the lattice with its source and monitors, the stop, backend,
            precision, packages, and the processor, or the device with driver and scheme.
    """

    solver: str
    context: str

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return asdict(self)


def arithmetic(plan: Mapping[str, Any], backend: str) -> Arithmetic:
    """Return the class in which this process solves a plan.

    Args:
        plan: As `SolverPlan.to_dict` wrote it.
        backend: What solves.

    Raises:
        DeviceError: The backend has no device here.
    """
    solver = SolverPlan.from_dict(plan)
    problem = json.dumps([solver.layout.to_dict(), solver.precision], sort_keys=True)
    return _of(problem, backend)


@lru_cache(maxsize=8)
def _of(problem: str, backend: str) -> Arithmetic:
    solver = solver_version()
    basis = {
        "solver": solver,
        "problem": problem,
        "backend": backend,
        "packages": installed(PACKAGES),
        "machine": _device() if backend == "cuda" else processor_name(),
    }
    return Arithmetic(solver=solver, context=hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest())


def _device() -> str:
    """Device, compute capability and driver: with the solver's text and the lattice they decide the scheme."""
    from fdtd.backends import cuda

    return cuda.device().identity


def solver_version() -> str:
    """Return the package's version and the beginning of the digest of the solver's text."""
    return f"{__version__}+{source_digest()[:12]}"


@lru_cache(maxsize=1)
def source_digest() -> str:
    """Return the SHA-256 in hexadecimal of all text that decides an outcome."""
    digest = hashlib.sha256()
    for package, *inner in DECIDING:
        _add(digest, files(package).joinpath(*inner), "/".join((package, *inner)))
    return digest.hexdigest()


def _add(digest: Any, place: Traversable, name: str) -> None:
    if place.is_dir():
        for entry in sorted(place.iterdir(), key=lambda one: one.name):
            if entry.is_dir() or entry.name.endswith(TEXT):
                _add(digest, entry, f"{name}/{entry.name}")
    elif place.is_file():
        digest.update(f"{name}\n{place.read_text('utf-8')}".encode())
