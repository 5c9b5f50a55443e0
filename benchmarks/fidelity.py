"""What `fidelity` saves: `ka_band_lens` on fine cells alone, and bred on coarse cells first, at equal budgets.

`python benchmarks/fidelity.py --seeds 11 --backend cuda` runs both for each seed and prints a line a run and the
medians: final fitness (both with the fine cells), seconds of solving summed over the workers (column `seconds`), wall
time. The evaluation cache is off, so that nothing is saved by it. `--arms plain fidelity former` adds the ladder with
`finish = 0.15`, the former default. `--refit` and the options of the ladder's algorithm, population and generations are
of the arm `fidelity` alone; `stays` is that arm without `refit`. A first run of each, of `--warm-up` generations, is
left out of account: it compiles. `--warm-up 0` makes none, as where several of these commands share the cores of a
machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from antennaopt.experiment import load_experiment
from antennaopt.run.start import OpenFarm, run, shared_farm
from antennaopt.settings import Ladder
from antennaopt.store.levels import level_accounts
from antennaopt.store.run_folder import RunFolder

EXPERIMENT = Path(__file__).parent.parent / "experiments" / "ka_band_lens.toml"


def one_run(given: argparse.Namespace, seed: int, fidelity: Any, root: Path, farm: OpenFarm) -> dict[str, Any]:
    """Return what a run came to.

    Args:
        given: The command's options, with the population and the generations of this arm.
        seed: Of the search.
        fidelity: The file's entry; None to search on the fine cells alone.
        root: For the run folder.
        farm: Shared by all runs.
    """
    changes = [
        f"seed={seed}",
        f"solver.cell={given.cell} mm",
        f"evolution.population={given.population}",
        f"evolution.generations={given.generations}",
        f"evolution.algorithm={given.algorithm}",
        "evolution.stop.stagnation=100000",
        "certificate.mode=off",
        f"cluster.workers={given.workers}",
    ]
    if fidelity is not None:
        changes.append(f"fidelity={fidelity}")
    summary = run(
        load_experiment(EXPERIMENT, changes), root=root, source=EXPERIMENT.read_text(), overrides=changes,
        backend=given.backend, cache="off", report=False, farm=farm,
    )  # fmt: skip
    folder = RunFolder.open(summary.folder)
    rows = folder.all_rows(["seconds", "cached"]).to_pylist()
    solving = sum(row["seconds"] or 0.0 for row in rows if not row["cached"])
    measured = (folder.manifest.get("fidelity") or {}).get("measured") or {}
    return {
        "seed": seed,
        "fidelity": fidelity,
        "algorithm": given.algorithm,
        "population": given.population,
        "generations": given.generations,
        "fitness": summary.best.fitness if summary.best else None,
        "evaluations": summary.evaluations,
        "solver_seconds": solving + measured.get("seconds", 0.0),
        "wall_seconds": summary.wall_seconds,
        "levels": level_accounts(folder),
    }


def table(arms: dict[str, list[dict[str, Any]]]) -> str:
    """Return the runs side by side, and what the coarse cells changed in the medians."""
    lines = [
        f"{'seed':>6}" + "".join(f"  {name + ' fitness':>18} {'solving (s)':>12} {'wall (s)':>9}" for name in arms)
    ]
    for each in zip(*arms.values(), strict=True):
        cells = (f"  {one['fitness']:18.3f} {one['solver_seconds']:12.1f} {one['wall_seconds']:9.1f}" for one in each)
        lines.append(f"{each[0]['seed']:6d}" + "".join(cells))
    middle = {
        name: [median(one[key] for one in runs) for key in ("fitness", "solver_seconds", "wall_seconds")]
        for name, runs in arms.items()
    }
    lines.append("median" + "".join(f"  {one[0]:18.3f} {one[1]:12.1f} {one[2]:9.1f}" for one in middle.values()))
    plain = middle.pop("plain", None)
    if plain is None:
        return "\n".join(lines)
    for name, ladder in middle.items():
        lines.append(
            f"{name}: median fitness {ladder[0] - plain[0]:+.3f} (negative is better), "
            f"{ladder[1] / plain[1]:.0%} of the solver's seconds, {ladder[2] / plain[2]:.0%} of the wall time"
        )
    return "\n".join(lines)


def main() -> None:
    """Run both arms and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--cell", type=float, default=0.2, help="fine cells, mm")
    parser.add_argument("--coarse", default='["0.6 mm"]', help='coarser cells, as in the file; or "auto"')
    parser.add_argument("--promote", type=float, default=Ladder.promote)
    parser.add_argument("--finish", type=float, default=Ladder.finish)
    parser.add_argument("--refit", action="store_true", help="fit the distribution of cmaes to the promoted")
    parser.add_argument("--ladder-population", type=int, help="of the ladder; that of the other arm by default")
    parser.add_argument("--ladder-generations", type=int, help="likewise")
    parser.add_argument("--ladder-algorithm", help="likewise")
    parser.add_argument("--arms", nargs="+", default=["plain", "fidelity"], help="also: former and stays, see above")
    parser.add_argument("--time-limit", type=float, default=1e9, help="start no seed after this many seconds")
    parser.add_argument("--warm-up", type=int, default=8, help="generations of the first run; 0 for none")
    parser.add_argument("--population", type=int, default=64)
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--algorithm", default="ga")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--workers", default="auto")
    parser.add_argument("--json", type=Path, help="file for the figures of all runs")
    given = parser.parse_args()
    ladder = f"{{cells = {given.coarse}, promote = {given.promote}, finish = {given.finish}}}"
    entries = {"plain": None, "fidelity": '"auto"' if given.coarse == "auto" else ladder, "stays": ladder}
    if given.refit:
        entries["fidelity"] = f"{ladder[:-1]}, refit = true}}"
    entries["former"] = f"{{cells = {given.coarse}, promote = 0.1, finish = 0.15}}"
    entries = {name: entries[name] for name in given.arms}
    sizes = {"population": given.ladder_population, "generations": given.ladder_generations}
    sizes["algorithm"] = given.ladder_algorithm
    climbing = {**vars(given), **{name: one for name, one in sizes.items() if one is not None}}
    of_arm = {
        name: argparse.Namespace(**(climbing if name in ("fidelity", "stays") else vars(given))) for name in entries
    }
    arms: dict[str, list[dict[str, Any]]] = {name: [] for name in entries}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as root, shared_farm() as farm:
        for name, fidelity in entries.items() if given.warm_up else ():
            short = argparse.Namespace(**{**vars(of_arm[name]), "generations": given.warm_up})
            one_run(short, 0, fidelity, Path(root), farm)
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            if time.monotonic() - began > given.time_limit:
                break
            for name, fidelity in entries.items():
                arms[name].append(one_run(of_arm[name], seed, fidelity, Path(root), farm))
                print(json.dumps({"arm": name, **arms[name][-1]}), flush=True)
    if given.json:
        given.json.write_text(json.dumps(arms, indent=1) + "\n")
    print(table(arms))


if __name__ == "__main__":
    main()
