"""What an early stop changes of pixel patches, whose records are continued as damped waves.

    python benchmarks/space_ringing.py --json results/benchmarks/cpu/space_ringing.json

Solves the first random antennas of experiments/dual_band_pixels.toml, stopped at the energies of `--stops` (dB below
the peak, the last one the reference), and prints how far S11, directivity and efficiency are from the reference.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from antennaopt.experiment import load_experiment
from antennaopt.run.planning import plan_for, search_of
from antennaopt.search import decode
from antennaopt.solve.yee import evaluate

EXPERIMENT = Path(__file__).parent.parent / "experiments" / "dual_band_pixels.toml"
STEPS = 60_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stops", type=float, nargs="+", default=[20.0, 30.0, 40.0, 50.0])
    parser.add_argument("--antennas", type=int, default=4)
    parser.add_argument("--json", type=Path, required=True, metavar="FILE")
    parser.add_argument("--machine", default="AMD EPYC, one core")
    parser.add_argument("--commit", default="")
    options = parser.parse_args()
    experiment = load_experiment(EXPERIMENT, ["evolution.start=[]"])
    shared, rows = plan_for(experiment), []
    for one in search_of(experiment).ask(options.antennas):
        design = experiment.design(decode(experiment.genes, one.genome))
        solved = []
        for stop in options.stops:
            plan = {**shared, "decay_db": stop, "max_steps": STEPS}
            (found,) = evaluate(experiment.family, [design], plan)
            solved.append(found)
        reference = solved[-1]
        for stop, found in zip(options.stops, solved, strict=True):
            distances = np.hypot(*(np.array(found["s11"]) - np.array(reference["s11"])).T)
            row = {"individual": one.individual, "stop_db": stop, "status": found["status"], "steps": found["steps"]}
            row["s11"] = float(distances.max())
            for name in ("directivity_dbi", "radiation_efficiency"):
                row[name] = float(np.abs(np.array(found[name]) - np.array(reference[name])).max())
            rows.append({**row, "machine": options.machine, "commit": options.commit})
            options.json.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
            print(
                {name: row[name] for name in ("individual", "stop_db", "steps", "s11", "directivity_dbi")}, flush=True
            )


if __name__ == "__main__":
    main()
