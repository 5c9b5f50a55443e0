"""Run folders with made-up but plausible numbers, written by the store itself; nothing is solved."""

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from made_up_cuts import amplitudes_of

from antennaopt.metrics import METRICS
from antennaopt.report.field_data import write_field_map
from antennaopt.solve.outcome import Outcome
from antennaopt.store.manifest import ExperimentRecord
from antennaopt.store.rows import Row
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import GeneColumn, RunColumns

THETA = [float(degree) for degree in range(181)]
LOW, HIGH = 8e-3, 20e-3

RESOLVED = {
    "title": "Ka-band shaped lens <on> a circular waveguide",
    "name": "ka_band_lens",
    "antenna": {
        "family": "shaped_lens",
        "feed": {"inner_radius": 0.0036, "outer_radius": 0.004, "length": 0.02},
        "lens": {"permittivity": 2.53, "loss_tangent": 6.6e-4, "radii": [{"min": LOW, "max": HIGH}] * 4},
    },
    "solver": {
        "frequencies": [28.5e9, 30e9, 31.5e9],
        "design_frequency": 30e9,
        "cells_per_wavelength": 20,
        "cell": None,
    },
    "seed": 7,
    "evolution": {"algorithm": "ga", "population": 12, "generations": 10, "stop": {"fitness": 0.0, "wall_time": None}},
    "genes": [
        {"name": f"lens.radii.{place}", "low": LOW, "high": HIGH, "kind": "real", "dimension": "length", "choices": []}
        for place in range(4)
    ],
    "objectives": [
        {"metric": "directivity_dbi", "at_least": 18.0, "at_most": None, "weight": 1.0, "frequencies": []},
        {"metric": "s11_db", "at_least": None, "at_most": -10.0, "weight": 0.5, "frequencies": []},
        {"metric": "sidelobe_db", "at_least": None, "at_most": -20.0, "weight": 1.0, "frequencies": []},
    ],
}


@dataclass
class Candidate:
    individual: str
    generation: int
    slot: int
    genome: tuple
    parents: tuple = ()
    operator: str = "random"


@dataclass
class MadeUpRun:
    """What to write; `best` is filled in with the individual of lowest fitness and its outcome."""

    generations: int = 10
    population: int = 12
    frequencies: tuple = (28.5e9, 30e9, 31.5e9)
    genes: int = 4
    failing: tuple = ()  # statuses given in turn to the last slots of every generation
    no_side_lobes: bool = False
    field_map: bool = True
    resolved: dict = field(default_factory=lambda: dict(RESOLVED))
    best: tuple = (math.inf, "", {})


def write_run(root, run):
    resolved = run.resolved | {"solver": run.resolved["solver"] | {"frequencies": list(run.frequencies)}}
    columns = RunColumns(
        genes=tuple(GeneColumn(name=f"lens.radii.{place}") for place in range(run.genes)),
        frequencies=run.frequencies,
        objectives=tuple(goal["metric"] for goal in resolved["objectives"]),
    )
    generator = np.random.default_rng(1)
    source = 'title = "Ka-band <lens>"\nseed = 7\n'
    with RunFolder.create(
        root,
        ExperimentRecord(name="ka_band_lens", source=source, resolved=resolved, config_hash="ab" * 32),
        columns=columns,
        manifest={
            "backend": "cpu",
            "overrides": ["seed=7", 'title="a b"'],
            "plan": {"nr": 40, "nz": 60, "cell": 0.25e-3, "layout": {"z": [1, 2]}},
        },
        now=datetime(2026, 11, 3, 12, tzinfo=UTC),
    ) as folder:
        for generation in range(run.generations):
            rows, outcomes = [], {}
            for slot in range(run.population):
                row, result = evaluation(run, folder, generation, slot, generator, resolved["objectives"])
                rows.append(row)
                outcomes[row.individual] = Outcome.of(result)
            folder.write_patterns(generation, outcomes)
            folder.write_rows(generation, rows)
            folder.save_checkpoint(generation, {"evolution": {"generation": generation + 1}})
            folder.log("generation", generation=generation, run_seconds=31.5 * (generation + 1))
        if run.field_map:
            outcome = run.best[2] | {"field": lens_field(), "sweep": sweep(run.best[2])}
            write_field_map(folder.path / "best" / "field.npz", outcome, individual=run.best[1])
        return folder.path


def evaluation(run, folder, generation, slot, generator, objectives):
    spread = 0.5 * math.exp(-generation / 4)
    genome = tuple(
        float(x) for x in np.clip(0.8 - 0.1 * np.arange(run.genes) + spread * generator.normal(size=run.genes), 0, 1)
    )
    one = Candidate(
        f"g{generation:04d}-s{slot:03d}", generation, slot, genome, operator="crossover" if generation else "random"
    )
    statuses = run.failing[::-1]
    place = run.population - 1 - slot
    if place < len(statuses):
        result = {
            "status": statuses[place],
            "error": f"Traceback (most recent call last):\n  x\n{statuses[place]}: <why>",
        }
        shortfalls, fitness = [], 1000.0
    else:
        quality = 1.0 - float(np.mean([abs(x - 0.8 + 0.1 * place) for place, x in enumerate(genome)] or [0.1]))
        result = outcome(run, quality)
        shortfalls = [shortfall(result, goal) for goal in objectives]
        fitness = sum(goal["weight"] * missed for goal, missed in zip(objectives, shortfalls, strict=True))
        if fitness < run.best[0]:
            run.best = (fitness, one.individual, result)
    design = {f"lens.radii.{place}": LOW + x * (HIGH - LOW) for place, x in enumerate(genome)}
    result |= {"worker": "w0", "device": "cpu", "attempt": 1, "seconds": 1.25, "steps": 4200}
    row = Row(
        **vars(one), values=design, outcome=Outcome.of(result), shortfalls=shortfalls, fitness=fitness,
        cached=slot == 0 and generation > 0,
    )  # fmt: skip
    return row, result


