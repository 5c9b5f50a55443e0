"""Compare whole runs of this checkout with those of an older commit: every figure and genome, as numbers.

    python benchmarks/same_bits.py OLD_COMMIT [--size small|full] [--case quickstart ...] [--seed 7 ...]

The older commit is checked out into a temporary git worktree and run by the same interpreter with PYTHONPATH set to
it. Evaluation caches are off. Compared are the rows, the patterns, `best/result.json` and the certificates of each run;
times, workers and names of runs are left out. Columns that were renamed since are matched by `RENAMED`.
Prints one line a run and exits with 1 on any difference, with 2 when a run could not be carried out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from antennaopt.metrics import METRICS

HERE = Path(__file__).resolve().parents[1]
SEEDS = (7, 11)

RENAMED: dict[str, str] = {}
"""New name of a column or key by its old one."""

ADDED = ("realized_gain_dbi",)
"""Beginnings of columns and keys that the older commit need not have; where it has none they are not compared."""

CUTS = frozenset({"e_plane", "h_plane", "e_plane_dbi", "h_plane_dbi", "e_re", "e_im", "h_re", "h_im"})
"""Forms of the patterns; not compared with a commit that stores levels in dB, where this one stores amplitudes."""

ACCIDENTAL = frozenset({
    "run", "seconds", "stepping_seconds", "worker", "device", "attempt", "batch_seconds", "time", "report",
})  # fmt: skip
"""What two runs of one commit differ in."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One experiment with its budget.

    Attributes:
        experiment: Name of the file in `experiments/`.
        always: `--set` in both sizes.
        small: `--set` in the small size only.
        workers: Worker processes; with one of them a steady state has one order of completion only.
    """

    experiment: str
    always: tuple[str, ...] = ()
    small: tuple[str, ...] = ()
    workers: int = 2


CASES = {
    "quickstart": Case(experiment="quickstart", small=("evolution.generations=6",)),
    "ka_band_horn": Case(
        experiment="ka_band_horn",
        small=("evolution.generations=4", "solver.cells_per_wavelength=12"),
    ),
    "steady_state": Case(
        experiment="quickstart",
        always=("evolution.algorithm=steady_state",),
        small=("evolution.generations=5",),
        workers=1,
    ),
}


@contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """Yield a temporary worktree of a commit."""
    with tempfile.TemporaryDirectory(prefix="same-bits-") as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def carry_out(tree: Path, case: Case, seed: int, size: str, out: Path) -> Path:
    """Run a case with the code of a tree; return the run folder."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    found = subprocess.run(
        [sys.executable, "-P", "-c", "import antennaopt, fdtd; print(antennaopt.__file__); print(fdtd.__file__)"],
        env=environment, cwd=out.parent, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    if not all(Path(path).is_relative_to(tree) for path in found):
        raise SystemExit(f"{sys.executable} imports {found} in place of the packages of {tree}")
    changes = [*case.always, *(case.small if size == "small" else ())]
    command = [sys.executable, "-P", "-m", "antennaopt", "run", str(tree / "experiments" / f"{case.experiment}.toml")]
    command += ["--seed", str(seed), "--workers", str(case.workers), "--backend", "cpu", "--no-cache", "--quiet"]
    command += ["--out", str(out)]
    command += [part for change in changes for part in ("--set", change)]
    done = subprocess.run(command, env=environment, cwd=out.parent, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        print(f"the run ended with exit code {done.returncode}: {' '.join(command)}", file=sys.stderr)
        raise SystemExit(2)
    return Path(done.stdout.strip().splitlines()[-1])


def figures(folder: Path) -> dict[str, Any]:
    """Return all that a run came to, by where it stands: `evals/g0000-s000/directivity_dbi_30000mhz`."""
    found: dict[str, Any] = {}
    for kind, keys in (("evals", ("individual",)), ("patterns", ("individual", "frequency_hz"))):
        for path in sorted((folder / kind).glob("*.parquet")):
            for row in pq.read_table(path).to_pylist():
                place = "/".join([kind, *(str(row[key]) for key in keys)])
                found |= {f"{place}/{name}": value for name, value in row.items() if name not in ACCIDENTAL}
    for name in ("result.json", "certificates.json"):
        path = folder / "best" / name
        if path.exists():
            found |= dict(_leaves(json.loads(path.read_text("utf-8")), f"best/{name}"))
    return found


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            if key not in ACCIDENTAL:
                yield from _leaves(entry, f"{place}/{key}")
    elif isinstance(value, (list, tuple)) and value and all(isinstance(entry, Mapping) for entry in value):
        for number, entry in enumerate(value):
            yield from _leaves(entry, f"{place}/{number}")
    else:
        yield place, value


def renamed(place: str) -> str:
    """Return where a figure of the old commit stands now."""
    return "/".join(RENAMED.get(part, part) for part in place.split("/"))


def same(one: Any, other: Any) -> bool:
    """Say whether two values are equal as numbers; NaN is equal to itself, and 0.0 to -0.0."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return one == other


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return what differs, one line each: a figure that is missing, or has another value.

    A metric that the older commit does not have at all is no difference; see `CUTS` too.
    """
    lines = []
    if stores_amplitudes(old) != stores_amplitudes(new):
        old, new = (
            {place: _without_cuts(value) for place, value in one.items() if _leaf(place) not in CUTS}
            for one in (old, new)
        )
    moved = {renamed(place): value for place, value in old.items()}
    added = tuple(f"{key}_" for key in METRICS if not any(_leaf(place).startswith(f"{key}_") for place in moved))
    new = {place: _without(value, added) for place, value in new.items() if not _leaf(place).startswith(added)}
    for place in sorted(moved.keys() | new.keys()):
        if place not in new:
            lines.append(f"{place}: only in the old run")
        elif place not in moved:
            if place.rsplit("/", 1)[-1].startswith(ADDED):
                continue
            lines.append(f"{place}: only in the new run")
        elif not same(moved[place], new[place]):
            lines.append(f"{place}: {_short(moved[place])} -> {_short(new[place])}")
    return lines


def stores_amplitudes(found: Mapping[str, Any]) -> bool:
    """Say whether a run's patterns are complex amplitudes (since schema version 5) and not levels in dB."""
    return any(_leaf(place) == "e_re" for place in found)


def _without_cuts(value: Any) -> Any:
    """Return a list of results without their patterns."""
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return [{key: entry for key, entry in one.items() if key not in CUTS} for one in value]
    return value


def _leaf(place: str) -> str:
    return place.rsplit("/", 1)[-1]


def _without(value: Any, added: tuple[str, ...]) -> Any:
    """Return a list of results without the metrics that were added."""
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        return [{key: entry for key, entry in one.items() if f"{key}_" not in added} for one in value]
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


def main(arguments: list[str] | None = None) -> int:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("commit", help="the older commit")
    parser.add_argument("--size", choices=("small", "full"), default="small", help="small: a few minutes on two cores")
    parser.add_argument("--case", action="append", choices=tuple(CASES), help="one case; all of them by default")
    parser.add_argument("--seed", action="append", type=int, help=f"by default {SEEDS}")
    parser.add_argument("--show", type=int, default=10, metavar="N", help="differences to print for each run")
    asked = parser.parse_args(arguments)
    print(f"{'case':14} {'seed':>4} {'individuals':>11} {'figures':>8} {'different':>9}", flush=True)
    worst = 0
    with checkout(asked.commit) as tree, tempfile.TemporaryDirectory(prefix="same-bits-runs-") as runs:
        for name in asked.case or CASES:
            for seed in asked.seed or SEEDS:
                both = []
                for side, code in (("old", tree), ("new", HERE)):
                    out = Path(runs) / f"{name}-{seed}-{side}"
                    out.mkdir()
                    both.append(figures(carry_out(code, CASES[name], seed, asked.size, out)))
                lines = differences(*both)
                individuals = sum(place.startswith("evals/") and place.endswith("/genome") for place in both[1])
                print(f"{name:14} {seed:4} {individuals:11} {len(both[1]):8} {len(lines):9}", flush=True)
                for line in lines[: asked.show]:
                    print(f"    {line}", flush=True)
                worst = max(worst, len(lines))
    print("equal" if worst == 0 else "NOT equal", flush=True)
    return 1 if worst else 0


if __name__ == "__main__":
    sys.exit(main())
