"""Time the parts of a generation in which a worker's device does not step, for several sizes of batches.

    python benchmarks/device_gaps.py FOLDER [--sizes 132,264,264,264,132 ...] [--generations 16] [--processes 1]

One run of `experiments/ten_thousand.toml`, without certificates, report and cache; generations take the sizes by turns.
The worker notes the clock at each stage of a batch, the driver whenever it begins to breed. A generation is stepped
from the first batch's first launch to the last batch's end while any batch is; the rest are gaps:

bred: from the driver's start of breeding until a batch begins in a worker.
prepared: until that batch is stepped.
between: nothing is stepped although a batch has been and another will be.
transformed: from the end of stepping until the last batch is done in its worker.
returned: until the driver begins to breed.

FOLDER gets gaps.json: medians over the generations of each cut, the first two left out, and all notes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

STUDY = Path(__file__).resolve().parents[1] / "experiments" / "ten_thousand.toml"
NOTES = "ANTENNAOPT_BENCH_GAPS"
"""Environment variable with the folder of the workers' notes."""

WARM = 2
"""Generations that are left out: the first one compiles."""


@lru_cache(maxsize=1)
def noted() -> threading.local:
    """Let this process note the stages of its batches, a thread each; return where."""
    from fdtd.backends import cuda

    here, stepping = threading.local(), cuda.PLACES.stepping

    @contextmanager
    def stepped(place: int) -> Iterator[list[float]]:
        here.marks.append(("step", time.time()))
        with stepping(place) as seconds:
            yield seconds
        here.marks.append(("stepped", time.time()))

    cuda.PLACES.stepping = stepped  # type: ignore[method-assign]
    return here


def evaluate(family: str, designs: list[dict[str, float]], plan: dict[str, Any], **how: Any) -> Sequence[Any]:
    """Solve a batch as `antennaopt.solve.evaluate.evaluate` does, and note when its stages begin and end."""
    from antennaopt.solve.evaluate import evaluate as solve

    here = noted()
    here.marks = [("began", time.time())]
    outcomes = solve(family, designs, plan, **how)
    here.marks.append(("ended", time.time()))
    line = {"antennas": len(designs), "marks": dict(here.marks)}
    with Path(os.environ[NOTES], f"{os.getpid()}-{threading.get_ident()}.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    return outcomes


def gaps(began: float, ended: float, batches: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the parts of a generation, ms, and the share of it that is stepped.

    Args:
        began: When the driver began to breed it.
        ended: When it began to breed the next.
        batches: Notes of its batches.
    """
    marks = [one["marks"] for one in batches]
    spans = sorted((one["step"], one["stepped"]) for one in marks)
    first, last = spans[0][0], max(end for _, end in spans)
    stepped, until = 0.0, first
    for start, end in spans:
        stepped += max(end - max(start, until), 0.0)
        until = max(until, end)
    begun, done = min(one["began"] for one in marks), max(one["ended"] for one in marks)
    parts = {
        "wall": ended - began,
        "stepped": stepped,
        "bred": begun - began,
        "prepared": first - begun,
        "between": last - first - stepped,
        "transformed": done - last,
        "returned": ended - done,
    }
    return {**{name: 1e3 * seconds for name, seconds in parts.items()}, "share": stepped / (ended - began)}


def measure(
    sizes: Sequence[Sequence[int]], generations: int, processes: int, overrides: Sequence[str]
) -> dict[str, Any]:
    """Carry the study out and return rows, a cut each, and notes."""
    from antennaopt.experiment import load_experiment
    from antennaopt.farm import clusters
    from antennaopt.farm.farm import PoolFarm
    from antennaopt.run.planning import plan_for
    from antennaopt.run.start import run

    begun: list[float] = []

    def cut(
        farm: PoolFarm, jobs: Sequence[Any], batch_size: int | str = "auto", sent: int = 0, left: int = 0
    ) -> list[list[Any]]:
        farm._dispatcher.prepare(sent + len(jobs) + left, batch_size)
        ends = [end - sent for end in accumulate(sizes[(len(begun) - 1) % len(sizes)])]
        places = [min(max(end, 0), len(jobs)) for end in (-sent, *ends[:-1])] + [len(jobs)]
        return [list(jobs[first:last]) for first, last in pairwise(places) if first < last]

    def ahead(farm: PoolFarm, population: int, batch_size: int | str = "auto") -> int:
        begun.append(time.time())
        return sum(sizes[(len(begun) - 1) % len(sizes)][:processes])

    PoolFarm.cut, PoolFarm.ahead = cut, ahead  # type: ignore[method-assign]
    clusters.processes_a_device = lambda plan, devices: processes
    changes = [f"evolution.generations={generations}", "evolution.stop={}", 'certificate.mode="off"', *overrides]
    experiment = load_experiment(STUDY, changes)
    with tempfile.TemporaryDirectory() as root:
        os.environ[NOTES] = root
        about: dict[str, Any] = {"evaluate": sys.modules[__name__].evaluate, "rehearse": True, "backend": "cuda"}
        run(experiment, root=f"{root}/runs", plan=plan_for(experiment), report=False, cache="off", **about)
        notes = [json.loads(line) for file in Path(root).glob("*.jsonl") for line in file.read_text().splitlines()]
    found: dict[int, list[dict[str, float]]] = {}
    for number, (start, end) in list(enumerate(pairwise(begun)))[WARM:]:
        batches = [one for one in notes if start <= one["marks"]["began"] < end]
        found.setdefault(number % len(sizes), []).append(gaps(start, end, batches))
    rows = [
        {
            "processes": processes,
            "sizes": list(sizes[place]),
            "generations": len(parts),
            **{name: statistics.median(one[name] for one in parts) for name in parts[0]},
        }
        for place, parts in sorted(found.items())
    ]
    return {"rows": rows, "begun": begun, "batches": notes}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", nargs="+", default=["132,264,264,264,132"])
    parser.add_argument("--generations", type=int, default=16)
    parser.add_argument("--processes", type=int, default=1, help="that share the device")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the experiment")
    given = parser.parse_args()
    sizes = [[int(one) for one in cut.split(",")] for cut in given.sizes]
    found = measure(sizes, given.generations, given.processes, given.set)
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "gaps.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(json.dumps(found["rows"], indent=1))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import device_gaps  # workers import `evaluate` by its module's name

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    device_gaps.main()
