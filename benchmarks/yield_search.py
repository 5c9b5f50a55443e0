"""What samples in a search cost: antennas a second and solves a candidate, and whether its yields hold.

`python benchmarks/yield_search.py EXPERIMENT --seeds 10 --backend cuda` runs the file with `tolerance.samples`, and for
comparison without samples, for each seed. The second run has as many solves, all of them candidates. A line a run gives
antennas/s, the share of the workers' time that solving took, solves a candidate, and the winner's yield by 1,000 fresh
samples. The yields of the search with samples, of the crowned antenna and the next two, are computed by a second set,
too. Both are compared by the 99 % interval of a difference of proportions. The evaluation cache is off. `--alone`
leaves the second run out.

Other processes of a machine disturb the pairs. With `--sleep 0.03` an antenna takes a worker 0.03 s of sleep, whatever
else the machine does, and has a directivity by a formula; then only the search is compared, not the yields:

    python benchmarks/yield_search.py benchmarks/yield_horn.toml --seeds 5 --workers 2
    python benchmarks/yield_search.py benchmarks/yield_horn.toml --seeds 5 --workers 2 --sleep 0.03
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import antennaopt
from antennaopt.bench.null_solver import null_evaluate
from antennaopt.experiment import load_experiment
from antennaopt.run.planning import plan_for
from antennaopt.run.start import OpenFarm, run, shared_farm
from antennaopt.run.tolerance import Request, tolerance

Z_99 = 2.5758

FORMULA = ('objective=[{metric = "directivity_dbi", at_least = 16.5}]', "tolerance.final_samples=0")
"""Changes to a file where workers sleep: a goal that the formula's directivity can meet, and no fresh samples."""


def one_run(
    given: argparse.Namespace, seed: int, generations: int, samples: int, root: Path, farm: OpenFarm
) -> dict[str, Any]:
    """Return what a run came to.

    Args:
        given: The command's options.
        seed: Of the search.
        generations: At most.
        samples: Of a candidate; 0 for a search without.
        root: For the run folder.
        farm: Shared by all runs.
    """
    changes = [
        f"seed={seed}",
        f"evolution.generations={generations}",
        "evolution.stop={goals = false}",
        f"tolerance.samples={samples}",
        "certificate.mode=off",
        f"cluster.workers={given.workers}",
        *(FORMULA if given.sleep else ()),
        *given.set,
    ]
    experiment, asleep = load_experiment(given.experiment, changes), {}
    if given.sleep:
        plan = {**plan_for(experiment), "seconds": given.sleep, "frequencies_hz": experiment.solver.frequencies}
        asleep = {"plan": plan, "evaluate": null_evaluate}
    summary = run(
        experiment, root=root, source=given.experiment.read_text(), overrides=changes, backend=given.backend,
        cache="off", report=False, farm=farm, **asleep,
    )  # fmt: skip
    opened = antennaopt.open_run(summary.folder)
    rows = opened.rows
    solved, made = rows["cached"].tolist().count(False), len(opened.samples)
    solving = [*rows["seconds"].dropna(), *(opened.samples["seconds"].dropna() if made else ())]  # none of a duplicate
    about = {
        "seed": seed,
        "samples": samples,
        "candidates": solved,
        "solves": solved + made,
        "solves_a_candidate": (solved + made) / solved,
        "seconds": summary.search_seconds,
        "antennas_per_s": (solved + made) / summary.search_seconds,
        "solver_fraction": summary.solver_fraction,
        "seconds_an_antenna": math.fsum(solving) / len(solving),
        "fitness": summary.best.fitness if summary.best else None,
        "wall_seconds": summary.wall_seconds,
    }
    if given.sleep:
        return about
    if summary.yields:
        return about | second_set(given, summary.folder, summary.yields, farm)
    study = tolerance(summary.folder, Request(individual="best"), backend=given.backend, cache="off", farm=farm)
    return about | {"individual": study.individual, "yield": study.value, "first": study.account.share.text()}


