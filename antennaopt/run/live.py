"""Live view of a run's best antenna: section, pattern, goals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from antennaopt.experiment import Experiment
from antennaopt.families import Family
from antennaopt.families.spatial import Rectangle
from antennaopt.report.goals import level_text, place_text, value_text, verdict_text
from antennaopt.search.objectives import standings
from antennaopt.solve.outcome import Outcome

MOST_CORNERS = 600
"""Of one body; of more every second, third, ... is shown."""
DEEPEST_DB = 60.0  # below the largest level


def best_event(
    experiment: Experiment, individual: str, values: Mapping[str, float], outcome: Outcome
) -> Mapping[str, Any]:
    """Return the event of a new best antenna; plain numbers and text.

    Args:
        experiment: Whose.
        individual: Which.
        values: Its genes, SI, by name.
        outcome: Of it, `ok`.

    Returns:
        `individual`; `bodies`, each with `metal` and the section's `r_mm` and `z_mm`, or of a board its half y >= 0
        from above, x as `z_mm` and y as `r_mm`, of a horn with flat walls its section y = 0, x as `r_mm`;
        `frequency_hz`, the middle one, with `theta_deg`, `e_plane_dbi`, `h_plane_dbi`; `goals`, each with `metric`,
        `goal`, `value`, `at`, `verdict`, `met`.
    """
    frequencies = outcome.frequency_hz or ()
    middle = len(frequencies) // 2
    return {
        "event": "best",
        "individual": individual,
        "bodies": _bodies(experiment.kind, experiment.design(values)),
        "frequency_hz": frequencies[middle],
        "theta_deg": np.asarray(outcome.theta_deg).tolist(),
        **{name: _shown(getattr(outcome, name)[middle]) for name in ("e_plane_dbi", "h_plane_dbi")},
        "goals": [
            {
                "metric": one.about.title,
                "goal": level_text(one),
                "value": value_text(one),
                "at": place_text(one),
                "verdict": verdict_text(one),
                "met": one.met,
            }
            for one in standings(outcome, experiment.goals)
        ],
    }


def _bodies(family: Family, design: Mapping[str, float]) -> list[dict[str, Any]]:
    board = family.board(design)
    if board is None:
        outline = family.outline(design)
        metal = [_body(True, corners) for corners in outline.conductors]
        return metal + [_body(False, solid.corners) for solid in outline.dielectrics]
    top = [one for sheet in board.metal for one in sheet.rectangles if one.y[1] > 0.0]
    faces = [(True, one) for one in top] + [(False, slab.face) for slab in board.slabs]
    walls = [_body(True, np.array(tube.walls(0)[0])) for tube in board.tubes]  # E plane, the half x >= 0
    return walls + [_body(metal, _half(face)) for metal, face in faces]


def _half(face: Rectangle) -> np.ndarray:
    """Return the part y >= 0 of a rectangle as corners (y, x)."""
    (left, right), low, high = face.x, max(face.y[0], 0.0), face.y[1]
    return np.array([(low, left), (high, left), (high, right), (low, right)])


def _body(metal: bool, corners: np.ndarray) -> dict[str, Any]:
    r, z = corners[:: -(-len(corners) // MOST_CORNERS)].T * 1e3
    return {"metal": metal, "r_mm": np.round(r, 4).tolist(), "z_mm": np.round(z, 4).tolist()}


def _shown(levels: Any) -> list[float]:
    found = np.asarray(levels, dtype=float)
    return np.round(np.maximum(found, found.max() - DEEPEST_DB), 3).tolist()
