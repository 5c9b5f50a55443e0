"""Split the wall time of a whole study, from the start of Python to the report."""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from antennaopt.bench.kernels import bench_kernels
from antennaopt.bench.on_device import Case, bench_on_device
from antennaopt.machine import processor_name
from antennaopt.run.planning import plan_for
from antennaopt.run.progress import GenerationReport, Progress
from antennaopt.run.start import run
from antennaopt.solve.device import capacity
from antennaopt.solve.lattices import cell_count, shape_of
from antennaopt.solve.options import PLAIN, SolveOptions
from antennaopt.solve.solvers import evaluator_of
from antennaopt.store.reading import load
from fdtd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from antennaopt.experiment import Experiment

_FOLDER = "ANTENNAOPT_BENCH_STAGES"
_SAMPLE_S = 0.005
_SOLVED = ("rasterise", "step", "transform", "wait", "rest")

_ROOMS = (
    ("antennaopt/farm/", "send and receive"),
    ("antennaopt/store/", "store"),
    ("antennaopt/run/stores", "store"),
    ("antennaopt/run/write", "store"),
    ("antennaopt/search/objectives", "score"),
    ("antennaopt/figures/", "score"),
    ("antennaopt/search/", "breed"),
    ("antennaopt/families/", "breed"),
    ("antennaopt/run/", "score"),
)
"""Parts of a file's path, and what the driver does there; the innermost frame that is of one of them counts."""
_WAITING = ("antennaopt/farm/dask_tasks.py", "landed")
"""Where the driver waits for the next result: file and function of the innermost frame."""
_DRIVER = ("breed", "score", "store", "send and receive", "other", "wait")


