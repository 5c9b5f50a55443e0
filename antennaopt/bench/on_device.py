"""Throughput of a CUDA device's kernels: every stencil and scheme, whole and with parts left out.

Variants of one case (stencil, lattice, batch) step the same problems from the same noise and take turns, so that a
change of the clock meets all alike.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from antennaopt.bench.problems import PARTS, full_problem, without
from antennaopt.bench.runner import Log, in_turns, rates
from fdtd.backends.cuda.device import CudaDevice, describe
from fdtd.backends.cuda.marching import AnyProblem, Marching, kernel_texts, marching, schemes_of
from fdtd.errors import ConfigError, FdtdError, Unsuitable
from fdtd.schemes.machine import Machine
from fdtd.schemes.rates import predict, workload
from fdtd.stencils import STENCILS

BARE = ("layers", "record", "media")
ARITHMETIC = "arithmetic"  # left out, a kernel moves its numbers and changes none
ABLATIONS: tuple[tuple[str, ...], ...] = (("layers",), ("record",), ("media",), BARE, (*BARE, ARITHMETIC))
"""What is left out in turn: no layers, no record, air alone, the update only, memory only."""

ALSO: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {"bor": (("one_step", {"launches": 1}),)}
"""Other forms of a stencil's schemes: timed with nothing left out, and never chosen for a study."""

