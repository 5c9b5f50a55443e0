"""Runs for the store's tests: small, with every kind of outcome."""

from antennaopt.metrics import METRICS
from antennaopt.solve.outcome import Outcome
from antennaopt.store.manifest import ExperimentRecord
from antennaopt.store.rows import Row, table_of
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import GeneColumn, RunColumns

FREQUENCIES = (28.5e9, 30e9)
COLUMNS = RunColumns(
    genes=(GeneColumn(name="lens.radii.0"), GeneColumn(name="lens.permittivity", dimension="number")),
    frequencies=FREQUENCIES,
    objectives=("directivity_dbi", "s11_db"),
)


def _amplitudes(levels_dbi):
    """In phase on the axis and in quadrature elsewhere, as pairs."""
    return [[[10 ** (first / 20), 0.0], *([0.0, 10 ** (one / 20)] for one in rest)] for first, *rest in levels_dbi]


def individual(generation, slot):
    return f"g{generation:04d}-s{slot:03d}"


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
        "e_plane": _amplitudes([[18.0, -5.0, -20.0], [18.5, -5.5, -20.5]]),
        "h_plane": _amplitudes([[18.0, -6.0, -20.0], [18.5, -6.5, -20.5]]),
        "decay_db": -61.0,
        "worker": "0",
        "device": "cpu",
        "attempt": 1,
        **both,
        "sidelobe_db": [None, -21.0],
    }
    return outcome | changes


def row(columns=COLUMNS, run="a-run", generation=0, slot=0, outcome=None, **changes):
    """Columns of one evaluation, as they are read."""
    made = evaluated(columns, generation, slot, outcome, **changes)
    return {name: values[0] for name, values in table_of(columns, run, [made]).items()}


def evaluated(columns=COLUMNS, generation=0, slot=0, outcome=None, **changes):
    outcome = outcome or solved()
    ok = outcome["status"] == "ok"
    arguments = {
        "individual": individual(generation, slot),
        "generation": generation,
        "slot": slot,
        "genome": (0.25, 0.1 + 0.2),
        "operator": "random",
        "values": {"lens.radii.0": 0.0171, "lens.permittivity": 2.53, "feed.length": 0.02, "lens.extension": 0.003},
        "outcome": Outcome.of(outcome),
        "shortfalls": [1.5] * len(columns.objectives) if ok else [],
        "fitness": 3.0 if ok else 800.0,
    }
    return Row(**(arguments | changes))


def write(folder, generation, rows):
    """Write rows, as they are read, as a generation."""
    return folder.write_columns("evals", generation, {name: [one[name] for one in rows] for name in rows[0]})


MANIFEST = {"seed": 7, "device": "cpu", "arithmetic": "cpu-float32"}


def new_run(root, columns=COLUMNS, *, manifest=MANIFEST, now=None, **changes):
    arguments = {
        "name": "quick",
        "source": 'title = "as given"\n',
        "resolved": {"seed": 7},
        "config_hash": "0123456789abcdef" * 4,
    }
    record = ExperimentRecord(**(arguments | changes))
    return RunFolder.create(root, record, columns=columns, manifest=manifest, now=now)


def fill(folder, generation, outcomes):
    """Write a generation of outcomes, patterns first, as the driver does."""
    folder.write_patterns(
        generation, {individual(generation, slot): Outcome.of(outcome) for slot, outcome in enumerate(outcomes)}
    )
    rows = [evaluated(folder.columns, generation, slot, outcome) for slot, outcome in enumerate(outcomes)]
    return folder.write_rows(generation, rows)
