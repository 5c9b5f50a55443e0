"""Measure on a machine with a CUDA device what README and docs/performance.md say of one.

    python benchmarks/device_study.py FOLDER [PART ...] [--seconds 540] [--commit HASH] [--runs FOLDER]

Parts, in this order, all of them if none is named:

doctor: `antennaopt doctor`, with its self-test.
tests: the tests that need a device; a skipped one is a failure.
proof: `benchmarks/gpu_proof.py`, of which `ports` holds ports 18 and 36 columns wide.
kernels: both forms of `one_step` and every other scheme, on the headline's lattice and on that of the study.
evaluate: whole antennas.
study: `experiments/ten_thousand.toml`, first with no kernel compiled, then again; with the rate that it steps at.

FOLDER gets files of the names that results/benchmarks/h200 has, ten_thousand/ among them; all of them name the commit.
A part that is out of time is ended, and the next ones are left out. The exit status is 1 if any part failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from antennaopt.metrics import METRICS
from antennaopt.store.files import read_events
from antennaopt.store.manifest import source_commit
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.stepping import stepping_of

ROOT = Path(__file__).resolve().parents[1]
STUDY = "experiments/ten_thousand.toml"
LATTICES = ("256x320", "124x210", "115x192")
"""Of the reference lens, and of the study with layers as thick as they are by default, and as its file asks."""

KEPT = ("antenna.toml", "result.json", "certificates.json")
SHOWN = ("directivity_dbi", "s11_db", "sidelobe_db")


class Measuring:
    """Parts of one call: where files go, and when to stop.

    Attributes:
        folder: Of the files.
        until: When to end, on the monotonic clock.
        commit: Of the source; None where it is not known.
        runs: Where run folders go.
    """

    def __init__(self, folder: Path, seconds: float, commit: str | None, runs: Path) -> None:
        self.folder, self.until = folder, time.monotonic() + seconds
        self.commit, self.runs = commit, runs

    def call(self, command: Sequence[str], **environment: str) -> float:
        """Carry a command out within the time that is left; return the seconds it took.

        Raises:
            CalledProcessError, TimeoutExpired: It failed, or is out of time.
        """
        print("+ " + " ".join(command), flush=True)
        began = time.monotonic()
        try:
            subprocess.run(
                [sys.executable, *command], cwd=ROOT, env=os.environ | environment, check=True,
                timeout=max(self.until - began, 1.0),
            )  # fmt: skip
        finally:
            print(f"  {time.monotonic() - began:.1f} s", flush=True)
        return time.monotonic() - began

    def stamp(self, name: str, command: Sequence[str]) -> None:
        """Put the command and the commit with what it wrote."""
        file = self.folder / name
        if not file.exists():
            return
        found = json.loads(file.read_text("utf-8"))
        rows = {"rows": found} if isinstance(found, list) else found
        for row in rows.get("rows", ()):
            row.pop("commit", None)
        self.write(name, {"command": shown(command), "commit": self.commit, **without(rows, "command")})

    def write(self, name: str, data: Mapping[str, Any]) -> None:
        """Write JSON."""
        (self.folder / name).write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", "utf-8")


def shown(command: Sequence[str]) -> str:
    """Return a command as a user types it."""
    return " ".join(command).replace("-m antennaopt ", "antennaopt ", 1)


def without(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the entries but one."""
    return {key: value for key, value in data.items() if key != name}


def stamped(work: Measuring, name: str, command: Sequence[str]) -> None:
    """Carry out a command that writes FOLDER/name; what it wrote before it failed is stamped too."""
    try:
        work.call([*command, "--json", str(work.folder / name)])
    finally:
        work.stamp(name, command)


def doctor(work: Measuring) -> None:
    """The device, the driver, the self-test."""
    stamped(work, "doctor.json", ["-m", "antennaopt", "doctor"])


