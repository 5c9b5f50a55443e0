"""What `benchmarks/device_study.sh` keeps of a run: times, the best antenna with its evidence, the timeline.

python benchmarks/device_study.py RUN FOLDER BEGAN ENDED
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pandas as pd

from antennaopt.events import read_events

KEPT = {
    "logs/run.jsonl": "timeline.jsonl",
    "manifest.json": "manifest.json",
    "best/antenna.toml": "antenna.toml",
    "best/result.json": "result.json",
    "best/certificates.json": "certificates.json",
    "report.html": "report.html",
}


def summary(run: Path, began: float, ended: float) -> dict:
    """Where the time of a run went.

    Args:
        run: The run folder.
        began: When the command was started, seconds since 1970.
        ended: When it ended.
    """
    events = read_events(run)
    generations = [one for one in events if one["event"] == "generation"]
    stopped = next((one for one in events if one["event"] == "stopped"), {})
    rows = pd.read_parquet(run / "evals")
    return {
        "wall_seconds": ended - began,
        "search_seconds": stopped.get("search_seconds"),
        "run_seconds": stopped.get("run_seconds"),
        "stepping_fraction": stopped.get("stepping_fraction"),
        "generation_seconds": [one["seconds"] for one in generations],
        "evaluations": generations[-1]["evaluations"],
        "rows": len(rows),
        "status": rows["status"].value_counts().to_dict(),
        "evaluations_per_s": generations[-1]["evaluations"] / (ended - began),
        "steps": rows["steps"].describe().to_dict(),
        "best_fitness": [one["best"] for one in generations],
        "best_of_first_generation": first_best(rows),
        "device": next((one for one in events if one["event"] == "device"), None),
        "crowned": stopped.get("crowned"),
    }


def first_best(rows: pd.DataFrame) -> dict:
    """Figures of the first generation's best antenna, by column, with its name."""
    best = rows[(rows["generation"] == 0) & (rows["status"] == "ok")].nsmallest(1, "fitness").iloc[0]
    return {name: best[name] for name in rows if name == "individual" or name.endswith("mhz")}


def main() -> None:
    """Write the summary and copy what is kept."""
    run, out = Path(sys.argv[1]), Path(sys.argv[2])
    for name, kept in KEPT.items():
        if (run / name).exists():
            shutil.copy(run / name, out / kept)
    shutil.copytree(run / "evals", out / "evals", dirs_exist_ok=True)
    found = summary(run, float(sys.argv[3]), float(sys.argv[4]))
    (out / "study.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
