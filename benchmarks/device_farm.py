"""How a study's rate grows with the devices of one host, and that its numbers do not change with them.

    python benchmarks/device_farm.py FOLDER [--workers 1 2 4] [--population 2112] [--generations 2] [--backend cuda]

The reference lens with its radii as genes: every antenna has 256 x 320 cells and 6,000 steps, so that all cost alike.
Per number of workers one whole study (breed, solve, score, store, checkpoint) of one generation to warm up and
`--generations` that count, one number for all or one each. A worker of backend cuda is a process with a device of its
own. FOLDER gets farm.json; the last lines of stdout are the table and whether the rows are equal to the bit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from antennaopt.experiment import Experiment
from antennaopt.experiment.load import load_file
from antennaopt.farm.clusters import ClusterSettings
from antennaopt.farm.dask_pool import DaskFarm
from antennaopt.run.planning import plan_for
from antennaopt.run.progress import Lines
from antennaopt.run.start import run
from antennaopt.store.files import read_events

ROOT = Path(__file__).resolve().parent.parent
ACCIDENTAL = ["run", "seconds", "stepping_seconds", "worker", "device", "attempt"]
"""Columns that say where and when a row was made, not what it holds."""


def study(population: int, generations: int, *, steps: int | None) -> Experiment:
    """The reference lens as an experiment.

    Args:
        population: Antennas a generation.
        generations: In all.
        steps: In place of the reference's 6,000.
    """
    data = load_file(ROOT / "experiments" / "reference_lens.toml").model_dump(mode="json")
    data["antenna"]["lens"]["radii"] = {"count": 6, "min": 11e-3, "max": 17e-3}
    data["solver"]["steps"] = steps or data["solver"]["steps"]
    data |= {
        "name": "device_farm",
        "seed": 7,
        "evolution": {"population": population, "generations": generations},
        "objectives": [{"metric": "directivity_dbi", "at_least": 20.0}, {"metric": "s11_db", "at_most": -20.0}],
        "certificate": {"mode": "off"},
    }
    return Experiment.from_resolved(data)


def timed(experiment: Experiment, workers: int, backend: str, out: Path) -> dict:
    """Run the study with a number of workers and read its time from its own files."""
    started = time.monotonic()
    at_work = Experiment.from_resolved({**experiment.resolved(), "cluster": {"workers": workers}})
    summary = run(at_work, root=out / f"{workers}", backend=backend, cache="off", progress=Lines(), report=False)
    wall = time.monotonic() - started
    events = read_events(summary.folder)
    generations = [one for one in events if one["event"] == "generation"]
    counted = generations[1:]
    rates = [one["evaluations_per_s"] for one in counted]
    device = next((one for one in events if one["event"] == "device"), {"device": backend})
    return {
        "workers": workers,
        "antennas_per_s": statistics.median(rates),
        "spread": (max(rates) - min(rates)) / 2 / statistics.median(rates),
        "generation_seconds": [one["seconds"] for one in counted],
        "first_generation_seconds": generations[0]["seconds"],
        "stepping_share": stepping_share(summary.folder, {one["generation"]: one["seconds"] for one in counted}),
        "stepping_share_with_first": summary.stepping_fraction,
        "seconds_beside_busiest": beside_busiest(
            summary.folder, {one["generation"]: one["seconds"] for one in generations}
        ),
        "seconds": wall,
        "status": summary.counts,
        **{name: device[name] for name in ("device", "scheme", "wave") if name in device},
        "folder": str(summary.folder),
    }


def solved_rows(folder: Path, generations: Collection[int]) -> pd.DataFrame:
    """What stepped which solved antenna of these generations for how long."""
    rows = pd.read_parquet(folder / "evals", columns=["generation", "worker", "cached", "stepping_seconds"])
    return rows[rows["generation"].isin(list(generations)) & ~rows["cached"]]


def beside_busiest(folder: Path, seconds: dict[int, float]) -> list[float]:
    """Wall time of each generation less what the worker stepped that stepped longest, s."""
    stepped = solved_rows(folder, seconds).groupby(["generation", "worker"])["stepping_seconds"].sum()
    longest = stepped.groupby(level="generation").max()
    return [float(wall - longest[generation]) for generation, wall in seconds.items()]


def stepping_share(folder: Path, seconds: dict[int, float]) -> float:
    """How much of the generations' wall time their workers stepped, by the rows."""
    solved = solved_rows(folder, seconds)
    return float(solved["stepping_seconds"].sum() / (sum(seconds.values()) * solved["worker"].nunique()))


