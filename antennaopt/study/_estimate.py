"""What a run will cost, before it is started: `antennaopt run --dry-run`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from antennaopt.errors import ConfigurationError
from antennaopt.evaluation.cores import usable_cores
from antennaopt.evolution import HALL_OF_FAME_SIZE, EvolutionSettings, decode
from antennaopt.study._planning import Evaluate, halved_plan, plan_for, standard_evaluate
from antennaopt.study._progress import duration

CALIBRATION_STEPS = (200, 1200)
"""Two lengths, so that what an antenna costs beside stepping does not count as stepping."""


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """Cost of a run.

    Attributes:
        nr: Cells along r, absorbing layer included.
        nz: Cells along z, absorbing layers included.
        cell: Cell size, m.
        time_step: Seconds of field time a step.
        max_steps: Steps after which an antenna is given up as `undecayed`; most stop earlier, by their energy.
        memory_bytes: Fields and coefficients of one antenna.
        evaluations: Antennas solved at most.
        certified: Antennas solved once more at the end, with half the cell, at most.
        certificate_grid: Cells along r and z of those; None when there are none.
        workers: Cores or devices, each of which solves by itself.
        cell_steps_per_s: Measured on one worker: one antenna on a core, a wave of them on a device.
        seconds_per_antenna: All that it takes, at `max_steps`, on one worker; of a device its share of the batch's.
        seconds: Of the whole run at `max_steps`; an upper estimate.
    """

    nr: int
    nz: int
    cell: float
    time_step: float
    max_steps: int
    memory_bytes: int
    evaluations: int
    certified: int
    certificate_grid: tuple[int, int] | None
    workers: int
    cell_steps_per_s: float
    seconds_per_antenna: float
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the estimate as lines for people."""
        return [
            f"grid         {self.nr} x {self.nz} cells (r x z) of {self.cell * 1e3:.4g} mm, absorbing layers included",
            f"time step    {self.time_step * 1e12:.4g} ps, at most {self.max_steps} steps an antenna",
            f"memory       {self.memory_bytes / 2**20:.1f} MiB an antenna",
            f"evaluations  at most {self.evaluations}, {self.workers} at a time",
            *self._certificate_lines(),
            f"speed        {self.cell_steps_per_s / 1e6:.0f} M cell-steps/s on one worker (measured)",
            f"time         at most {duration(self.seconds)}; "
            "antennas whose energy has left stop earlier, usually by a factor of 2 or more",
        ]

    def _certificate_lines(self) -> list[str]:
        if self.certificate_grid is None:
            return []
        nr, nz = self.certificate_grid
        return [
            f"certificate  at most {self.certified} antennas once more, on {nr} x {nz} cells of "
            f"{self.cell * 0.5e3:.4g} mm"
        ]


def estimate(
    experiment: Any,
    *,
    backend: str = "cpu",
    workers: int | None = None,
    evaluate: Evaluate | None = None,
) -> DryRun:
    """Plan a run and time one antenna for a few hundred steps, without starting anything else.

    Args:
        experiment: From `load_experiment`.
        backend: What solves.
        workers: Antennas solved at a time; None asks the experiment and then counts this machine's cores.
        evaluate: Solves a batch; tests put a cheap one here.

    Raises:
        ConfigurationError: The experiment has no gene, or the middle of its ranges cannot be solved.
    """
    resolved = experiment.resolved()
    solve = evaluate or standard_evaluate()
    plan = plan_for(experiment)
    settings = EvolutionSettings.from_dict(resolved["evolution"])
    genes = experiment.genes
    middle = experiment.design(decode(genes, [0.5] * len(genes)))
    batch, count = _batch_and_workers(plan, backend, resolved.get("cluster", {}))
    count = workers or count
    step, rest = _calibrate(solve, resolved["antenna"]["family"], [middle] * batch, plan, backend)
    evaluations = settings.most_evaluations
    each = step * plan["max_steps"] + rest
    finer = halved_plan(experiment, plan) if resolved["certificate"]["mode"] != "off" else None
    certified = min(HALL_OF_FAME_SIZE, evaluations) if finer else 0
    seconds = math.ceil(evaluations / count) * each
    if finer:
        growth = finer["nr"] * finer["nz"] / (plan["nr"] * plan["nz"])
        seconds += math.ceil(certified / count) * (step * growth * finer["max_steps"] + rest)
    return DryRun(
        nr=plan["nr"],
        nz=plan["nz"],
        cell=plan["cell"],
        time_step=plan["time_step"],
        max_steps=plan["max_steps"],
        memory_bytes=plan["memory_bytes"],
        evaluations=evaluations,
        certified=certified,
        certificate_grid=(finer["nr"], finer["nz"]) if finer else None,
        workers=count,
        cell_steps_per_s=plan["nr"] * plan["nz"] / step,
        seconds_per_antenna=each,
        seconds=seconds,
    )


def _calibrate(
    solve: Callable[..., list[dict[str, Any]]],
    family: str,
    designs: list[dict[str, float]],
    plan: Mapping[str, Any],
    backend: str,
) -> tuple[float, float]:
    """Return seconds a step and seconds beside stepping of one of a batch; the first call compiles the kernels."""
    timed = []
    for limit in (CALIBRATION_STEPS[0], *CALIBRATION_STEPS):
        outcome = solve(family, designs, {**plan, "max_steps": limit}, backend=backend)[0]
        if not outcome.get("steps") or not outcome.get("seconds"):
            raise ConfigurationError(
                f"the design in the middle of all ranges cannot be solved: {outcome['status']}, "
                f"{outcome.get('error')}; change the ranges"
            )
        timed.append((outcome["steps"], outcome["seconds"]))
    (few, short), (many, long) = timed[1:]
    if many <= few or long <= short:
        return long / many, 0.0
    each = (long - short) / (many - few)
    return each, max(short - few * each, 0.0)


def _batch_and_workers(plan: Mapping[str, Any], backend: str, cluster: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many antennas are timed together, and how many such batches are solved at a time."""
    if backend != "cuda":
        return 1, _workers(cluster)
    from antennaopt.evaluation._device import room
    from antennaopt.evaluation._devices import enough_devices

    found, asked = room(plan), cluster.get("workers", "auto")
    return min(found["wave"], found["antennas"]), len(enough_devices(None if asked == "auto" else int(asked)))


def _workers(cluster: Mapping[str, Any]) -> int:
    asked = cluster.get("workers", "auto")
    return int(asked) if str(asked).isdigit() else usable_cores()
