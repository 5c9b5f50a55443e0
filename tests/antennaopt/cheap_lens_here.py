"""A run with a bowl in place of fields, in this process."""

from __future__ import annotations

from datetime import UTC, datetime

import cheap_evaluation

from antennaopt.experiment import Experiment
from antennaopt.farm.farm import SerialFarm
from antennaopt.run.progress import Progress
from antennaopt.run.start import run

EXPERIMENT = {
    "name": "cheap_front",
    "seed": 3,
    "antenna": {
        "family": "shaped_lens",
        "feed": {"inner_radius": "3.6 mm", "outer_radius": "4.0 mm", "length": "20 mm"},
        "lens": {"permittivity": 2.53, "radii": {"count": 4, "min": "8 mm", "max": "20 mm"}},
    },
    "solver": {"frequencies": ["30 GHz"]},
    "evolution": {"algorithm": "nsga2", "population": 12, "generations": 6},
    "certificate": {"mode": "off"},
}


def solved(family, designs, plan, **options):
    """Evaluate: the directivity is largest for radii of 12, 13, 14, 15 mm, S11 grows with the last radius."""
    found = []
    for design in designs:
        one = cheap_evaluation.outcome(design, plan)
        radii = [1e3 * design[f"lens.radii.{place}"] for place in range(4)]
        miss = sum((radius - 12.0 - place) ** 2 for place, radius in enumerate(radii))
        found.append(one | {"directivity_dbi": [20.0 - miss / 20.0], "s11_db": [-6.0 + (radii[3] - 8.0) / 2.0]})
    return found


def carried_out(root, **changes):
    """Carry the experiment out, with entries in place of its own; return the summary."""

    def serial(experiment, *, plan, backend, scheduler=None, evaluate):
        return SerialFarm(evaluate, family=experiment.family, plan=plan, backend=backend)

    return run(
        Experiment.parse(EXPERIMENT | changes),
        root=root,
        plan={"nr": 100, "nz": 200, "cell": 3e-4, "frequencies": [30e9]},
        now=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
        evaluate=solved,
        progress=Progress(),
        farm=serial,
        report=False,
    )