def second_set(given: argparse.Namespace, folder: Path, yields: list[dict[str, Any]], farm: OpenFarm) -> dict[str, Any]:
    """Return the yield of each winner by both sets of fresh samples, and whether they agree; the crowned one first."""
    winners = []
    for first in yields:
        request = Request(individual=first["individual"], samples=first["samples"], seed=first["seed"] + 1_000_000)
        second = tolerance(folder, request, backend=given.backend, cache="off", farm=farm)
        pairs = [(one["yield"]["met"], one["yield"]["judged"]) for one in (first, second.to_dict())]
        low, high = difference(*pairs)
        winners.append(
            {
                "individual": first["individual"],
                "yield": first["yield"]["share"],
                "in_the_search": first.get("in_the_search"),
                "first": first["yield"]["text"],
                "second": second.account.share.text(),
                "difference": [low, high],
                "agree": low <= 0.0 <= high,
            }
        )
    return {"yield": winners[0]["yield"], "winners": winners}


def difference(one: tuple[int, int], other: tuple[int, int]) -> tuple[float, float]:
    """Return Newcombe's 99 % interval of the difference of two proportions, each (met, of)."""
    (p, low_p, high_p), (q, low_q, high_q) = _wilson(*one), _wilson(*other)
    return p - q - math.hypot(p - low_p, high_q - q), p - q + math.hypot(high_p - p, q - low_q)


def _wilson(met: int, of: int) -> tuple[float, float, float]:
    share = met / of
    middle = (share + Z_99**2 / (2 * of)) / (1 + Z_99**2 / of)
    half = Z_99 / (1 + Z_99**2 / of) * math.sqrt(share * (1 - share) / of + Z_99**2 / (4 * of**2))
    return share, min(middle - half, share), max(middle + half, share)


def main() -> None:
    """Run both arms and print what they cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", type=Path, help="file with [tolerance.of]")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--generations", type=int, default=12)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--workers", default='"auto"')
    parser.add_argument("--set", action="append", default=[], metavar="A.B=V", help="other changes to the file")
    parser.add_argument("--alone", action="store_true", help="without the search without samples")
    parser.add_argument("--sleep", type=float, default=0.0, help="s that an antenna takes in place of being solved")
    parser.add_argument("--json", type=Path, help="file for the figures of all runs")
    given = parser.parse_args()
    pairs, searches = [], []
    with tempfile.TemporaryDirectory() as root, shared_farm() as farm:
        if not given.alone:
            one_run(given, 0, 1, 0, Path(root), farm)  # out of account: workers start and load kernels in it
        for seed in range(given.first_seed, given.first_seed + given.seeds):
            seeing = one_run(given, seed, given.generations, given.samples, Path(root), farm)
            print(json.dumps(seeing), flush=True)
            searches.append(seeing)
            if given.alone:
                store(given.json, searches)
                continue
            longer = round(given.generations * seeing["solves_a_candidate"])
            blind = one_run(given, seed, longer, 0, Path(root), farm)
            print(json.dumps(blind), flush=True)
            pairs.append((seeing, blind))
            store(given.json, pairs)
    print("\n".join(account(searches, pairs)))


def store(file: Path | None, runs: list[Any]) -> None:
    """Write the figures of all runs so far."""
    if file is not None:
        file.write_text(json.dumps(runs, indent=1) + "\n")


def account(searches: list[dict[str, Any]], pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[str]:
    """Return lines: what samples cost, whether yields hold, and how searches without samples compare."""
    lines = [f"solves a candidate: {max(one['solves_a_candidate'] for one in searches):.2f} at most"]
    winners = [winner for one in searches for winner in one.get("winners", ())]
    if winners:
        lines.append(
            f"winner's yield {median(one['yield'] for one in searches):.1%} (median); second sets agree for "
            f"{sum(one['agree'] for one in winners)} of {len(winners)} winners"
        )
    return [*lines, against_blind(pairs)] if pairs else lines


def against_blind(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Return what samples cost and gain, against searches without them."""
    ratios = [one["antennas_per_s"] / other["antennas_per_s"] for one, other in pairs]
    same = [one["solver_fraction"] / other["solver_fraction"] for one, other in pairs]  # at equal times of solution
    yields = [other["yield"] for _, other in pairs if "yield" in other]
    gain = f"; winner's yield {median(yields):.1%} without samples (median)" if yields else ""
    return (
        f"antennas/s {median(ratios):.1%} of those without samples (median, {min(ratios):.0%} to {max(ratios):.0%}), "
        f"busy time {median(same):.1%}{gain}"
    )


if __name__ == "__main__":
    main()