def rows_of(folder: str, generations: int) -> pd.DataFrame:
    """Rows and patterns of a run's first generations but where and when they were made, by generation and slot."""
    rows = pd.read_parquet(Path(folder) / "evals").sort_values(["generation", "slot"], ignore_index=True)
    rows = rows[rows["generation"] < generations]
    patterns = pd.read_parquet(Path(folder) / "patterns").drop(columns="run")
    cuts = [name for name in patterns if patterns[name].dtype == object and name != "individual"]
    patterns = patterns.assign(**{name: [np.asarray(one).tobytes() for one in patterns[name]] for name in cuts})
    joined = patterns.sort_values(["individual", "frequency_hz"]).groupby("individual", as_index=False).agg(tuple)
    rows = rows.drop(columns=[name for name in ACCIDENTAL if name in rows])
    rows["genome"] = [np.asarray(one).tobytes() for one in rows["genome"]]
    rows["parents"] = [tuple(one) for one in rows["parents"]]
    return rows.merge(joined, on="individual", how="left", suffixes=("", "_pattern"))


def different(one: pd.DataFrame, other: pd.DataFrame) -> dict[str, int]:
    """How many rows differ, by column; columns that are equal to the bit are left out."""
    counts = {
        name: int((~((one[name] == other[name]) | (one[name].isna() & other[name].isna()))).sum()) for name in one
    }
    return {name: count for name, count in counts.items() if count}


def outside_devices(results: list[dict]) -> float:
    """Seconds a generation that do not shrink with the number of workers: o of o + s/n through the measured times."""
    n = np.array([one["workers"] for one in results], float)
    t = np.array([statistics.median(one["generation_seconds"]) for one in results])
    return float(np.linalg.lstsq(np.stack([np.ones_like(n), 1 / n], axis=1), t, rcond=None)[0][0])


def warm_up(experiment: Experiment, backend: str) -> float:
    """Compile every kernel in one process, so that the runs find them on disk; returns the seconds it took."""
    began = time.monotonic()
    from antennaopt.solve.evaluate import evaluate

    designs = [experiment.bounds()[1]] * 4
    with DaskFarm(
        evaluate,
        family=experiment.family,
        plan=plan_for(experiment),
        backend=backend,
        cluster=ClusterSettings(workers=1),
    ) as farm:
        statuses = {one["status"] for _, one in farm.run([[(f"{n}", one) for n, one in enumerate(designs)]])}
    if statuses != {"ok"}:
        sys.exit(f"the largest lens is not solved: {statuses}")
    return time.monotonic() - began


def main() -> None:
    """Measure, compare, write."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options.add_argument("--population", type=int, default=2112)
    options.add_argument("--generations", type=int, nargs="+", default=[2], help="that count; one more warms up")
    options.add_argument("--backend", default="cuda")
    options.add_argument("--steps", type=int, help="in place of the reference's 6,000, for a try without a device")
    asked = options.parse_args()
    counts = asked.generations * len(asked.workers) if len(asked.generations) == 1 else asked.generations
    if len(counts) != len(asked.workers):
        options.error("--generations takes one number, or as many as --workers")
    asked.folder.mkdir(parents=True, exist_ok=True)
    studies = [study(asked.population, count + 1, steps=asked.steps) for count in counts]
    print(f"warm-up {warm_up(studies[0], asked.backend):.1f} s", flush=True)
    results = [
        timed(one, workers, asked.backend, asked.folder / "runs")
        for one, workers in zip(studies, asked.workers, strict=True)
    ]
    tables = [rows_of(one["folder"], min(counts) + 1) for one in results]
    differing = {str(one["workers"]): different(tables[0], other) for one, other in zip(results, tables, strict=True)}
    equal = not any(differing.values())
    alone = results[0]["antennas_per_s"] / results[0]["workers"]
    report = {
        "command": "python " + " ".join(sys.argv),
        "host_cores": len(os.sched_getaffinity(0)),
        "population": asked.population,
        "rows": len(tables[0]),
        "same_bits": equal,
        "rows_that_differ_by_column": differing,
        "seconds_outside_devices": outside_devices(results) if len(results) > 1 else None,
        "results": [{**one, "ratio": one["antennas_per_s"] / alone} for one in results],
    }
    (asked.folder / "farm.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print("workers  antennas/s  ratio  spread  stepping  seconds a generation")
    for one in report["results"]:
        took = ", ".join(f"{seconds:.3f}" for seconds in one["generation_seconds"])
        shares = f"{one['ratio']:5.2f}  {one['spread']:6.1%}  {one['stepping_share']:8.1%}"
        print(f"{one['workers']:7d}  {one['antennas_per_s']:10.1f}  {shares}  {took}")
    print(f"{len(tables[0])} rows with their patterns: {'equal to the bit' if equal else 'DIFFERENT'}")
    if not equal:
        sys.exit(json.dumps(differing))


if __name__ == "__main__":
    main()
