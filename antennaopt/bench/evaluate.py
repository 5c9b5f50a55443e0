"""Whole evaluations, from design to figures of merit, and where their time goes."""

from __future__ import annotations

import statistics
import time
from typing import Any

from antennaopt.bench.kernels import device_name
from antennaopt.evaluation.evaluate import evaluate
from antennaopt.evaluation.plan import plan


def bench_evaluate(experiment: Any, *, backend: str = "cpu", batch: int = 4, repeat: int = 3) -> list[dict[str, Any]]:
    """Time a batch of one antenna's copies, on one core.

    Args:
        experiment: From `load_antenna`.
        backend: What solves.
        batch: Antennas solved together.
        repeat: Timings, of which the median.

    Returns:
        One row: `antennas_per_s` (median), `spread`, `stage_seconds` an antenna (`rasterise`, `step`, `transform`,
        `rest`), `stepping_share`, and the device, grid, steps and batch.
    """
    design = experiment.design()
    resolved = experiment.resolved()
    family = resolved["antenna"]["family"]
    solver = resolved["solver"]
    made = plan(family, design, design, {**solver, "surfaces": solver["surfaces"] or "diagonal"})  # as in a search
    data = made.to_dict()
    evaluate(family, [design], {**data, "max_steps": 2 * made.layout.check_every}, backend=backend)  # compile
    seconds, stages, outcome = [], [], {}
    for _ in range(repeat):
        spent: dict[str, float] = {}
        start = time.perf_counter()
        outcome = evaluate(family, [design] * batch, data, backend=backend, stages=spent)[0]
        seconds.append((time.perf_counter() - start) / batch)
        spent = {name: value / batch for name, value in spent.items()}
        stages.append({**spent, "rest": seconds[-1] - sum(spent.values())})
    middle = statistics.median(seconds)
    typical = {name: statistics.median(stage[name] for stage in stages) for name in stages[0]}
    return [
        {
            "stencil": "bor",
            "backend": backend,
            "device": device_name(),
            "dtype": made.precision,
            "shape": [made.layout.nr, made.layout.nz],
            "batch": batch,
            "steps": outcome["steps"],
            "antennas_per_s": 1 / middle,
            "spread": (max(seconds) - min(seconds)) / 2 / middle,
            "stepping_share": typical["step"] / middle,
            "stage_seconds": typical,
        }
    ]