_DISTINCT = 8  # problems; larger batches are these over and over
_ROUND = {"bor": 480}  # steps of one timing; planar ones go by the clock
_PLANAR_ROUND = 240  # every depth divides it
_LONGEST = 4  # rounds
_SECONDS = 0.03  # of one timing
_PROCESSES = 15
_UNCHECKED: dict[str, Any] = {"difference_from_one_step": None, "copies_equal": None}


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is stepped.

    Attributes:
        stencil: One of `STENCILS`.
        shape: Columns and rows (nr, nz), layers included.
        batch: Problems together.
    """

    stencil: str
    shape: tuple[int, int]
    batch: int

    @property
    def distinct(self) -> int:
        """Problems that differ; the largest divisor of the batch up to eight."""
        return max(count for count in range(1, min(_DISTINCT, self.batch) + 1) if self.batch % count == 0)


STANDARD = (
    *(Case(stencil="bor", shape=(256, 320), batch=batch) for batch in (264, 112, 1)),
    *(Case(stencil=name, shape=(256, 320), batch=264) for name in ("tmz", "tez")),
    *(Case(stencil=name, shape=(200, 200), batch=112) for name in ("tmz", "tez")),
    Case(stencil="jacobi5", shape=(8192, 8192), batch=1),
    Case(stencil="jacobi5", shape=(400, 400), batch=132),
)
"""Whole populations, what fits clusters, one antenna; large sums and batches of small ones."""


@dataclass(frozen=True, kw_only=True)
class Variant:
    """How it is stepped.

    Attributes:
        scheme: Its name.
        choice: Options of the plan.
        without: What is left out, of `PARTS` and `ARITHMETIC`.
        precision: "float32" or "float64".
    """

    scheme: str
    choice: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    precision: str = "float32"

    @property
    def name(self) -> str:
        """Text for messages and tables."""
        options = "".join(f" {key} {value}" for key, value in self.choice.items())
        return self.scheme + options + (f" without {', '.join(self.without)}" if self.without else "")


def bench_on_device(
    cases: Sequence[Case] = STANDARD,
    *,
    schemes: Sequence[str] = (),
    left_out: Sequence[tuple[str, ...]] | None = None,
    precision: str = "float32",
    steps: int | None = None,
    repeat: int = 5,
    device: Any = None,
    told: Log | None = None,
) -> list[dict[str, Any]]:
    """Time every scheme on every case.

    Args:
        cases: What is stepped.
        schemes: Some of the stencils' schemes; all if empty. Every form of `one_step` is always timed, for the ratios.
        left_out: Parts, of `PARTS`, without which each is timed as well, in turn; `ABLATIONS` if None, none if empty.
        precision: "float32" or "float64".
        steps: Of one timing; some 30 ms if None.
        repeat: Timings of each variant, of which the median.
        device: Where; the CUDA device here if None.
        told: Gets one line a row, and what cannot be timed.

    Returns:
        Rows as `time_variants` makes them.

    Raises:
        ConfigError: A stencil, a scheme or a part is unknown.
        DeviceError: There is no device.
    """
    for part in {part for parts in left_out or () for part in parts} - {*PARTS, ARITHMETIC}:
        raise ConfigError(f"{part!r} cannot be left out (allowed: {', '.join((*PARTS, ARITHMETIC))})")
    where = CudaDevice() if device is None else device
    rows = []
    for case in cases:
        if case.stencil not in STENCILS:
            raise ConfigError(f"stencil = {case.stencil!r} is unknown (allowed: {', '.join(STENCILS)})")
        there = schemes_of(case.stencil)
        wanted = [name for name in there if not schemes or name in schemes or name == "one_step"]
        variants = [Variant(scheme=name, precision=precision) for name in wanted]
        variants += [
            Variant(scheme=name, choice=choice, precision=precision)
            for name, choice in ALSO.get(case.stencil, ())
            if name in wanted
        ]
        variants += [
            Variant(scheme=name, without=parts, precision=precision)
            for name in wanted
            for parts in (_ablations(case.stencil) if left_out is None else left_out)
        ]
        rows += time_variants(where, case, variants, steps=steps, repeat=repeat, told=told)
    return rows


def _ablations(stencil: str) -> tuple[tuple[str, ...], ...]:
    """Five-point sums have nothing but their arithmetic to leave out."""
    return ((ARITHMETIC,),) if stencil == "jacobi5" else ABLATIONS


def time_variants(
    device: Any,
    case: Case,
    variants: Sequence[Variant],
    *,
    steps: int | None = None,
    repeat: int = 5,
    told: Log | None = None,
) -> list[dict[str, Any]]:
    """Time the variants of one case.

    Args:
        device: Where.
        case: What is stepped.
        variants: How.
        steps: Of one timing; some 30 ms if None.
        repeat: Timings of each variant, of which the median.
        told: Gets one line a row, and of every variant that cannot be timed, why.

    Returns:
        One row a variant that runs: `stencil`, `scheme`, `backend`, `device`, `dtype`, `shape`, `batch`, `steps`,
        `cell_steps_per_s` (median), `spread` (half of the range over the median), `ratio_to_one_step` (to the faster
        form of `one_step` that was timed, null where none was), `choice`, `without`; `fraction_of_arithmetic`,
        additions and multiply-adds of the bare update over all that the device can issue, and `fraction_of_memory`,
        bytes that the scheme must move over what the memory can (null without a model, and without media);
        `difference_from_one_step`, the largest after the first round relative to each component's largest magnitude,
        and `copies_equal`, whether the same problem has the same bits in the batch's first and last places (both null
        with parts left out, the latter also without copies).
    """
    say = told or (lambda line: None)
    numbers = describe(device)
    first = steps or _ROUND.get(case.stencil, _PLANAR_ROUND)
    most = first if steps or case.stencil in _ROUND else _LONGEST * first
    problem = full_problem(case.stencil, case.shape, 2 * first + repeat * most, case.distinct)
    if isinstance(device, CudaDevice):
        _compile(device, case, problem, variants, first)
    ready, counts, checks = _started(device, case, problem, variants, first, most, say)

    def timed(name: str) -> float:
        return ready[name].cells * counts[name] / seconds_of(device, ready[name], counts[name])

    measured = in_turns({name: partial(timed, name) for name in ready}, repeat)
    forms = [one.name for one in variants if one.scheme == "one_step" and not one.without and one.name in measured]
    base = max((statistics.median(measured[name]) for name in forms), default=None)
    rows = []
    for variant in variants:
        if variant.name not in measured:
            continue
        found = rates(measured[variant.name], base)
        rows.append({
            "stencil": case.stencil, "scheme": variant.scheme, "backend": "cuda", "device": device.name,
            "dtype": variant.precision, "shape": list(case.shape), "batch": case.batch,
            "steps": counts[variant.name], **found,
            "choice": dict(variant.choice), "without": list(variant.without),
            **_fractions(case, variant, found["cell_steps_per_s"], numbers), **checks.get(variant.name, _UNCHECKED),
        })  # fmt: skip
        say(_line(rows[-1]))
    return rows


def _is_base(variant: Variant) -> bool:
    return variant.scheme == "one_step" and not variant.without and not variant.choice


def _settings(variant: Variant) -> dict[str, int]:
    return {"MOVE_ONLY": 1} if ARITHMETIC in variant.without else {}


def _compile(device: CudaDevice, case: Case, problem: AnyProblem, variants: Sequence[Variant], steps: int) -> None:
    """Compile the kernels of all variants."""
    texts: set[str] = set()
    for variant in variants:
        with contextlib.suppress(FdtdError):  # comes again, with a name, when it is started
            texts |= set(
                kernel_texts(
                    without(problem, variant.without), device.limits, variant.scheme, steps=steps,
                    precision=variant.precision, copies=case.batch // case.distinct, macros=_settings(variant),
                    **variant.choice,
                )
            )  # fmt: skip
    compile_texts(texts)


def compile_texts(texts: Iterable[str]) -> None:
    """Fill CuPy's cache of compiled kernels, many processes at a time."""
    wanted = set(texts)
    workers = min(len(wanted), _PROCESSES, max(1, (os.cpu_count() or 1) - 1))
    if workers > 1:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            list(pool.map(compile_one, wanted))


