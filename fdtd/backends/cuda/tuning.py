"""Times the model's best few plans once on a device, and remembers the winner in the user's cache.

A winner holds for one device, driver and kernel text, and for one stencil, shape, batch and precision; anything else
is timed anew. The cache is a JSON file; one that cannot be read is as good as none, and is replaced. Of processes that
write at the same moment one wins whole; the other's winner is timed again some day.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from fdtd.backends.cuda.planar import PlanarBatch, prepare
from fdtd.errors import FdtdError, Unsuitable
from fdtd.jacobi import JacobiProblem
from fdtd.planar import PlanarProblem
from fdtd.tiling.candidates import Candidate, best_few
from fdtd.tiling.machine import Machine

_VERSION = 1
_STEPS = 48  # of one timing, at least
_TIMINGS = 3

Wait = Callable[[], None]
"""Returns when the device has done everything that was started."""


def cache_file() -> Path:
    """Where winners are remembered: `antennaopt/tuned.json` in the user's cache folder (XDG)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return folder / "antennaopt" / "tuned.json"


def kernel_digest() -> str:
    """Of all kernel text: another text, other winners."""
    digest = hashlib.sha256()
    for file in sorted((files("fdtd") / "kernels").iterdir(), key=lambda entry: entry.name):
        if file.name.endswith((".cu", ".cuh")):
            digest.update(f"{file.name}\n{file.read_text('utf-8')}".encode())
    return digest.hexdigest()[:16]


def recall(key: str, file: Path) -> Candidate | None:
    """The winner remembered under a key, or None."""
    entry = _read(file).get(key)
    with contextlib.suppress(KeyError, TypeError, ValueError):
        if isinstance(entry, dict):
            return Candidate(
                scheme=str(entry["scheme"]), choice=dict(entry["choice"]), predicted=float(entry["predicted"])
            )
    return None


def remember(key: str, winner: Candidate, rate: float, file: Path) -> None:
    """Add a winner to the cache in one step; a folder that cannot be written leaves it out."""
    winners = _read(file)
    winners[key] = {
        "scheme": winner.scheme, "choice": winner.choice, "predicted": winner.predicted, "cell_steps_per_s": rate,
    }  # fmt: skip
    text = json.dumps({"version": _VERSION, "winners": winners}, indent=1, sort_keys=True)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            Path(part).replace(file)
        except OSError:
            Path(part).unlink(missing_ok=True)
            raise


def fastest(candidates: Sequence[Candidate], measure: Callable[[Candidate], float]) -> tuple[Candidate, float]:
    """Time candidates; what cannot run here is passed over.

    Args:
        candidates: Best guess first.
        measure: Cell-steps a second of one; raises `FdtdError` where it cannot run.

    Returns:
        The fastest and its rate.

    Raises:
        Unsuitable: None of them runs.
    """
    best: tuple[Candidate, float] | None = None
    reasons = []
    for candidate in candidates:
        try:
            rate = measure(candidate)
        except FdtdError as error:
            reasons.append(str(error))
            continue
        if best is None or rate > best[1]:
            best = candidate, rate
    if best is None:
        raise Unsuitable(f"no scheme runs here: {'; '.join(reasons) or 'there is no candidate'}")
    return best


def tuned(
    problem: PlanarProblem | JacobiProblem,
    device: Any,
    machine: Machine,
    *,
    identity: str,
    wait: Wait,
    precision: str = "float32",
    file: Path | None = None,
) -> Candidate:
    """The fastest scheme and plan for a planar problem on a device, timed if it is not remembered.

    Args:
        problem: What will be stepped.
        device: Where.
        machine: Its numbers.
        identity: What must not change for a winner to hold: device, compute capability, driver.
        wait: Waits for the device.
        precision: "float32" or "float64".
        file: The cache; the user's if None.

    Raises:
        Unsuitable: No scheme runs.
    """
    batch = PlanarBatch(device, problem, precision)
    shape = (batch.rows, batch.columns, batch.count, batch.layer)
    place = cache_file() if file is None else file
    name, coupled = batch.stencil.name, batch.stencil.phases
    key = f"{identity}, text {kernel_digest()}, {name} {coupled} {'x'.join(map(str, shape))} {precision}"
    known = recall(key, place)
    if known is not None:
        return known
    found = best_few(
        name, machine, rows=batch.rows, columns=batch.columns, batch=batch.count, layer=batch.layer, size=batch.size
    )
    del batch
    winner, rate = fastest(found, lambda candidate: _rate(problem, device, candidate, precision, wait))
    remember(key, winner, rate, place)
    return winner


def _rate(
    problem: PlanarProblem | JacobiProblem, device: Any, candidate: Candidate, precision: str, wait: Wait
) -> float:
    """Cell-steps a second, median; as many steps as any depth and the problem's record allow."""
    batch = PlanarBatch(device, problem, precision)
    march = prepare(batch, candidate.scheme, **candidate.choice)
    most = max(1, problem.steps // (_TIMINGS + 1))
    depth = candidate.choice.get("depth") or candidate.choice.get("levels") or 1
    steps = min(-(-_STEPS // depth) * depth, most)
    march(steps)  # compiles, and fills what the first launch fills
    seconds = []
    for _ in range(_TIMINGS):
        wait()
        start = time.perf_counter()
        march(steps)
        wait()
        seconds.append(time.perf_counter() - start)
    return batch.rows * batch.columns * batch.count * steps / statistics.median(seconds)


def _read(file: Path) -> dict[str, Any]:
    """What is remembered; nothing where there is no file, or none of this version."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict) or data.get("version") != _VERSION or not isinstance(data.get("winners"), dict):
        return {}
    return data["winners"]
