"""Rates of two other solvers on a device, rfx and fdtdx (both JAX), next to ours, on the same problems.

    python benchmarks/other_solvers.py --json FILE [--cases ...] [--programs ...] [--packages FOLDER]

rfx (`rfx-fdtd`) and fdtdx are no dependency of this project; they and what they need are installed in FOLDER. Each
program runs in a process of its own, one after the other. All fields are float32.

Problems: cubic cells of vacuum, a pulse added to one edge's E_z, and E_z of another edge read after every step. A
closed box has perfect walls. Layers are 8 cells in front of every face. fdtdx has our profile, as its own default is
made for light; rfx has its own, so traces differ by what comes back from them. Time steps are equal. A batch is one
launch of ours, and `jax.vmap` over rfx's `run`; fdtdx steps one box.

A rate is cells times steps over seconds, counted in cells between the walls for all (arrays of rfx and fdtdx have one
more plane). It is of two run lengths' difference for JAX, compiled before, and of events of the device for ours; so
neither holds compilation or transfers. A row has the median of five, half the range, and the largest difference of the
trace from that of `one_step`, over its largest value.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parents[1]
CELL = 2.0**-10  # m; a power of two, so that lengths over it are whole
COURANT = 0.99
TURNS = 5
VERSIONS = {"one_step": "cupy", "resident": "cupy", "cpu": "numba", "rfx": "rfx-fdtd", "fdtdx": "fdtdx"}
DIRECT, WHOLE = 2e-5, 0.1  # largest differences of traces, before anything comes back from layers and to the end


class Case(NamedTuple):
    """A problem: cells along x, y and z with layers, layers in front of each face, boxes, steps of the shorter run."""

    counts: tuple[int, int, int]
    layers: int
    batch: int
    steps: int

    @property
    def source(self) -> tuple[int, int, int]:
        """Edge that is driven, (i, j, k)."""
        return tuple(count // 2 for count in self.counts)  # type: ignore[return-value]

    @property
    def probe(self) -> tuple[int, int, int]:
        """Edge that is read, (i, j, k)."""
        i, j, k = self.source
        return i + self.counts[0] // 5, j + self.counts[1] // 8, k + 2

    @property
    def direct(self) -> int:
        """Steps before the probe can feel a layer; fields move by one cell of each axis a step, at most."""
        if not self.layers:
            return 2 * self.steps
        ends = [(self.layers, count - self.layers) for count in self.counts]
        places = zip(ends, self.source, self.probe, strict=True)
        return min(abs(end - place) + abs(end - read) for both, place, read in places for end in both)


CASES = {
    "closed": Case((200, 200, 200), 0, 1, 400),
    "layers": Case((216, 216, 216), 8, 1, 400),
    "antenna": Case((64, 64, 32), 8, 1, 400),
    "population": Case((64, 64, 32), 8, 256, 100),
}
TRIALS = {
    "small closed": Case((30, 26, 22), 0, 1, 120),
    "small layers": Case((56, 52, 48), 8, 1, 120),
    "small population": Case((56, 52, 48), 8, 2, 60),
}


def pulse(steps: int) -> np.ndarray:
    """Values added after steps 0, 1, ...: the derivative of a Gaussian of 40 steps, float32, (steps,)."""
    at = (np.arange(steps) - 20.0) / 6.0
    return np.where(np.arange(steps) < 40, -at * np.exp(-(at**2) / 2), 0.0).astype(np.float32)


class Stepped(NamedTuple):
    """What a program hands back: seconds of a step of all boxes, once for each turn, and the first box's trace."""

    seconds: list[float]
    trace: np.ndarray


def ours(case: Case, scheme: str) -> Stepped:
    """Step with `fdtd`, on the device, or on a core for trials."""
    from fdtd.yee.grid import Grid
    from fdtd.yee.media import empty
    from fdtd.yee.problem import Probe, Problem, Sampling, Source

    planes = [CELL * np.arange(count + 1.0) for count in case.counts]
    x, y, z = planes
    grid = Grid(x=x, y=y, z=z, layers=(case.layers,) * 6, courant_number=COURANT)  # type: ignore[arg-type]
    (i, j, k), (at_x, at_y, at_z) = case.source, case.probe
    read, steps = 2 * case.steps, (2 + TURNS) * 2 * case.steps
    problem = Problem(
        grid=grid,
        media=empty(grid),
        sampling=Sampling(steps=read if scheme == "cpu" else steps),
        source=Source(points=np.array([[2, k, j, i]]), gains=np.ones(1), waveform=pulse(read)),
        probe=Probe(points=np.array([[2, at_z, at_y, at_x]]), weights=np.ones((1, 1))),
    )
    if scheme == "cpu":
        from fdtd.backends.cpu import yee as cores

        records = [cores.run(problem, precision="float32") for _ in range(1 + TURNS)]
        return Stepped([case.batch * one.seconds / read for one in records[1:]], records[0].sums[:, 0])
    from gpu_space import timed

    from fdtd.backends import cuda
    from fdtd.backends.cuda import yee
    from fdtd.backends.cuda.yee_packing import pack

    packed = pack(problem, "float32")
    batch = yee.Batch(cuda.device(), [packed] * case.batch, "float32", scheme=scheme)
    timed(batch, 1.0, read)
    seconds = [1 / timed(batch, 1.0, read) for _ in range(TURNS)]
    return Stepped(seconds, batch.records(False)[0].sums[:read, 0])