def compile_one(text: str) -> None:
    """Leave a text's machine code in CuPy's cache; errors come again, with a name, in the parent."""
    with contextlib.suppress(FdtdError):
        CudaDevice().program(text)


def _started(
    device: Any, case: Case, problem: AnyProblem, variants: Sequence[Variant], first: int, most: int, say: Log
) -> tuple[dict[str, Marching], dict[str, int], dict[str, dict[str, Any]]]:
    """Variants that run, by name, after a first round; steps of their timings; what was checked of each."""
    ready: dict[str, Marching] = {}
    counts: dict[str, int] = {}
    checks: dict[str, dict[str, Any]] = {}
    expected: np.ndarray | None = None
    for variant in sorted(variants, key=lambda one: not _is_base(one)):
        try:
            one = marching(
                without(problem, variant.without), device, variant.scheme, precision=variant.precision,
                copies=case.batch // case.distinct, macros=_settings(variant), **variant.choice,
            )  # fmt: skip
            one.advance(first)
            device.synchronize()
        except FdtdError as error:
            say(f"{case.stencil} {variant.name}: {type(error).__name__}: {str(error)[:1000]}")
            continue
        ready[variant.name] = one
        if not variant.without:
            batch, last = one.fields(), case.batch - case.distinct
            fields = batch[: case.distinct].astype(float)
            expected = fields if _is_base(variant) else expected
            checks[variant.name] = {
                "difference_from_one_step": None if expected is None else _difference(fields, expected),
                "copies_equal": bool(np.array_equal(batch[last:], batch[: case.distinct])) if last else None,
            }
        wanted = first if first == most else int(_SECONDS / seconds_of(device, one, first)) * first
        counts[variant.name] = min(most, max(first, wanted))
    return ready, counts, checks


def _difference(fields: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference of (problems, components, ...), over each component's largest magnitude."""
    axes = (0, *range(2, fields.ndim))
    scale = np.abs(expected).max(axis=axes)
    return float((np.abs(fields - expected).max(axis=axes) / np.where(scale > 0, scale, 1.0)).max())


def seconds_of(device: Any, one: Marching, steps: int) -> float:
    """Return how long some steps of a batch take on an idle device."""
    device.synchronize()
    start = time.perf_counter()
    one.advance(steps)
    device.synchronize()
    return time.perf_counter() - start


def _fractions(case: Case, variant: Variant, rate: float, machine: Machine) -> dict[str, float | None]:
    """Return what part of the device's arithmetic and memory a rate is; the model's bytes for the scheme's own plan."""
    size = 4 if variant.precision == "float32" else 8
    stencil = STENCILS[case.stencil]
    operations = stencil.operations * size / 4
    columns, rows = case.shape
    layer = 0 if "layers" in variant.without or case.stencil == "jacobi5" else 10
    arithmetic = None if ARITHMETIC in variant.without else rate * operations / machine.instructions_per_s
    memory: float | None = None
    if not {"media", ARITHMETIC} & set(variant.without):  # else coefficients are not read as the model has it
        with contextlib.suppress(Unsuitable, TypeError):
            work = workload(case.stencil, machine, rows=rows, columns=columns, batch=case.batch, layer=layer, size=size)
            need = predict(work, variant.scheme, machine, variant.choice).need
            memory = rate * need.memory_bytes / machine.memory_bytes_per_s
    return {"fraction_of_arithmetic": arithmetic, "fraction_of_memory": memory}


def _line(row: Mapping[str, Any]) -> str:
    less = f" without {', '.join(row['without'])}" if row["without"] else ""
    options = "".join(f" {key} {value}" for key, value in row["choice"].items())
    ratio = "" if row["ratio_to_one_step"] is None else f", {row['ratio_to_one_step']:.2f} x one_step"
    shape = " x ".join(map(str, row["shape"]))
    return (
        f"{row['stencil']} {row['scheme']}{options}{less}, {shape} x {row['batch']}: "
        f"{row['cell_steps_per_s'] / 1e9:.1f} G cell-steps/s +-{row['spread']:.1%}{ratio}"
    )
