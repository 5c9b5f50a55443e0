"""Runs for the store's tests: small, with every kind of outcome."""

from dataclasses import dataclass

from antennaopt.metrics import METRICS
from antennaopt.store import GeneColumn, RunColumns, RunFolder, make_row

FREQUENCIES = (28.5e9, 30e9)
COLUMNS = RunColumns(
    genes=(GeneColumn(name="lens.radii.0"), GeneColumn(name="lens.permittivity", dimension="number")),
    frequencies=FREQUENCIES,
    objectives=("directivity_dbi", "s11_db"),
)


@dataclass(frozen=True, kw_only=True)
class Someone:
    individual: str
    generation: int
    slot: int
    genome: tuple = (0.25, 0.1 + 0.2)
    parents: tuple = ()
    operator: str = "random"


def someone(generation, slot):
    return Someone(individual=f"g{generation:04d}-s{slot:03d}", generation=generation, slot=slot)


def solved(**changes):
    both = {
        name: [value, value + 0.5]
        for name, value in {
            **{metric.key: metric.typical for metric in METRICS.values()},
            "s11_db": -12.0,
            "directivity_dbi": 18.123456789012345,
        }.items()
    }
    outcome = {
        "status": "ok",
        "error": None,
        "seconds": 0.5,
        "steps": 6000,
        "cells": 60000,
        "frequency_hz": list(FREQUENCIES),
        "s11": [[0.1, -0.2], [0.3, 0.4]],
        "theta_deg": [0.0, 90.0, 180.0],
        "e_plane_dbi": [[18.0, -5.0, -20.0], [18.5, -5.5, -20.5]],
        "h_plane_dbi": [[18.0, -6.0, -20.0], [18.5, -6.5, -20.5]],
        "decay_db": -61.0,
        "worker": "0",
        "device": "cpu",
        "attempt": 1,
        **both,
        "sidelobe_db": [None, -21.0],
    }
    return outcome | changes


def row(columns=COLUMNS, run="a-run", generation=0, slot=0, outcome=None, **changes):
    outcome = outcome or solved()
    ok = outcome["status"] == "ok"
    arguments = {
        "run": run,
        "candidate": someone(generation, slot),
        "design": {"lens.radii.0": 0.0171, "lens.permittivity": 2.53, "feed.length": 0.02, "lens.extension": 0.003},
        "outcome": outcome,
        "shortfalls": [1.5] * len(columns.objectives) if ok else [],
        "fitness": 3.0 if ok else 800.0,
    }
    return make_row(columns, **(arguments | changes))


def new_run(root, columns=COLUMNS, name="quick", **changes):
    arguments = {
        "source": 'title = "as given"\n',
        "resolved": {"seed": 7},
        "config_hash": "0123456789abcdef" * 4,
        "manifest": {"seed": 7, "device": "cpu", "arithmetic": "cpu-float32"},
    }
    return RunFolder.create(root, name=name, columns=columns, **(arguments | changes))


def fill(folder, generation, outcomes):
    """Write a generation of outcomes, patterns first, as the driver does."""
    folder.write_patterns(
        generation, {someone(generation, slot).individual: outcome for slot, outcome in enumerate(outcomes)}
    )
    rows = [
        row(folder.columns, run=folder.run_id, generation=generation, slot=slot, outcome=outcome)
        for slot, outcome in enumerate(outcomes)
    ]
    return folder.write_generation(generation, rows)
