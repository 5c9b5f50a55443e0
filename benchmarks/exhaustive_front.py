"""NSGA-II against the exhaustive front of a small antenna problem, and against pymoo's NSGA-II at equal evaluations.

    python benchmarks/exhaustive_front.py solve         # all horns of the grid, into results/benchmarks/cpu
    python benchmarks/exhaustive_front.py compare       # both searches on the stored figures; pymoo must be installed
    python benchmarks/exhaustive_front.py table         # what is stored

The problem: a horn with a sinusoid profile at 30 GHz on cells of 0.8 mm, three genes on a grid, the largest directivity
against the least length. Each horn is solved once; a search takes its figures from the table. pymoo is no dependency.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from stored_rows import ROWS

from antennaopt.search import EvolutionSettings, Mutation, Result, Stop, new_search
from antennaopt.search.fronts import hypervolume
from antennaopt.search.objectives import Ranking
from antennaopt.solve.outcome import Outcome

STORED = ROWS / "cpu" / "exhaustive_front.json"

LENGTHS_MM = np.linspace(5.0, 35.0, 50)
RADII_MM = np.linspace(5.0, 15.0, 50)
AMPLITUDES = np.linspace(0.0, 1.0, 40)
GRID = (len(LENGTHS_MM), len(RADII_MM), len(AMPLITUDES))

FILE = """
[antenna]
family = "profile_horn"
[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4.4 mm"
length = "10 mm"
[antenna.horn]
length = { min = "5 mm", max = "35 mm" }
aperture_radius = { min = "5 mm", max = "15 mm" }
wall = "0.8 mm"
curve = "sinusoid"
amplitude = { min = 0.0, max = 1.0 }
[solver]
frequencies = ["30 GHz"]
cell = "0.8 mm"
[[objective]]
metric = "directivity_dbi"
at_least = 20.0
"""

POPULATION, GENERATIONS, SEEDS = 40, 30, 11


@lru_cache
def _problem() -> tuple[Any, dict[str, Any]]:
    from tempfile import TemporaryDirectory

    from antennaopt.experiment import load_experiment
    from antennaopt.run.planning import plan_for

    with TemporaryDirectory() as folder:
        path = Path(folder) / "horns.toml"
        path.write_text(FILE, "utf-8")
        experiment = load_experiment(path)
    return experiment, plan_for(experiment)


def _solve(places: tuple[tuple[int, ...], ...]) -> list[float]:
    from antennaopt.solve.evaluate import evaluate

    experiment, plan = _problem()
    designs = [
        experiment.design({
            "horn.length": LENGTHS_MM[i] / 1e3, "horn.aperture_radius": RADII_MM[j] / 1e3,
            "horn.amplitude": float(AMPLITUDES[k]),
        })
        for i, j, k in places
    ]  # fmt: skip
    solved = evaluate(experiment.family, designs, plan, backend="cpu")
    return [float(Outcome.of(one).metrics["directivity_dbi"][0]) for one in solved]


def solve() -> None:
    """Solve the whole grid on two processes, and store the directivities: a batch has all amplitudes of a size."""
    parts = [tuple((i, j, k) for k in range(GRID[2])) for i, j in product(*map(range, GRID[:2]))]
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_solve, parts))
    store({"cells": "0.8 mm", "grid": list(GRID), "directivity_dbi": found})


def store(stored: dict[str, Any]) -> None:
    """Write the figures, directivities rounded to 0.001 dB, those of a size in a line."""
    sizes = [json.dumps([round(value, 3) for value in size]) for size in stored["directivity_dbi"]]
    about = json.dumps({name: value for name, value in stored.items() if name != "directivity_dbi"}, indent=1)
    text = f'{about[:-2]},\n "directivity_dbi": [\n' + ",\n".join(sizes) + "\n ]\n}\n"
    STORED.write_text(text, "utf-8")


@lru_cache
def table() -> np.ndarray:
    """Return what is minimised, (horns, 2): minus the directivity in dBi, and the length in mm."""
    directivity = np.array(json.loads(STORED.read_text("utf-8"))["directivity_dbi"]).ravel()
    lengths = np.repeat(LENGTHS_MM, GRID[1] * GRID[2])
    return np.stack([-directivity, lengths], axis=1)


def looked_up(genomes: np.ndarray) -> np.ndarray:
    """Return the values of genomes in [0, 1], (n, 3): of the horn in whose part of the grid each lies."""
    places = np.minimum((np.asarray(genomes) * GRID).astype(int), np.array(GRID) - 1)
    return table()[np.ravel_multi_index(tuple(places.T), GRID)]


def reference() -> list[float]:
    """Return the worst of all horns in each objective."""
    return table().max(axis=0).tolist()


def exhaustive() -> float:
    """Return the hypervolume of the front of all horns."""
    return hypervolume(table(), reference())


def ours(seed: int) -> float:
    """Return the hypervolume of the last population of a search."""
    settings = EvolutionSettings(
        algorithm="nsga2", population=POPULATION, generations=GENERATIONS, mutation=Mutation(probability=1 / 3),
        stop=Stop(goals=False),
    )  # fmt: skip
    genes = [SimpleNamespace(name=f"x.{place}", low=0.0, high=1.0, kind="real", choices=()) for place in range(3)]
    search = new_search(settings, genes, seed, order=Ranking((1.0, 1.0), aims=("least", "least")))
    while search.stopped() is None:
        asked = search.ask()
        values = looked_up(np.array([one.genome for one in asked]))
        search.tell(
            [
                Result(individual=one.individual, shortfalls=tuple(row))
                for one, row in zip(asked, values.tolist(), strict=True)
            ]
        )
    return hypervolume(np.array(search.front_values()), reference())


def of_pymoo(seed: int) -> float:
    """Return the same of pymoo's NSGA-II with its defaults."""
    from pymoo.algorithms.moo.nsga2 import NSGA2  # type: ignore[import-not-found]
    from pymoo.core.problem import Problem  # type: ignore[import-not-found]
    from pymoo.optimize import minimize  # type: ignore[import-not-found]

    class Horns(Problem):
        def __init__(self) -> None:
            super().__init__(n_var=3, n_obj=2, xl=0.0, xu=1.0)

        def _evaluate(self, x: np.ndarray, out: dict[str, Any], *_: Any, **__: Any) -> None:
            out["F"] = looked_up(x)

    found = minimize(Horns(), NSGA2(pop_size=POPULATION), ("n_gen", GENERATIONS), seed=seed)
    return hypervolume(np.array(found.F), reference())


def compare() -> None:
    """Run both with 11 seeds, and store the hypervolumes."""
    stored = json.loads(STORED.read_text("utf-8"))
    stored |= {
        "exhaustive": exhaustive(),
        "hypervolumes": {
            "antennaopt": [ours(seed) for seed in range(SEEDS)],
            "pymoo 0.6.2": [of_pymoo(seed) for seed in range(SEEDS)],
        },
    }
    store(stored)


def show() -> None:
    """Print what is stored."""
    stored = json.loads(STORED.read_text("utf-8"))
    print(f"{len(table()):,} horns, hypervolume of their front {stored['exhaustive']:.2f}")
    for name, volumes in stored["hypervolumes"].items():
        shares = np.array(volumes) / stored["exhaustive"]
        print(f"{name}: median {np.median(shares):.2%} of it, {shares.min():.2%} to {shares.max():.2%}")


if __name__ == "__main__":
    {"solve": solve, "compare": compare, "table": show}[sys.argv[1]]()
