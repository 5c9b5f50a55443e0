"""Compare the antennas a second of a yield study with the same search without samples, on a device.

    python benchmarks/yield_share.py FILE [--generations 26] [--name after] [--backend cuda] [--set KEY=VALUE ...]

Both are `benchmarks/hundred_thousand.toml` with `tolerance.samples` 0 and 20, and as many generations; one farm solves
them, after two generations that are out of account, since workers start and load kernels in them. Antennas a second are
candidates and their samples over the time of the search. FILE gets a row more for each search, so that two checkouts
can be measured by turns: antennas a second, solves a candidate, steps an antenna, the share of the time in which the
device steps, processor time of the driver an antenna; and, to see that the same was solved, a digest of all fitness.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import antennaopt
from antennaopt.experiment import load_experiment
from antennaopt.run.planning import plan_for
from antennaopt.run.start import OpenFarm, run, shared_farm

STUDY = Path(__file__).with_name("hundred_thousand.toml")
WARM = 2


def search(samples: int, generations: int, given: argparse.Namespace, root: Path, farm: OpenFarm) -> dict[str, Any]:
    """Carry a search out and return its row."""
    changes = [
        f"tolerance.samples={samples}",
        "tolerance.final_samples=0",
        f"evolution.generations={generations}",
        'certificate.mode="off"',
        *given.set,
    ]
    experiment, used = load_experiment(STUDY, changes), time.process_time()
    about: dict[str, Any] = {"backend": given.backend, "cache": "off", "report": False, "farm": farm}
    summary = run(experiment, root=root, plan=plan_for(experiment), overrides=changes, **about)
    used = time.process_time() - used
    opened = antennaopt.open_run(summary.folder)
    rows, solved = opened.rows, summary.evaluations + summary.samples
    made = opened.samples if samples else rows.iloc[:0]
    steps = [*rows.loc[~rows["cached"], "steps"], *made["steps"]]
    numbers = [*rows["fitness"], *made["fitness"]]
    return {
        "name": given.name,
        "commit": os.environ.get("COMMIT"),
        "command": "python benchmarks/" + Path(sys.argv[0]).name + " " + " ".join(sys.argv[1:]),
        "device": rows["device"].mode()[0],
        "population": experiment.evolution.population,
        "generations": generations,
        "candidates": summary.evaluations,
        "samples": summary.samples,
        "solves_a_candidate": solved / summary.evaluations,
        "seconds": summary.search_seconds,
        "antennas_per_s": solved / summary.search_seconds,
        "steps": sum(steps) / len(steps),
        "stepping_fraction": summary.stepping_fraction,
        "driver_us": 1e6 * used / solved,
        "fitness": hashlib.sha256(repr([float(one) for one in numbers]).encode()).hexdigest()[:16],
    }


def main() -> None:
    """Measure both and add their rows to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--generations", type=int, default=26)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--name", default="")
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the experiment")
    given = parser.parse_args()
    rows = json.loads(given.file.read_text("utf-8")) if given.file.exists() else []
    with tempfile.TemporaryDirectory() as root, shared_farm() as farm:
        search(0, WARM, given, Path(root), farm)
        pair = [search(samples, given.generations, given, Path(root), farm) for samples in (0, given.samples)]
    given.file.parent.mkdir(parents=True, exist_ok=True)
    given.file.write_text(json.dumps([*rows, *pair], indent=1) + "\n", "utf-8")
    for row in pair:
        print(json.dumps({name: value for name, value in row.items() if name != "command"}))
    share = pair[1]["antennas_per_s"] / pair[0]["antennas_per_s"]
    print(f"{given.name}: antennas/s of the yield study {share:.1%} of those without samples", flush=True)


if __name__ == "__main__":
    main()
