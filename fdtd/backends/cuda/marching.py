"""Batches of any stencil on a device, ready to be stepped by one of its schemes; and the fastest scheme for each.

`tuned` times the model's best few plans once on a device, and keeps the winner in the user's cache. A winner holds for
one device, driver and kernel text, and for one stencil, shape, batch and precision; anything else is timed again. The
cache is a JSON file; one that cannot be read counts as none, and is replaced. Of processes that write at the same
moment one wins whole; the winner of the other is timed again when it is next needed.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fdtd.axisymmetric.problem import Problem
from fdtd.backends.cuda.device import Device
from fdtd.backends.cuda.dry_device import DryDevice
from fdtd.backends.cuda.packing import feed_macros
from fdtd.backends.cuda.planar import PLANAR_SCHEMES, PlanarBatch, prepare
from fdtd.backends.cuda.stepping import Batch
from fdtd.backends.cuda.text import REALS, flatten, kernel_digest
from fdtd.cache_folder import cache_folder, read_table, write_table
from fdtd.errors import ConfigError, FdtdError, Unsuitable
from fdtd.planar.problem import JacobiProblem, PlanarProblem
from fdtd.schemes import AnyProblem, Workload
from fdtd.schemes.antennas import SCHEMES
from fdtd.schemes.machine import Limits, Machine
from fdtd.schemes.rates import check_pair, predict, workload
from fdtd.stencils import BOR

_VERSION, _NAME = 1, "winners"
_BYTES = {"float32": 4, "float64": 8}
_STEPS = 48  # of one timing, at least
_TIMINGS = 3

Wait = Callable[[], None]
"""Returns when the device has done everything that was started."""


@dataclass(frozen=True, kw_only=True)
class Marching:
    """A batch in device memory.

    Attributes:
        advance: Starts the launches of that many more steps; does not wait.
        fields: State now, (problems, ...), padding left out.
        cells: Of all problems together.
    """

    advance: Callable[[int], None]
    fields: Callable[[], np.ndarray]
    cells: int


def schemes_of(stencil: str) -> tuple[str, ...]:
    """Names of the schemes that have a kernel for a stencil."""
    return tuple(SCHEMES if stencil == "bor" else PLANAR_SCHEMES)


def marching(
    problem: AnyProblem,
    device: Device,
    scheme: str,
    *,
    precision: str = "float32",
    copies: int = 1,
    macros: Mapping[str, int] | None = None,
    **choice: Any,
) -> Marching:
    """Plan, upload, compile.

    Args:
        problem: What to step.
        device: Where.
        scheme: One of `schemes_of` its stencil.
        precision: "float32" or "float64".
        copies: How often the problem's batch is stepped side by side.
        macros: More settings of the kernel text, for ablations.
        choice: Keywords of the plan.

    Raises:
        ConfigError: There is no such scheme.
        DeviceError: The device has too little memory.
        KernelBuildError: A kernel does not compile.
        Unsuitable: The scheme cannot step this problem on this device.
    """
    make: Any = _antennas if problem.stencil is BOR else _planar
    return make(problem, device, scheme, precision, copies, macros or {}, choice)


def _antennas(
    problem: Problem, device: Device, scheme: str, precision: str, copies: int, macros: Mapping[str, int],
    choice: Mapping[str, Any],
) -> Marching:  # fmt: skip
    check_pair("bor", scheme)
    if scheme not in SCHEMES:
        raise ConfigError(f"scheme = {scheme!r} has no kernel for bor (allowed: {', '.join(SCHEMES)})")
    made = SCHEMES[scheme](problem, precision, device.limits, **choice)
    made = replace(made, macros={**made.macros, **macros})
    antennas, nr = Batch(device, problem, made, precision, copies), problem.grid.nr
    return Marching(
        advance=lambda steps: antennas.advance(antennas.steps + steps),
        fields=lambda: np.moveaxis(antennas.fetch("fields")[..., made.lead : made.lead + nr], 2, 1),
        cells=problem.grid.cells * antennas.size,
    )


def _planar(
    problem: PlanarProblem | JacobiProblem, device: Device, scheme: str, precision: str, copies: int,
    macros: Mapping[str, int], choice: Mapping[str, Any],
) -> Marching:  # fmt: skip
    batch = PlanarBatch(device, problem, precision, copies, macros)
    return Marching(
        advance=prepare(batch, scheme, **choice), fields=batch.fields, cells=batch.work.cells * batch.work.batch
    )


def kernel_texts(
    problem: AnyProblem,
    limits: Limits,
    scheme: str,
    *,
    steps: int,
    precision: str = "float32",
    copies: int = 1,
    macros: Mapping[str, int] | None = None,
    **choice: Any,
) -> list[str]:
    """The texts that `marching` and its first steps compile; arguments and errors as there."""
    if problem.stencil is BOR:
        antennas: Any = problem
        made = SCHEMES[scheme](antennas, precision, limits, **choice)
        settings = {"REAL": REALS[precision]} | feed_macros(antennas)
        texts = (made.text, settings | made.macros | dict(macros or {})), ("kernels/axisymmetric/looks.cu", settings)
        return [flatten(*one) for one in texts]
    device = DryDevice(limits)
    marching(problem, device, scheme, precision=precision, copies=copies, macros=macros, **choice).advance(steps)
    return device.texts


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A scheme and the keywords of its plan.

    Attributes:
        scheme: Its name.
        choice: Keywords of its plan.
        predicted: Cell-steps a second by the model.
    """

    scheme: str
    choice: dict[str, Any] = field(default_factory=dict)
    predicted: float = 0.0