def tests(work: Measuring) -> None:
    """tests/gpu."""
    command = ["-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "tests/gpu"]
    log = work.runs / "tests.xml"
    try:
        work.call([*command, f"--junitxml={log}"], FDTD_REQUIRE_GPU="1")
    finally:
        if log.exists():
            suite = ElementTree.parse(log).getroot()[0].attrib
            counts = {name: int(suite[name]) for name in ("tests", "failures", "errors", "skipped")}
            about = {"command": f"FDTD_REQUIRE_GPU=1 python {shown(command)}", "commit": work.commit}
            work.write("tests.json", {**about, **counts, "seconds": float(suite["time"])})


def proof(work: Measuring) -> None:
    """Every kernel against oracle, CPU and `one_step`."""
    stamped(work, "proof.json", ["benchmarks/gpu_proof.py"])


def kernels(work: Measuring) -> None:
    """Every scheme with everything on, 264 antennas."""
    lattices = [part for one in LATTICES for part in ("--grid", one)]
    stamped(work, "kernels_study.json", [
        "-m", "antennaopt", "bench", "kernels", "--backend", "cuda", "--stencil", "bor", "--no-ablations", *lattices,
        "--batch", "264",
    ])  # fmt: skip


def evaluations(work: Measuring) -> None:
    """Whole antennas of the reference lens."""
    stamped(work, "evaluate.json", ["-m", "antennaopt", "bench", "evaluate", "--backend", "cuda"])


def study(work: Measuring) -> None:
    """The study with nothing compiled, and again."""
    kept = work.folder / "ten_thousand"
    kept.mkdir(exist_ok=True)
    compiled = tempfile.mkdtemp(dir=work.runs)
    command = ["-m", "antennaopt", "run", STUDY, "--backend", "cuda", "--no-cache"]
    found: dict[str, Any] = {"command": shown(command), "commit": work.commit, "host": f"{os.cpu_count()} cores"}
    for timeline in ("timeline.jsonl", "timeline_again.jsonl"):
        root = work.runs / timeline.partition(".")[0]
        seconds = work.call([*command, "--out", str(root)], CUPY_CACHE_DIR=compiled)
        (run,) = root.glob("*/*/manifest.json")
        shutil.copy(run.parent / "logs" / "run.jsonl", kept / timeline)
        summed = summary(run.parent, seconds)
        if timeline == "timeline.jsonl":
            for name in KEPT:
                shutil.copy(run.parent / "best" / name, kept / name)
            found |= summed
        else:
            found["again"] = summed
        work.write("ten_thousand.json", found)
    print(json.dumps(found, indent=1))


def summary(run: Path, wall_seconds: float) -> dict[str, Any]:
    """Return where a run's time went and what its workers stepped.

    Args:
        run: The run folder.
        wall_seconds: Of the command, from start to end.
    """
    folder, events = RunFolder.open(run), read_events(run)
    generations = [one for one in events if one["event"] == "generation"]
    certifying = [datetime.fromisoformat(one["time"]) for one in events if one["event"] == "certifying"]
    stopped = next((one for one in events if one["event"] == "stopped"), {})
    stepping, rows = stepping_of(folder), pd.read_parquet(run / "evals")
    assert stepping is not None
    return {
        "wall_seconds": wall_seconds,
        "search_seconds": stopped.get("search_seconds"),
        "run_seconds": stopped.get("run_seconds"),
        "certificate_seconds": (certifying[-1] - certifying[0]).total_seconds() if certifying else None,
        "stepping_fraction": stepping.share,
        "stepping_seconds": stepping.seconds,
        "lattice": [folder.manifest["plan"]["nr"], folder.manifest["plan"]["nz"]],
        "cell_steps": stepping.cell_steps,
        "cell_steps_per_s": stepping.cell_steps_per_s,
        "generation_seconds": [one["seconds"] for one in generations],
        "evaluations": generations[-1]["evaluations"],
        "rows": len(rows),
        "status": rows["status"].value_counts().to_dict(),
        "evaluations_per_s": generations[-1]["evaluations"] / wall_seconds,
        "steps": rows["steps"].describe().to_dict(),
        "best_fitness": [one["best"] for one in generations],
        "device": next((one for one in events if one["event"] == "device"), None),
        "crowned": stopped.get("crowned"),
        "best_of_first_generation": worst_of_band(rows[rows["generation"] == 0]),
        "best": worst_of_band(rows[rows["individual"] == stopped.get("crowned")]),
    }


def worst_of_band(rows: pd.DataFrame) -> dict[str, Any]:
    """Return the worst figures over the frequencies of the best antenna of some rows, with its name."""
    best = rows[rows["status"] == "ok"].nsmallest(1, "fitness").iloc[0]
    found: dict[str, Any] = {"individual": best["individual"]}
    for metric in SHOWN:
        values = best[[name for name in rows if str(name).startswith(f"{metric}_") and str(name).endswith("mhz")]]
        found[metric] = float(values.min() if METRICS[metric].larger_is_better else values.max())
    return found


PARTS = {
    "doctor": doctor, "tests": tests, "proof": proof, "kernels": kernels, "evaluate": evaluations, "study": study,
}  # fmt: skip


def main() -> None:
    """Carry the parts out, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--seconds", type=float, default=540.0, help="for all of it")
    parser.add_argument("--commit", default=os.environ.get("COMMIT") or source_commit())
    parser.add_argument("--runs", type=Path, help="keep run folders here")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}; use {', '.join(PARTS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        runs = (options.runs or Path(scratch)).resolve()
        runs.mkdir(parents=True, exist_ok=True)
        work = Measuring(options.folder.resolve(), options.seconds, options.commit, runs)
        for name in (name for name in PARTS if not options.parts or name in options.parts):
            try:
                if time.monotonic() >= work.until:
                    raise TimeoutError("no time is left")
                PARTS[name](work)
            except (subprocess.SubprocessError, OSError, ValueError, LookupError) as problem:
                failed.append(name)
                print(f"{name} FAILED: {type(problem).__name__}: {problem}", flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all parts done", flush=True)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