def shortfall(result, goal):
    values = [value for value in result[goal["metric"]] if value is not None]
    if goal["at_least"] is not None:
        return max([0.0, *(goal["at_least"] - value for value in values)])
    return max([0.0, *(value - goal["at_most"] for value in values)])


def outcome(run, quality):
    """A circular aperture's pattern, wider E than H; better quality gives more directivity and less reflection."""
    frequencies = list(run.frequencies)
    directivity = [12.0 + 7.0 * quality + 20 * math.log10(hz / 30e9) for hz in frequencies]
    s11_db = [-4.0 - 9.0 * quality - 2.0 * math.sin(hz / 0.8e9) for hz in frequencies]
    count = len(frequencies)
    return {
        "status": "ok",
        "frequency_hz": frequencies,
        "s11": [[10 ** (level / 20), 0.0] for level in s11_db],
        **{metric.key: [metric.typical] * count for metric in METRICS.values()},
        "s11_db": s11_db,
        "directivity_dbi": directivity,
        "max_directivity_dbi": [level + 0.01 for level in directivity],
        "gain_dbi": [level - 0.12 for level in directivity],
        "sidelobe_db": [None] * count
        if run.no_side_lobes
        else [-13.0 - 8.0 * quality + index for index in range(count)],
        "front_to_back_db": [24.0] * count,
        "decay_db": 60.2,
        "theta_deg": THETA,
        "e_plane": amplitudes_of(
            [cut(level, 8.5 * hz / 30e9) for level, hz in zip(directivity, frequencies, strict=True)]
        ),
        "h_plane": amplitudes_of(
            [cut(level, 7.5 * hz / 30e9) for level, hz in zip(directivity, frequencies, strict=True)]
        ),
    }


def cut(directivity, size):
    x = size * np.sin(np.radians(np.minimum(THETA, 90.0)))
    amplitude = np.where(np.abs(x) < 1e-9, 1.0, np.sin(x) / np.where(x == 0, 1.0, x))
    power = amplitude**2 * (0.5 + 0.5 * np.cos(np.radians(THETA))) ** 2 + 4e-3
    return (directivity + 10 * np.log10(power / power[0])).tolist()


def sweep(result):
    frequency_hz = np.linspace(28e9, 32e9, 41)
    level = np.interp(frequency_hz, result["frequency_hz"], result["s11_db"])
    return {"frequency_hz": frequency_hz.tolist(), "s11": [[10 ** (one / 20), 0.0] for one in level]}


def lens_field():
    """A lens on a tube, 0.3 mm cells, with a wave that spreads from the aperture."""
    r_m = 0.3e-3 * np.arange(90)
    z_m = -22e-3 + 0.3e-3 * np.arange(190)
    z, r = np.meshgrid(z_m, r_m, indexing="ij")
    metal = (z < 0) & (z > -20.4e-3) & (r < 4e-3) & ((r > 3.6e-3) | (z < -20e-3))
    distance = np.hypot(z, r)
    permittivity = np.where((z >= 0) & (distance < 17e-3), 2.53, 1.0)
    inside = (z < 0) & (r < 3.6e-3)
    spread = np.abs(np.cos(500 * distance)) * 0.3 + np.exp(-((r / (4e-3 + 0.3 * np.abs(z))) ** 2))
    magnitude = np.where(inside, 1.0, spread / (1 + distance / 5e-3)) * np.where((z < 0) & ~inside, 0.1, 1.0)
    magnitude[metal] = 0.0
    e = np.zeros((2, 3, *r.shape), np.complex64)
    e[:, 0] = magnitude * np.exp(-628j * distance)
    return {
        "frequency_hz": np.array([29e9, 30e9]), "shown": 1, "r_m": r_m, "z_m": z_m, "e": e,
        "permittivity": permittivity, "metal": metal, "outlines": lens_outlines(r_m[-1], z_m[0], z_m[-1]),
    }  # fmt: skip


def lens_outlines(r_max, z_min, z_max, step=0.1e-3):
    """Level sets of a hemisphere of 17 mm on a tube of 3.6 and 4 mm with a back wall at z = -20 mm."""
    r_m, z_m = np.arange(0.0, r_max, step), np.arange(z_min, z_max, step)
    z, r = np.meshgrid(z_m, r_m, indexing="ij")
    tube = np.minimum.reduce([r - 3.6e-3, 4e-3 - r, z + 20.4e-3, -z])
    back = np.minimum.reduce([4e-3 - r, z + 20.4e-3, -20e-3 - z])
    lens = np.minimum(17e-3 - np.hypot(r, z), z)
    near = [np.clip(one, -3 * step, 3 * step).astype(np.float32) for one in (np.maximum(tube, back), lens)]
    return {"r_m": r_m, "z_m": z_m, "metal": near[0], "dielectrics": near[1][None]}