def evaluate(
    family: str, designs: list[dict[str, float]], plan: dict[str, Any], *, options: SolveOptions = PLAIN, **how: Any
) -> Sequence[Mapping[str, Any]]:
    """Solve a batch as the family's solver does, and note its stages in a file of this process."""
    spent: dict[str, float] = {}
    began = time.time()
    outcomes = evaluator_of(family)(family, designs, plan, options=replace(options, stages=spent), **how)
    ended = time.time()
    line = {
        "worker": os.getpid(),
        "began": began,
        "ended": ended,
        "stages": {**spent, "rest": ended - began - sum(spent.values())},
    }
    with Path(os.environ[_FOLDER], f"{os.getpid()}-{threading.get_ident()}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    return outcomes


@dataclass
class _Marks(Progress):
    """When the parts of a run begin, seconds of the system's clock; what it says goes to another."""

    told: Progress
    generations: list[tuple[float, float]] = field(default_factory=list)
    began: float = 0.0
    certifying: float = 0.0
    last_certified: float = 0.0

    def note(self, text: str) -> None:
        self.told.note(text)

    def generation_started(self, generation: int, to_solve: int) -> None:
        self.began = self.began or time.time()
        self.told.generation_started(generation, to_solve)

    def generation_done(self, report: GenerationReport) -> None:
        now = time.time()
        self.generations.append((self.generations[-1][1] if self.generations else self.began, now))
        self.told.generation_done(report)

    def certification_started(self, to_solve: int) -> None:
        self.certifying = self.last_certified = time.time()
        self.told.certification_started(to_solve)

    def certified(self, individual: str, *, trusted: bool) -> None:
        self.last_certified = time.time()
        self.told.certified(individual, trusted=trusted)

    def close(self) -> None:
        self.told.close()


class _Sampler(threading.Thread):
    """Looks every few milliseconds at what the main thread is doing."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._main, self._over = threading.main_thread().ident, threading.Event()
        self.seen: list[tuple[float, str]] = []

    def run(self) -> None:
        """Look until the end; a look counts for the time since the one before."""
        while not self._over.wait(_SAMPLE_S):
            frame = sys._current_frames().get(self._main or 0)
            self.seen.append((time.time(), doing(_calls(frame))))

    def end(self) -> None:
        """Stop looking."""
        self._over.set()
        self.join()

    def seconds(self, first: float, last: float) -> dict[str, float]:
        """Return the seconds of each part between two times."""
        found: dict[str, float] = defaultdict(float)
        before = first
        for when, part in self.seen:
            if first < when <= last:
                found[part] += when - before
            before = max(when, first)
        return found


def _calls(frame: Any) -> Iterator[tuple[str, str]]:
    while frame is not None:
        yield frame.f_code.co_filename.replace(os.sep, "/"), frame.f_code.co_name
        frame = frame.f_back


def doing(calls: Iterable[tuple[str, str]]) -> str:
    """Name what the driver does, by the files and functions of its frames, the innermost first."""
    for place, (file, function) in enumerate(calls):
        if place == 0 and file.endswith(_WAITING[0]) and function == _WAITING[1]:
            return "wait"
        for part, what in _ROOMS:
            if part in file:
                return what
    return "other"


@contextmanager
def _noting(folder: str) -> Iterator[_Sampler]:
    """Let workers that start now note their stages in a folder, and watch the driver."""
    before = os.environ.get(_FOLDER)
    os.environ[_FOLDER] = folder
    sampler = _Sampler()
    sampler.start()
    try:
        yield sampler
    finally:
        sampler.end()
        if before is None:
            del os.environ[_FOLDER]
        else:
            os.environ[_FOLDER] = before


def bench_study(experiment: Experiment, *, backend: str = "cpu", progress: Progress | None = None) -> dict[str, Any]:
    """Carry a study out, report included, with an evaluation cache of its own; say where its time went.

    Generations from the second on count as the search: the first one compiles what is not compiled yet.

    Args:
        experiment: From `load_experiment`, with at least two generations and workers on this machine.
        backend: What solves.
        progress: Tells people.

    Returns:
        A row: `wall_seconds` of the command up to now by part (`start`: from the start of this process to the first
        generation, `first_generation`, `search`, `certify`, `finish`: field, files and report); `driver_share` of the
        search's wall time by part; `worker_share` of the workers' time in it by stage (on a device they overlap), with
        `idle`; `antennas`, `antennas_per_s`, `steps` an antenna (mean), `cell_steps_per_s` of a worker while it steps
        (None in space, where each antenna has a lattice of its own), and next to it `kernel_cell_steps_per_s` of its
        scheme on that lattice, with the reference lens and everything on, None where that lens does not fit it.

    Raises:
        ConfigError: The search was over after one generation.
    """
    plan = plan_for(experiment)
    marks = _Marks(progress or Progress())
    process_began = psutil.Process().create_time()
    with tempfile.TemporaryDirectory(prefix="antennaopt-bench-") as root:
        stages = Path(root) / "stages"
        stages.mkdir()
        about: dict[str, Any] = {
            "plan": plan,
            "evaluate": evaluate,
            "backend": backend,
            "cache": str(Path(root) / "cache"),
            "rehearse": True,
        }
        with _noting(str(stages)) as sampler:
            summary = run(experiment, root=root, progress=marks, **about)
        ended = time.time()
        if len(marks.generations) < 2:
            raise ConfigError(
                f"{experiment.name}: the first generation met all goals, or a limit of evolution.stop, and bench study "
                "times those from the second on; set other objectives or a higher limit"
            )
        rows = load(summary.folder)
        batches = [json.loads(line) for file in stages.iterdir() for line in file.read_text().splitlines()]
    first, last = marks.generations[0][1], marks.generations[-1][1]
    parts = {
        "start": marks.began - process_began,
        "first_generation": first - marks.began,
        "search": last - first,
        "certify": marks.last_certified - marks.certifying,
    }
    parts["finish"] = ended - process_began - sum(parts.values())
    searched = rows[(rows["generation"] > 0) & rows["steps"].notna() & (rows["stepping_seconds"] > 0)]
    steps = searched["steps"]
    in_space = plan.get("solver") == "yee"  # where each antenna has a lattice of its own
    rate = cell_count(plan) * statistics.fmean(steps) / statistics.fmean(searched["stepping_seconds"])
    workers = len(set(rows["worker"].dropna()))
    kernel = _kernel(plan, backend)
    return {
        "experiment": experiment.name,
        "backend": backend,
        "device": kernel["device"],
        "workers": workers,
        "population": experiment.evolution.population,
        "generations": len(marks.generations),
        "shape": shape_of(plan),
        "wall_seconds": parts,
        "driver_share": _shares(sampler.seconds(first, last), _DRIVER, last - first),
        "worker_share": _worker_shares(batches, first, last, workers),
        "antennas": len(searched),
        "antennas_per_s": len(searched) / (last - first),
        "steps": statistics.fmean(steps),
        "cell_steps_per_s": None if in_space else rate,
        "kernel_cell_steps_per_s": kernel["rate"],
        "kernel_scheme": kernel["scheme"],
    }


def _shares(found: Mapping[str, float], names: Sequence[str], whole: float) -> dict[str, float]:
    return {name: found.get(name, 0.0) / whole for name in names}


def _worker_shares(batches: Sequence[Mapping[str, Any]], first: float, last: float, workers: int) -> dict[str, float]:
    """Return the share of the workers' time by stage; of a batch that began before, as much as came after.

    Stages of a device's batches overlap. `idle` is the time in which a worker has no batch.
    """
    found: dict[str, float] = defaultdict(float)
    busy: dict[int, float] = defaultdict(lambda: first)  # up to when, by worker
    idle = 0.0
    for one in sorted(batches, key=lambda one: one["began"]):
        within = min(one["ended"], last) - max(one["began"], first)
        if within <= 0:
            continue
        idle += max(one["began"] - busy[one["worker"]], 0.0)
        busy[one["worker"]] = max(busy[one["worker"]], min(one["ended"], last))
        part = within / (one["ended"] - one["began"])
        for name, seconds in one["stages"].items():
            found[name] += part * seconds
    idle += sum(last - until for until in busy.values()) + (workers - len(busy)) * (last - first)
    whole = workers * (last - first)
    return {**_shares(found, _SOLVED, whole), "idle": idle / whole}


def _kernel(plan: Mapping[str, Any], backend: str) -> dict[str, Any]:
    """Return the rate of the scheme that steps the study on its lattice, or of the fastest; which it is, the device."""
    if plan.get("solver") == "yee":
        device = capacity(dict(plan))["device"] if backend == "cuda" else processor_name()
        return {"rate": None, "scheme": None, "device": device}
    shape = int(plan["nr"]), int(plan["nz"])
    try:
        if backend == "cuda":
            takes = capacity(dict(plan))
            case = Case(stencil="bor", shape=shape, batch=min(takes["wave"], takes["antennas"]))
            rows = bench_on_device([case], left_out=(), precision=plan["precision"], repeat=3)
            rows = [row for row in rows if row["scheme"] == takes["scheme"]] or rows
        else:
            rows = bench_kernels(backend=backend, grid=shape, precision=plan["precision"], repeat=3)
    except ConfigError:
        return {"rate": None, "scheme": None, "device": processor_name()}
    best = max(rows, key=lambda row: row["cell_steps_per_s"])
    return {"rate": best["cell_steps_per_s"], "scheme": best["scheme"], "device": best["device"]}
