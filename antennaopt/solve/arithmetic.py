"""The arithmetic class: the conditions under which two solutions of the same cells are equal to the bit.

One definition for the evaluation cache, which finds an outcome only in the class that it was solved in, and for
`resume`, which names what differs from the class that the run began in. Workers are asked for theirs: they solve.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from antennaopt import __version__
from antennaopt.machine import installed, processor_name
from antennaopt.solve.device import AS_THE_WORKER, own_backend
from antennaopt.solve.plan import SolverPlan

PACKAGES = ("numpy", "scipy")
"""Whose version can change a bit of an outcome; the compiler of the CPU's kernels names itself."""

OF_CUDA = ("cupy-cuda12x", "cupy-cuda13x", "nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc")
"""The same, where a device solves."""

TEXT = (".py", ".cu", ".cuh")
DECIDING = (
    ("fdtd",),
    ("antennaopt", "families"),
    ("antennaopt", "metrics.py"),
    ("antennaopt", "solve", "evaluate.py"),
    ("antennaopt", "solve", "planes.py"),
    ("antennaopt", "solve", "rings.py"),
    ("antennaopt", "solve", "yee.py"),
    ("antennaopt", "solve", "yee_figures.py"),
    ("antennaopt", "solve", "yee_plan.py"),
)
"""Whose text decides an outcome, from the design to the figures of merit."""

OF_THE_SEARCH = (("antennaopt", "search"), ("antennaopt", "settings"))
"""Whose text, besides, decides which antennas a run solves."""


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """Everything that a result rests on in addition to the cells.

    Attributes:
        solver: Version of the solver: the package's, and the digest of its own text, which changes with every edit.
        context: SHA-256 in hexadecimal of the class, and of the lattice with its source, monitors and stop.
    """

    solver: str
    context: str

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return asdict(self)


def arithmetic(plan: Mapping[str, Any], backend: str) -> Arithmetic:
    """Return what results of this process rest on when it solves a plan.

    Args:
        plan: As `SolverPlan.to_dict` wrote it.
        backend: What solves.

    Raises:
        DeviceError: The backend has no device here.
    """
    if plan.get("solver") == "yee":
        from antennaopt.solve.yee_plan import YeePlan

        known = YeePlan.from_dict(plan)
        return _of(json.dumps(known.deciding, sort_keys=True), backend, known.precision)
    return arithmetic_of(SolverPlan.from_dict(plan), backend)


def arithmetic_of(plan: SolverPlan, backend: str) -> Arithmetic:
    """Return what results of this process rest on; see `arithmetic`."""
    modes = [[one.z, *one.modes] for one in plan.modes]
    layout = plan.layout.to_dict() | ({"report_modes": modes} if modes else {})
    layout |= {"looks_back": True} if plan.looks_back else {}
    layout |= {} if plan.losses else {"losses": False}
    return _of(json.dumps(layout, sort_keys=True), backend, plan.precision)


@lru_cache(maxsize=8)
def _of(problem: str, backend: str, precision: str) -> Arithmetic:
    basis = {"class": arithmetic_class(backend, precision), "problem": problem}
    context = hashlib.sha256(json.dumps(basis, sort_keys=True).encode()).hexdigest()
    return Arithmetic(solver=solver_version(), context=context)


def arithmetic_class(backend: str, precision: str | None) -> dict[str, str]:
    """Return the class in which this process solves: backend, solver's text, kernels, compiler, device, packages.

    Args:
        backend: What solves, or `AS_THE_WORKER`.
        precision: `float32` or `float64`.

    Raises:
        DeviceError: The backend has no device here.
    """
    if backend == AS_THE_WORKER:
        backend = own_backend()
    return {
        "backend": backend,
        "precision": str(precision),
        "solver": solver_version(),
        **_compiled(backend),
        **installed(PACKAGES),
    }


def _compiled(backend: str) -> dict[str, str]:
    """Kernels, their compiler, and what they run on."""
    if backend == "cuda":
        from fdtd.backends import cuda
        from fdtd.backends.cuda.paces import paces_text
        from fdtd.backends.cuda.text import kernel_digest

        device = cuda.device()
        about = {
            "kernels": kernel_digest()[:12], "compiler": device.compiler, "device": device.identity,
            "paces": paces_text(device.identity),
        }  # fmt: skip
        return about | installed(OF_CUDA)
    if backend == "cpu":
        from fdtd.backends.cpu.compiled import KERNEL_DIGEST, compiler, target

        return {
            "kernels": KERNEL_DIGEST[:12],
            "compiler": compiler(),
            "target": target(),
            "processor": processor_name(),
        }
    return {"processor": processor_name()}


def run_class(workers: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the class of a run: of its workers, values that differ side by side, and of its search.

    Args:
        workers: `arithmetic_class` of each.
    """
    found: dict[str, set[str]] = {}
    for worker in workers:
        for name, value in worker.items():
            found.setdefault(name, set()).add(value)
    deap = installed(["deap"]).get("deap", "none")
    search = f"{__version__}+{text_digest(OF_THE_SEARCH)[:12]}, DEAP {deap}"
    return {name: "; ".join(sorted(values)) for name, values in found.items()} | {"search": search}


def class_changes(then: Any, now: Mapping[str, str]) -> list[str]:
    """Return what differs between two classes of runs, each as `numpy: 2.4.6 -> 2.5.0`; nothing when bits are equal.

    Args:
        then: As a manifest has it; what is no table of texts there is not recorded. Version 0.1 recorded the versions
            in a table of their own, and neither solver nor compiler.
        now: From `run_class`.
    """
    table = then if isinstance(then, Mapping) else {}
    versions = table.get("versions")
    known = {**(versions if isinstance(versions, Mapping) else {}), **table}
    before = {name: value for name, value in known.items() if isinstance(value, str)}
    if "solver" not in now:
        return ["the workers did not say what they solve with"]
    missing = [name for name in now if name not in before]
    changes = [f"{name}: {before[name]} -> {now[name]}" for name in now if before.get(name, now[name]) != now[name]]
    if "solver" in before:
        changes += [f"{name}: none -> {now[name]}" for name in missing]
        changes += [f"{name}: {before[name]} -> none" for name in before if name not in now]
    elif missing:
        changes.append(f"{', '.join(missing)}: not recorded when the run began")
    return changes


def solver_version() -> str:
    """Return the package's version and the beginning of the digest of the solver's text."""
    return f"{__version__}+{source_digest()[:12]}"


def source_digest() -> str:
    """Return the SHA-256 in hexadecimal of all text that decides an outcome, as it was when this was imported."""
    return text_digest(DECIDING)


@lru_cache(maxsize=2)
def text_digest(places: tuple[tuple[str, ...], ...]) -> str:
    """Return the SHA-256 in hexadecimal of text files, each place a package and what is in it."""
    digest = hashlib.sha256()
    for package, *inner in places:
        _add(digest, files(package).joinpath(*inner), "/".join((package, *inner)))
    return digest.hexdigest()


def _add(digest: Any, place: Traversable, name: str) -> None:
    if place.is_dir():
        shown = (one for one in place.iterdir() if not one.name.startswith("."))  # others are an editor's
        for entry in sorted(shown, key=lambda one: one.name):
            if entry.is_dir() or entry.name.endswith(TEXT):
                _add(digest, entry, f"{name}/{entry.name}")
    elif place.is_file():
        digest.update(f"{name}\n{place.read_text('utf-8')}".encode())


source_digest()  # taken now: files may change while this process still runs what it imported