def by_two_lengths(run: Callable[[int], Callable[[], np.ndarray]], steps: int) -> Stepped:
    """Time what `run` compiles for a number of steps: once and twice as many."""
    with ThreadPoolExecutor(2) as compilers:
        short, long = compilers.map(run, (steps, 2 * steps))
    seconds, trace = [], np.zeros(0)
    short()
    long()
    for _ in range(TURNS):
        at = [time.perf_counter()]
        for one in (short, long):
            trace = one()
            at.append(time.perf_counter())
        seconds.append((at[2] - 2 * at[1] + at[0]) / steps)
    return Stepped(seconds, trace)


def rfx(case: Case) -> Stepped:
    """Step with rfx: `rfx.simulation.run`, compiled as a whole; a batch by `jax.vmap`."""
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]
    from rfx.core.yee import init_materials  # pyright: ignore[reportMissingImports]
    from rfx.grid import Grid  # pyright: ignore[reportMissingImports]
    from rfx.simulation import ProbeSpec, SourceSpec  # pyright: ignore[reportMissingImports]
    from rfx.simulation import run as rfx_run  # pyright: ignore[reportMissingImports]

    inner: Any = tuple(CELL * (count - 2 * case.layers) for count in case.counts)
    grid = Grid(freq_max=15e9, domain=inner, dx=CELL, cpml_layers=case.layers)
    if grid.shape != tuple(count + 1 for count in case.counts):
        raise RuntimeError(f"rfx has a lattice of {grid.shape} nodes")

    def run(steps: int) -> Callable[[], np.ndarray]:
        def step(materials: Any, waveform: Any) -> Any:
            return rfx_run(
                grid, materials, steps, boundary="cpml" if case.layers else "pec", return_state=True,
                sources=[SourceSpec(*case.source, "ez", waveform)], probes=[ProbeSpec(*case.probe, "ez")],
            )[:2]  # fmt: skip

        materials, waveform = init_materials(grid.shape), jnp.asarray(pulse(steps))
        if case.batch > 1:
            step = jax.vmap(step, in_axes=(None, 0))
            waveform = jnp.broadcast_to(waveform, (case.batch, steps))
        compiled = jax.jit(step).lower(materials, waveform).compile()

        def stepped() -> np.ndarray:
            series = jax.block_until_ready(compiled(materials, waveform))[1]
            return np.asarray(series)[0, :, 0] if case.batch > 1 else np.asarray(series)[:, 0]

        return stepped

    return by_two_lengths(run, case.steps)


def fdtdx(case: Case) -> Stepped:
    """Step with fdtdx: `run_fdtd`, compiled as a whole. Its walls take the last plane of cells."""
    import fdtdx as other  # pyright: ignore[reportMissingImports]
    import jax  # pyright: ignore[reportMissingImports]

    from fdtd.yee.layers import Absorber

    cells, absorber = tuple(count if case.layers else count + 1 for count in case.counts), Absorber()
    strongest = absorber.strength * 0.8 * (absorber.order + 1) / (other.constants.eta0 * CELL)  # S/m

    def run(steps: int) -> Callable[[], np.ndarray]:
        dt = COURANT * CELL / (3**0.5 * other.constants.c)
        backend: Any = "gpu" if jax.default_backend() == "gpu" else "cpu"
        grid = other.UniformGrid(spacing=CELL)
        config = other.SimulationConfig(time=steps * dt, grid=grid, backend=backend, courant_factor=COURANT)
        volume = other.SimulationVolume(partial_grid_shape=cells)
        faces = other.BoundaryConfig.from_uniform_bound(
            thickness=case.layers or 1, boundary_type="pml" if case.layers else "pec",
            kappa_end=absorber.kappa, kappa_order=absorber.order, alpha_start=absorber.alpha, alpha_end=0.0,
            sigma_order=absorber.order, sigma_end=strongest,
        )  # fmt: skip
        walls, constraints = other.boundary_objects_from_config(faces, volume)
        signal: Any = jax.numpy.asarray(pulse(steps))
        source = other.PointDipoleSource(
            partial_grid_shape=(1, 1, 1), polarization=2, amplitude=-1 / config.courant_number,
            wave_character=other.WaveCharacter(wavelength=20 * CELL),
            temporal_profile=other.CustomTimeSignalProfile(signal=signal, time_step_duration=config.time_step_duration),
        )  # fmt: skip
        probe = other.FieldDetector(
            name="probe", partial_grid_shape=(1, 1, 1), components=("Ez",), exact_interpolation=False, plot=False
        )
        for what, place in ((source, case.source), (probe, case.probe)):
            constraints.append(what.set_grid_coordinates(axes=(0, 1, 2), sides=("-", "-", "-"), coordinates=place))
        objects, arrays, params, config, _ = other.place_objects(
            [volume, *walls.values(), source, probe], config, constraints
        )
        arrays, objects, _ = other.apply_params(arrays, objects, params)
        if config.time_steps_total != steps:
            raise RuntimeError(f"fdtdx would take {config.time_steps_total} steps in place of {steps}")
        compiled = jax.jit(lambda fields: other.run_fdtd(fields, objects, config, show_progress=False)[1])

        def stepped() -> np.ndarray:
            left = jax.block_until_ready(compiled(arrays))
            return np.asarray(left.detector_states["probe"]["fields"]).reshape(steps)

        return stepped

    return by_two_lengths(run, case.steps)


