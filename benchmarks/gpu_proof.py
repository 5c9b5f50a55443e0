"""What the kernels of a CUDA device are held to, at full size, in one run; writes the figures as JSON.

    python benchmarks/gpu_proof.py --json results/benchmarks/h200/proof.json [--part NAME ...] [--steps 10000]

fields: every scheme of every stencil against `one_step`, and both against float64, sampled over the run; lenses with
coupled nodes (surfaces = "full") as well, by the schemes that do not refuse them.
oracle: the float64 `one_step` that stands in for the oracle at full size against the oracle itself, on small lattices.
bits: the same batch twice, and an antenna alone and in any place of a batch, by every scheme.
ports: antennas at cells of 0.2 and 0.1 mm, where the port is 18 and 36 columns wide, by every scheme: port records and
S11 against the CPU in float64.
figures: populations of the four families, all antennas of each, and of one with coupled nodes, against the CPU; and the
same while three batches share the device.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "agreement"))

from gpu_evaluate import FEED, FIGURES, LINEAR, SOLVER, compare, designs
from gpu_small import kernels_of, way_of
from random_problems import error, random_problem, record_errors, worst
from test_planar import error as planar_error
from test_planar import random_problem as random_planar_problem

from antennaopt.bench.on_device import compile_texts
from antennaopt.bench.problems import full_problem, reference_problem
from antennaopt.families import FAMILIES as ANTENNAS
from antennaopt.families import stack
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.plan import plan
from fdtd.axisymmetric.layout import Layout
from fdtd.axisymmetric.ports import GuideMode
from fdtd.axisymmetric.problem import Problem, Records
from fdtd.axisymmetric.simulation import fill, pose
from fdtd.axisymmetric.solutions import solutions
from fdtd.backends import cpu, cuda, planar_reference, reference
from fdtd.backends.cuda import SCHEMES, Batch, antenna_bytes, planar
from fdtd.backends.cuda.marching import AnyProblem, kernel_texts, marching, schemes_of
from fdtd.errors import FdtdError, Unsuitable
from fdtd.planar.problem import JacobiProblem

FAMILIES = ("shaped_lens", "hemispherical_lens", "conical_horn", "open_waveguide")
PRECISIONS = ("float64", "float32")
SAMPLED = 500  # steps between looks
AGAINST_ONE_STEP = 1e-5  # of each component's largest magnitude over the run
AGAINST_FLOAT64 = 1e-4
IN_DECIBELS = 0.01
# 0.01 dB of a power, and what they move a beam's edge by where it falls by 0.2 dB a degree, as a lobe 60 degrees wide.
IN_LINEAR = {"hpbw_e_deg": 0.1, "hpbw_h_deg": 0.1, "radiation_efficiency": 2.3e-3, "power_balance": 2.3e-3}
SURFACES = ("diagonal", "full")
POPULATIONS = (*((family, "diagonal") for family in FAMILIES), ("shaped_lens", "full"))
POPULATION = 40
SMALL = (91, 141)
SHAPES = {"bor": (256, 320), "tmz": (256, 320), "tez": (256, 320), "jacobi5": (400, 400)}
PORT_CELLS = (0.2e-3, 0.1e-3)
PORT_LENSES = [
    FEED | {"feed.length": 7.2e-3, "lens.permittivity": 2.53, "lens.loss_tangent": 6.6e-4, "lens.extension": 1e-3}
    | {"lens.radius": radius}
    for radius in (4.5e-3, 5.5e-3)
]  # fmt: skip
SMALLER = {"resident": {"tmz": (200, 200), "tez": (200, 200)}}  # where the whole does not fit a cluster


def sampled(problem: AnyProblem, kernel: str, precision: str, steps: int) -> Iterator[np.ndarray]:
    """Return fields at the start and at regular steps, (problems, components, ...), float64."""
    scheme, choice = way_of(kernel)
    ready = marching(problem, cuda.device(), scheme, precision=precision, **choice)
    yield ready.fields().astype(float)
    for _ in range(steps // SAMPLED):
        ready.advance(SAMPLED)
        yield ready.fields().astype(float)


def compile_ahead(parts: Collection[str]) -> None:
    """Everything that the parts will ask for, many processes at a time."""
    wanted: list[tuple[AnyProblem, str, str]] = []
    if "fields" in parts or "bits" in parts:
        for stencil, whole in SHAPES.items():
            for shape, schemes in _lattices(stencil, whole):
                for surfaces in SURFACES if stencil == "bor" else SURFACES[:1]:
                    problem = full_problem(stencil, shape, SAMPLED, 4, surfaces=surfaces)
                    wanted += [(problem, scheme, "float32") for scheme in schemes] + [(problem, "one_step", "float64")]
    if "oracle" in parts:
        lenses = list(_small_lenses().values())
        waves = [random_planar_problem(name, (101, 83), steps=600, batch=3, start=False) for name in ("TM", "TE")]
        wanted += [(one, scheme, real) for one in lenses for scheme in kernels_of("bor") for real in PRECISIONS]
        wanted += [(one, scheme, real) for one in waves for scheme in kernels_of("tmz") for real in PRECISIONS]
        wanted += [(_small_sums(), scheme, real) for scheme in schemes_of("jacobi5") for real in PRECISIONS]
    if "ports" in parts:
        small = [_port_antennas(cell)[1] for cell in PORT_CELLS]
        wanted += [(one, scheme, real) for one in small for scheme in kernels_of("bor") for real in PRECISIONS]
    texts: list[str] = []
    for problem, scheme, precision in wanted:
        with contextlib.suppress(FdtdError):
            steps = min(problem.steps, SAMPLED) if problem.stencil.name == "jacobi5" else SAMPLED
            name, choice = way_of(scheme)
            texts += kernel_texts(problem, cuda.device().limits, name, steps=steps, precision=precision, **choice)
    compile_texts(texts)
    if "figures" in parts:
        with ProcessPoolExecutor(len(POPULATIONS), mp_context=get_context("spawn")) as pool:
            list(pool.map(warm_up, *zip(*POPULATIONS, strict=True)))


def warm_up(family: str, surfaces: str) -> None:
    """Leave a family's kernels in CuPy's cache."""
    many, ends = designs(family, POPULATION, np.random.default_rng(1))
    made = plan(family, *ends, SOLVER | {"surfaces": surfaces}).to_dict()
    evaluate(family, many, made, backend="cuda", options=SolveOptions(max_steps=160))


def _small_lenses() -> dict[str, Problem]:
    """By their surfaces: with coupled nodes, and without."""
    lens = random_problem(7, 1, 2, shape=SMALL, steps=400)
    return {"diagonal": replace(lens, media=replace(lens.media, coupling=None)), "full": lens}


def _refused(row: dict[str, Any], refusal: FdtdError) -> None:
    """A scheme may refuse coupled nodes, and nothing else here."""
    coupled = row.get("surfaces") == "full" and isinstance(refusal, Unsuitable) and "coupled nodes" in str(refusal)
    row |= {"refused": str(refusal)[:300], "passed": coupled}


def _small_sums() -> JacobiProblem:
    return JacobiProblem(initial=np.random.default_rng(3).standard_normal((2, 301, 517)), steps=43)


def largest(fields: np.ndarray) -> np.ndarray:
    """Of each component, over problems and cells."""
    return np.abs(fields).max(axis=(0, *range(2, fields.ndim)))


def fields_part(steps: int) -> list[dict[str, Any]]:
    """Worst difference over the run, over each component's largest magnitude over the run."""
    rows = []
    cases = [(stencil, "noise", "diagonal") for stencil in SHAPES]
    cases += [("bor", "pulse", "diagonal"), ("bor", "noise", "full"), ("bor", "pulse", "full")]
    for stencil, start_from, surfaces in cases:
        for shape, schemes in _lattices(stencil, SHAPES[stencil]):
            start = time.perf_counter()
            problem = full_problem(stencil, shape, steps, 4, surfaces=surfaces)
            if isinstance(problem, Problem) and start_from == "pulse":  # at rest, driven by the source's pulse alone
                problem = replace(problem, initial=None)
            exact = list(sampled(problem, "one_step", "float64", steps))
            single = list(sampled(problem, "one_step", "float32", steps))
            scale = np.max([largest(one) for one in single], axis=0)
            for scheme in schemes:
                row = {
                    "stencil": stencil, "scheme": scheme, "start": start_from, "shape": list(shape), "batch": 4,
                    "surfaces": surfaces, "steps": steps,
                    "largest_at_start": [float(one) for one in largest(single[0])],
                    "largest_later": [float(one) for one in np.max([largest(one) for one in single[1:]], axis=0)],
                }  # fmt: skip
                rows.append(row)
                try:
                    ours = single if scheme == "one_step" else list(sampled(problem, scheme, "float32", steps))
                except FdtdError as refusal:
                    _refused(row, refusal)
                    continue
                for name, theirs in (("from_one_step", single), ("from_float64", exact)):
                    off = [largest(a - b) / scale for a, b in zip(ours, theirs, strict=True)]
                    row[name] = float(np.max(off))
                    row[f"{name}_at_the_end"] = float(np.max(largest(ours[-1] - theirs[-1]) / largest(theirs[-1])))
                row["passed"] = row["from_one_step"] < AGAINST_ONE_STEP and row["from_float64"] < AGAINST_FLOAT64
            print(f"{stencil} {shape} {start_from} {surfaces}: {time.perf_counter() - start:.1f} s", flush=True)
    return rows


