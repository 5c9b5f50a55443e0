"""Stands in for the solver: plans and outcomes of the right form, from arithmetic that takes no time."""

import math
from types import SimpleNamespace

from antennaopt.metrics import METRICS
from antennaopt.settings import SolverSettings

CALLS = []


def plan(family, lower, upper, solver):
    solver = SolverSettings.of(solver).to_dict()
    CALLS.append(("plan", family, dict(lower), dict(upper), dict(solver)))
    table = {
        "nr": 64,
        "nz": 96,
        "cell": solver["cell"] or 3e-4,
        "time_step": 6e-13,
        "max_steps": 4000,
        "frequencies": list(solver["frequencies"]),
        "memory_bytes": 3_000_000,
        "layout": {"decay": 1e-6, "settled": 900},
    }
    return SimpleNamespace(to_dict=lambda: dict(table))


def evaluate(family, designs, plan, *, backend="cpu", fields=False, film=False, options=None):
    CALLS.append(("evaluate", family, [dict(design) for design in designs], dict(plan), backend, fields))
    return [outcome(design, plan) for design in designs]


def outcome(design, plan):
    sizes = [value for name, value in design.items() if name.startswith(("lens.radi", "horn.ap"))] or [0.01]
    if min(sizes) < 0.005:
        return {"status": "infeasible", "error": "the lens is too thin", "seconds": 0.0, "steps": 0, "cells": 0}
    frequencies = plan["frequencies"]
    width = 1000.0 * sum(sizes) / len(sizes)

    def each(value):
        return [value + 0.1 * place for place in range(len(frequencies))]

    return {
        "status": "ok",
        "error": None,
        "seconds": 0.01,
        "steps": 1234,
        "cells": plan["nr"] * plan["nz"],
        "frequency_hz": list(frequencies),
        "s11": [[0.1, -0.1] for _ in frequencies],
        "s11_db": [20.0 * math.log10(math.hypot(0.1, 0.1)) for _ in frequencies],
        **{metric.key: each(metric.typical) for metric in METRICS.values()},
        "directivity_dbi": each(width),
        "max_directivity_dbi": each(width + 0.01),
        "gain_dbi": each(width - 0.1),
        "radiation_efficiency": [0.98 for _ in frequencies],
        "hpbw_e_deg": each(20.0),
        "hpbw_h_deg": [None for _ in frequencies],
        "sidelobe_db": [None for _ in frequencies],
        "front_to_back_db": each(25.0),
        "crosspol_db": each(-30.0),
        "theta_deg": [float(angle) for angle in range(181)],
        "e_plane": [[[10 ** (width / 20 - 0.005 * angle), 0.0] for angle in range(181)] for _ in frequencies],
        "h_plane": [[[10 ** (width / 20 - 0.005 * angle), 0.0] for angle in range(181)] for _ in frequencies],
        "decay_db": -61.0,
        "power_balance": [1.001 for _ in frequencies],
        "contour_balance": [0.999 for _ in frequencies],
    }