def one(program: str, name: str) -> dict[str, Any]:
    """Run one program on one problem, in this process."""
    case = (CASES | TRIALS)[name]
    start = time.perf_counter()
    found = {"rfx": rfx, "fdtdx": fdtdx}[program](case) if program in ("rfx", "fdtdx") else ours(case, program)
    cells = float(np.prod(case.counts)) * case.batch
    rates = [cells / seconds for seconds in found.seconds]
    median = statistics.median(rates)
    packages = [VERSIONS[program], *(["jax"] if program in ("rfx", "fdtdx") else [])]
    return {
        "case": name, "shape": list(case.counts), "layers": case.layers, "batch": case.batch, "program": program,
        "steps": case.steps, "cell_steps_per_s": median, "spread": (max(rates) - min(rates)) / 2 / median,
        "versions": {package: version(package) for package in packages},
        "process_seconds": round(time.perf_counter() - start, 1), "trace": found.trace.tolist(),
    }  # fmt: skip


def version(package: str) -> str:
    """Return a package's version; CuPy's name has that of CUDA in it."""
    names = [package, "cupy-cuda13x", "cupy-cuda12x"] if package == "cupy" else [package]
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


def fits(program: str, case: Case) -> bool:
    """Return whether a program is asked to step a problem."""
    if program == "resident":
        return max(case.counts) <= 64
    return program != "fdtdx" or case.batch == 1


def processed(program: str, names: list[str], packages: Path | None) -> Iterator[dict[str, Any]]:
    """Run a program on problems, in a process of its own; yield rows with traces."""
    paths = [str(HERE), str(HERE / "benchmarks"), *([str(packages)] if packages else [])]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])]),
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    command = [sys.executable, __file__, "--one", program, *names]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield from (json.loads(line) for line in process.stdout if line.startswith("{"))
    if process.returncode:
        raise RuntimeError(f"{program} ended with exit code {process.returncode}")


def compared(row: dict[str, Any], traces: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return a row with the differences of its trace from the problem's first one, and without the trace.

    Raises:
        RuntimeError: The program solves another problem.
    """
    name, program, trace = row["case"], row["program"], np.array(row.pop("trace"))
    row |= differences((CASES | TRIALS)[name], trace, traces.setdefault(name, trace))
    print(
        f"{name:18s} {program:9s} {row['cell_steps_per_s'] / 1e9:8.2f} G +- {row['spread']:.1%}   "
        f"traces {row['direct_difference'] or 0:.1e} {row['whole_difference']:.1e}   {row['process_seconds']} s",
        flush=True,
    )
    if (row["direct_difference"] or 0) > DIRECT or row["whole_difference"] > WHOLE:
        raise RuntimeError(f"{program} does not solve the problem {name}")
    return row


def differences(case: Case, trace: np.ndarray, reference: np.ndarray) -> dict[str, float | None]:
    """Return the largest differences of two traces over the largest value, None where the pulse is not there yet."""
    apart, largest = np.abs(trace - reference), np.abs(reference)
    seen = largest[: case.direct].max() > 0.1 * largest.max()
    direct = float(apart[: case.direct].max() / largest.max()) if seen else None
    return {"direct_difference": direct, "whole_difference": float(apart.max() / largest.max())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=[*CASES, *TRIALS])
    parser.add_argument("--programs", nargs="+", default=["one_step", "resident", "rfx", "fdtdx"], choices=VERSIONS)
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="where rfx and fdtdx are")
    parser.add_argument("--commit", default="", help="for the stored file")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        for name in options.one[1:]:
            print(json.dumps(one(options.one[0], name)), flush=True)
        return
    made: list[dict[str, Any]] = []
    traces: dict[str, np.ndarray] = {}
    device = "CPU" if "cpu" in options.programs else device_name()
    for program in options.programs:
        names = [name for name in options.cases if fits(program, (CASES | TRIALS)[name])]
        for row in processed(program, names, options.packages):
            made.append(compared(row, traces) | {"device": device})
            if options.json:
                whole = {"command": "python benchmarks/other_solvers.py", "commit": options.commit, "rows": made}
                options.json.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")


def device_name() -> str:
    """Return the device's name."""
    from fdtd.backends import cuda

    return cuda.device().name


if __name__ == "__main__":
    main()