def _lattices(stencil: str, whole: tuple[int, int]) -> list[tuple[tuple[int, int], list[str]]]:
    small = {scheme: shapes[stencil] for scheme, shapes in SMALLER.items() if stencil in shapes}
    first = [scheme for scheme in kernels_of(stencil) if scheme not in small]
    return [(whole, first), *((shape, [scheme]) for scheme, shape in small.items())]


def oracle_part() -> list[dict[str, Any]]:
    """Both precisions against the float64 oracle on small odd lattices with everything on."""
    rows = []
    device = cuda.device()
    for surfaces, lens in _small_lenses().items():
        expected = reference.run(lens)
        for kernel in kernels_of("bor"):
            rows += [_lens_row(lens, expected, surfaces, kernel, precision) for precision in PRECISIONS]
    for polarisation in ("TM", "TE"):
        problem = random_planar_problem(polarisation, (101, 83), steps=600, batch=3, start=False)
        wave = planar_reference.run(problem)
        for scheme in schemes_of("tmz"):
            for precision in PRECISIONS:
                found = planar.run(problem, device, precision=precision, scheme=scheme)
                name = f"t{polarisation[1].lower()}z"
                rows.append({
                    "stencil": name, "scheme": scheme, "dtype": precision, "shape": [101, 83], "steps": 600,
                    "fields": float(planar_error(found, wave, problem)),
                })  # fmt: skip
    sums = _small_sums()
    known = planar_reference.run_sum(sums)
    for scheme in schemes_of("jacobi5"):
        for precision in PRECISIONS:
            row = {"stencil": "jacobi5", "scheme": scheme, "dtype": precision, "shape": [517, 301], "steps": 43}
            rows.append(row)
            try:
                found = planar.run_sum(sums, device, precision=precision, scheme=scheme)
                row["fields"] = float(np.abs(found - known).max())
            except FdtdError as refusal:
                _refused(row, refusal)
    for row in rows:
        if "fields" in row:
            row["passed"] = worst(value for value in row.values() if isinstance(value, float)) < (
                1e-11 if row["dtype"] == "float64" else AGAINST_FLOAT64
            )
    return rows