def best_few(work: Workload[Any], machine: Machine, *, count: int = 6, of_each: int = 3) -> tuple[Candidate, ...]:
    """Return the plans of a planar stencil that the model predicts to be fastest, best first.

    Args:
        work: What is stepped.
        machine: Device.
        count: At most this many.
        of_each: At most this many of one scheme: the model orders plans of one scheme better than schemes.
    """
    found = []
    for scheme, choice in _plans(work.stencil.name):
        try:
            made = predict(work, scheme, machine, choice)
        except Unsuitable:
            continue
        found.append(Candidate(scheme=scheme, choice=choice, predicted=made.rate))
    found.sort(key=lambda candidate: -candidate.predicted)
    taken: list[Candidate] = []
    for candidate in found:
        if sum(one.scheme == candidate.scheme for one in taken) < of_each:
            taken.append(candidate)
    return tuple(taken[:count])


def _plans(stencil: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "one_step", {}
    for depth, warps in itertools.product((1, 2, 3, 4, 5, 6, 8, 10, 12), (16, 8)):
        yield "trapezoidal", {"depth": depth, "warps": warps}
    for cluster in (1, 2, 4, 8, 16):
        yield "resident", {"cluster": cluster}
    if stencil == "jacobi5":
        for levels, burst in itertools.product((4, 6, 8, 12), (2, 4)):
            yield "skewed", {"levels": levels, "burst": burst}
    else:
        for levels in (2, 4, 6, 8, 12, 16):
            yield "skewed", {"levels": levels}


def cache_file() -> Path:
    """Where winners are remembered: `antennaopt/tuned.json` in the user's cache folder (XDG)."""
    return cache_folder() / "tuned.json"


def recalled(key: str, file: Path) -> tuple[Candidate, float] | None:
    """The winner remembered under a key and its cell-steps a second, or None."""
    entry = read_table(file, _VERSION, _NAME).get(key)
    with contextlib.suppress(KeyError, TypeError, ValueError):
        if isinstance(entry, dict):
            winner = Candidate(
                scheme=str(entry["scheme"]), choice=dict(entry["choice"]), predicted=float(entry["predicted"])
            )
            return winner, float(entry["cell_steps_per_s"])
    return None


def recall(key: str, file: Path) -> Candidate | None:
    """The winner remembered under a key, or None."""
    found = recalled(key, file)
    return None if found is None else found[0]


def remember(key: str, winner: Candidate, rate: float, file: Path) -> None:
    """Add a winner to the cache in one step; a folder that cannot be written leaves it out."""
    winners = read_table(file, _VERSION, _NAME)
    winners[key] = {
        "scheme": winner.scheme, "choice": winner.choice, "predicted": winner.predicted, "cell_steps_per_s": rate,
    }  # fmt: skip
    with contextlib.suppress(OSError):
        write_table(file, _VERSION, _NAME, winners)


def fastest(candidates: Sequence[Candidate], measure: Callable[[Candidate], float]) -> tuple[Candidate, float]:
    """Time candidates; what cannot run here is passed over.

    Args:
        candidates: Best guess first.
        measure: Cell-steps a second of one; raises `FdtdError` where it cannot run.

    Returns:
        The fastest and its rate.

    Raises:
        Unsuitable: None of them runs.
    """
    best: tuple[Candidate, float] | None = None
    reasons = []
    for candidate in candidates:
        try:
            rate = measure(candidate)
        except FdtdError as error:
            reasons.append(str(error))
            continue
        if best is None or rate > best[1]:
            best = candidate, rate
    if best is None:
        raise Unsuitable(f"no scheme runs here: {'; '.join(reasons) or 'there is no candidate'}")
    return best


def tuned(
    problem: AnyProblem,
    device: Any,
    machine: Machine,
    *,
    identity: str,
    wait: Wait,
    precision: str = "float32",
    copies: int = 1,
    file: Path | None = None,
) -> Candidate:
    """The fastest scheme and plan for a problem on a device, timed if it is not remembered.

    Args:
        problem: What will be stepped.
        device: Where.
        machine: Its numbers.
        identity: What must not change for a winner to hold: device, compute capability, driver.
        wait: Waits for the device.
        precision: "float32" or "float64".
        copies: How often the problem's batch is stepped side by side.
        file: The cache; the user's if None.

    Raises:
        Unsuitable: No scheme runs.
    """
    place = cache_file() if file is None else file
    stencil, (batch, rows, columns) = problem.stencil, problem.lattices
    batch *= copies
    if stencil is BOR:
        antennas: Any = problem
        kind = f"m {antennas.grid.azimuthal_order}, every {antennas.sampling.record_every}"
        found = antenna_candidates(antennas, precision, machine, batch)
    else:
        kind = f"phases {stencil.phases}"
        work = workload(
            stencil.name, machine, rows=rows, columns=columns, batch=batch, layer=problem.layer_cells,
            size=_BYTES[precision],
        )  # fmt: skip
        found = best_few(work, machine)
    lattice = f"{stencil.name} {rows}x{columns}x{batch}, layer {problem.layer_cells}"
    key = f"{identity}, text {kernel_digest()}, {lattice}, {kind} {precision}"
    known = recall(key, place)
    if known is not None:
        return known

    def measure(candidate: Candidate) -> float:
        ready = marching(
            problem, device, candidate.scheme, precision=precision, copies=copies, **candidate.choice
        )  # fmt: skip
        return _rate(ready, candidate, problem.steps, wait)

    winner, rate = fastest(found, measure)
    remember(key, winner, rate, place)
    return winner


def antenna_candidates(problem: Problem, precision: str, machine: Machine, batch: int) -> tuple[Candidate, ...]:
    """Every scheme of the axisymmetric stencil that can step a problem as its plan would, best guess first."""
    work = workload(
        "bor", machine, rows=problem.grid.nz, columns=problem.grid.nr, batch=batch,
        size=_BYTES[precision],
    )  # fmt: skip
    found = []
    for scheme, make in SCHEMES.items():
        try:
            make(problem, precision, machine)
            made = predict(work, scheme, machine)
        except Unsuitable:
            continue
        found.append(Candidate(scheme=scheme, predicted=made.rate))
    return tuple(sorted(found, key=lambda candidate: -candidate.predicted))


def _rate(ready: Marching, candidate: Candidate, most_steps: int, wait: Wait) -> float:
    """Cell-steps a second, median; as many steps as the depth divides and the problem's record allows."""
    depth = candidate.choice.get("depth") or candidate.choice.get("levels") or 1
    steps = min(-(-_STEPS // depth) * depth, max(1, most_steps // (_TIMINGS + 1)))
    ready.advance(steps)  # compiles, and fills what the first launch fills
    seconds = []
    for _ in range(_TIMINGS):
        wait()
        start = time.perf_counter()
        ready.advance(steps)
        wait()
        seconds.append(time.perf_counter() - start)
    return ready.cells * steps / statistics.median(seconds)