def _lens_row(lens: Problem, expected: Records, surfaces: str, kernel: str, precision: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "stencil": "bor", "scheme": kernel, "surfaces": surfaces, "dtype": precision, "shape": list(SMALL),
        "steps": lens.sampling.steps,
    }  # fmt: skip
    scheme, choice = way_of(kernel)
    try:
        found = cuda.run(lens, precision=precision, scheme=scheme, **choice)
    except FdtdError as refusal:
        _refused(row, refusal)
        return row
    assert found.final is not None and expected.final is not None
    row["fields"] = worst(error(found.final[:, c], expected.final[:, c]) for c in range(6))
    return row | {name: float(value) for name, value in record_errors(found, expected).items()}


def ports_part(
    cells: Collection[float] = PORT_CELLS, precisions: Collection[str] = PRECISIONS, **changes: Any
) -> list[dict[str, Any]]:
    """Records of the port, and S11 from them, by every kernel; the CPU steps as many times, in float64."""
    rows = []
    for cell in cells:
        layout, problem, mode = _port_antennas(cell, **changes)
        assert problem.port is not None
        expected = cpu.run(problem, precision="float64", threads=len(PORT_LENSES))
        known = [one.s11 for one in solutions(layout, problem, mode, expected)]
        for kernel in kernels_of("bor"):
            for precision in precisions:
                scheme, choice = way_of(kernel)
                found = cuda.run(problem, precision=precision, scheme=scheme, **choice)
                s11 = [one.s11 for one in solutions(layout, problem, mode, found)]
                row = {
                    "stencil": "bor", "scheme": kernel, "dtype": precision, "cell": cell,
                    "shape": [layout.nr, layout.nz], "port_columns": len(problem.port.v_r),
                    "steps": [int(steps) for steps in found.steps],
                    "same_steps": bool(np.array_equal(found.steps, expected.steps)),
                    "port": worst(error(*pair) for pair in zip(found.port, expected.port, strict=True)),
                    "s11": float(np.abs(np.subtract(s11, known)).max()),
                }  # fmt: skip
                most = AGAINST_FLOAT64 if precision == "float32" else 1e-11
                row["passed"] = row["same_steps"] and worst((row["port"], row["s11"])) < most
                rows.append(row)
    return rows


def _port_antennas(cell: float, **changes: Any) -> tuple[Layout, Problem, GuideMode]:
    """Two small lenses on cells of this size."""
    wanted = SOLVER | {"cell": cell, "pml_distance": 3e-3} | changes
    layout = plan("hemispherical_lens", PORT_LENSES[0], PORT_LENSES[-1], wanted).layout
    media = fill(layout, ANTENNAS["hemispherical_lens"].scene(stack(PORT_LENSES)))
    return layout, *pose(layout, media)


def bits_part(steps: int) -> list[dict[str, Any]]:
    """Bits of the fields: again, and of the third of five lenses alone."""
    rows = []
    for surfaces in SURFACES:
        problem = full_problem("bor", SHAPES["bor"], steps, 5, surfaces=surfaces)
        assert isinstance(problem, Problem) and problem.initial is not None
        alone = replace(problem, media=problem.media.of([2]), initial=problem.initial[2:3])
        for kernel in kernels_of("bor"):
            row: dict[str, Any] = {
                "stencil": "bor", "scheme": kernel, "surfaces": surfaces, "shape": list(SHAPES["bor"]), "steps": steps,
            }  # fmt: skip
            rows.append(row)
            try:
                first, again, by_itself = (_last(one, kernel, steps) for one in (problem, problem, alone))
            except FdtdError as refusal:
                _refused(row, refusal)
                continue
            row["again"] = bool(np.array_equal(first, again))
            row["alone"] = bool(np.array_equal(first[2:3], by_itself))
            row["passed"] = row["again"] and row["alone"]
    return rows


def _last(problem: AnyProblem, kernel: str, steps: int) -> np.ndarray:
    scheme, choice = way_of(kernel)
    ready = marching(problem, cuda.device(), scheme, **choice)
    ready.advance(steps)
    return ready.fields()


def figures_part() -> list[dict[str, Any]]:
    """Compare the four families with the CPU; alone, and next to two other batches, to the bit."""
    rows = []
    for family, surfaces in POPULATIONS:
        row = compare(family, batch=POPULATION, compared=POPULATION, surfaces=surfaces)
        many, ends = designs(family, POPULATION, np.random.default_rng(1))
        made = plan(family, *ends, SOLVER | {"surfaces": surfaces}).to_dict()
        parts = [many[:4]] if family == "open_waveguide" else [many[:17], many[17:29], many[29:]]

        solve = partial(evaluate, family, plan=made, backend="cuda")
        with ThreadPoolExecutor(3) as threads:
            beside = [outcome for part in threads.map(solve, parts) for outcome in part]
        whole = solve(many[: len(beside)])
        row["in_parts_side_by_side"] = all(
            a[name] == b[name]
            for a, b in zip(beside, whole, strict=True)
            for name in (*FIGURES, *LINEAR, "s11", "steps")
        )
        row["passed"] = (
            row["ok"] == row["batch"]
            and worst(row["worst_db"].values()) < IN_DECIBELS
            and all(row["worst"][name] < most for name, most in IN_LINEAR.items())
            and row["alone_equals_in_batch"]
            and row["in_parts_side_by_side"]
        )
        rows.append(row)
    return rows


def memory_part() -> list[dict[str, Any]]:
    """Return the largest device memory of an antenna while it is stepped, by scheme, and the estimate of the plan."""
    import cupy  # pyright: ignore[reportMissingImports]

    rows = []
    pool = cupy.get_default_memory_pool()
    problem = reference_problem(SHAPES["bor"], 6000, 4)
    for scheme in schemes_of("bor"):
        before = pool.used_bytes()
        try:
            made = SCHEMES[scheme](problem, "float32", cuda.device().limits)
            batch = Batch(cuda.device(), problem, made, "float32")
        except FdtdError:
            continue
        taken = (pool.used_bytes() - before) / 4
        reckoned = antenna_bytes(problem, "float32", made.doubled)
        rows.append({"scheme": scheme, "bytes": taken, "reckoned": reckoned, "passed": taken < reckoned})
        del batch
    return rows


def main() -> None:
    """Run, print one line a row, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--part", action="append", default=[])
    options = parser.parse_args()
    parts: dict[str, Callable[[], list[dict[str, Any]]]] = {
        "oracle": oracle_part,
        "ports": ports_part,
        "bits": lambda: bits_part(480),
        "figures": figures_part,
        "memory": memory_part,
        "fields": lambda: fields_part(options.steps),
    }
    found: dict[str, Any] = {"command": " ".join(sys.argv), "device": cuda.device().identity}
    chosen = options.part or list(parts)
    start = time.perf_counter()
    compile_ahead(chosen)
    print(f"compiled in {time.perf_counter() - start:.1f} s", flush=True)
    for name, part in parts.items():
        if name not in chosen:
            continue
        start = time.perf_counter()
        found[name] = part()
        for row in found[name]:
            print(name, json.dumps(row), flush=True)
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    failed = [row for rows in found.values() if isinstance(rows, list) for row in rows if not row.get("passed", True)]
    print("all passed" if not failed else f"{len(failed)} FAILED", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
