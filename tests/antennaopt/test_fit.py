"""An antenna too large for its lattice is refused with the number that works; one that stopped early has the reason.

Which of it can happen: a lattice is planned for the antenna, or for the ends of all ranges, so only an antenna solved
on another's lattice reaches into the absorbing layers or cuts the contour. Walls and lenses may be too thin for any
cell. A loss cannot be too large for the time step (tests/physics/test_dense_dielectrics.py).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from antennaopt.solve.certificate import certify, doubts
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.options import SolveOptions
from antennaopt.solve.plan import plan
from fdtd.errors import ConfigError

FEED = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.2e-3, "feed.length": 9e-3}
LENS = {**FEED, "lens.permittivity": 2.53, "lens.loss_tangent": 0.0, "lens.radius": 7e-3, "lens.extension": 3e-3}
SHAPED = {**FEED, "lens.permittivity": 2.53, "lens.loss_tangent": 0.0, "lens.radii.0": 5e-3, "lens.radii.1": 5e-3}
HORN = {**FEED, "horn.length": 4e-3, "horn.aperture_radius": 9e-3, "horn.wall": 0.5e-3}
SOLVER = {
    "frequencies": [28.5e9, 30e9, 31.5e9],
    "design_frequency": 30e9,
    "cell": 0.6e-3,
    "courant_fraction": 0.98,
    "pml_cells": 8,
    "decay_db": 60.0,
    "precision": "float32",
}


def planned(family: str, design: dict[str, float], **solver: Any) -> dict[str, Any]:
    return plan(family, design, design, {**SOLVER, **solver}).to_dict()


def accepted(text: str) -> float:
    """The length that a message offers, m."""
    found = re.search(r"<= ([\d.]+) mm", text)
    assert found is not None, text
    return float(found[1]) * 1e-3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lens.radius": 8.5e-3}, "radius of 8.5 mm cuts the contour"),
        ({"lens.radius": 12e-3}, "radius of 12 mm reaches into the absorbing layers"),
        ({"lens.extension": 4.5e-3}, "height over z = 0 of 11.5 mm cuts the contour"),
        ({"lens.extension": 8e-3}, "height over z = 0 of 15 mm reaches into the absorbing layers"),
        ({"feed.length": 10.5e-3}, "depth below z = 0 of 11.1 mm cuts the contour"),
    ],
)
def test_an_antenna_too_large_for_its_lattice_is_a_row(change: dict[str, float], says: str) -> None:
    """The others of its batch are solved; the size that the message offers is solved too."""
    lattice = planned("hemispherical_lens", LENS)
    refused, kept = evaluate("hemispherical_lens", [{**LENS, **change}, LENS], lattice)
    assert (refused["status"], kept["status"]) == ("infeasible", "ok")
    assert says in refused["error"]
    if "radius" in next(iter(change)):
        (largest,) = evaluate("hemispherical_lens", [{**LENS, "lens.radius": accepted(refused["error"])}], lattice)
        assert largest["status"] in ("ok", "infeasible")
        assert "radius of" not in (largest["error"] or "")


@pytest.mark.parametrize(
    ("family", "design", "says"),
    [
        ("open_waveguide", {**FEED, "feed.outer_radius": 3.66e-3}, "less feed.inner_radius) is 0.06 mm thick"),
        ("conical_horn", {**HORN, "horn.wall": 0.08e-3}, "0.08 mm, measured across the flare, is 0.04762 mm thick"),
        ("shaped_lens", {**SHAPED, "lens.radii.0": 0.4e-3}, "the lens at lens.radii.0 is 0.4 mm thick"),
    ],
)
def test_what_is_too_thin_for_the_cell_names_the_cell(family: str, design: dict[str, float], says: str) -> None:
    """One antenna is refused when it is planned; with the cell that the message offers it is not."""
    with pytest.raises(ConfigError) as refused:
        planned(family, design)
    assert says in str(refused.value)
    assert planned(family, design, cell=0.999 * accepted(str(refused.value)))
    lattice = planned(family, {"open_waveguide": FEED, "conical_horn": HORN, "shaped_lens": SHAPED}[family])
    assert evaluate(family, [design], lattice)[0]["status"] == "infeasible"


def test_a_range_whose_lower_end_is_too_thin_is_planned() -> None:
    """Those designs become rows; the others are searched."""
    assert plan("conical_horn", {**HORN, "horn.wall": 1e-6}, HORN, SOLVER).memory_bytes > 0


def test_energy_that_is_left_bounds_the_error_of_the_result() -> None:
    """S11 is off by less than the root of the energy left, directivity by less than the decibels that makes of it.

    A lens of permittivity 6 that rings for 4000 steps, stopped early: at 800 / 1280 / 2000 steps -12.6 / -28.5 /
    -36.0 dB are left, which says 0.23 / 0.037 / 0.016 in S11 and 1.8 / 0.32 / 0.14 dB; measured 0.019 / 0.0061 /
    0.0018 and 0.90 / 0.057 / 0.019 dB.
    """
    design = {**LENS, "lens.permittivity": 6.0}
    lattice = planned("hemispherical_lens", design)
    whole = evaluate("hemispherical_lens", [design], lattice)[0]
    for steps in (800, 1280, 2000):
        early = evaluate("hemispherical_lens", [design], lattice, options=SolveOptions(max_steps=steps))[0]
        assert early["status"] == "undecayed"
        found = re.search(
            r"about ([\d.e-]+), directivity by ([\d.e-]+) dB.*max_steps to (more than )?(\d+)", early["error"]
        )
        assert found is not None
        off = np.abs([complex(*a) - complex(*b) for a, b in zip(early["s11"], whole["s11"], strict=True)]).max()
        in_db = np.abs(np.subtract(early["directivity_dbi"], whole["directivity_dbi"])).max()
        assert off < float(found[1])
        assert in_db < float(found[2])
        assert steps < int(found[4]) <= whole["steps"]


def test_a_run_of_exactly_so_many_steps_says_so_in_its_certificate() -> None:
    """Such a run has no energy stop and is `ok`; its certificate tells what is left and what that means."""
    design = {**LENS, "lens.permittivity": 6.0}
    outcome = evaluate("hemispherical_lens", [design], planned("hemispherical_lens", design, steps=1280))[0]
    certificate = certify(outcome)
    assert (outcome["status"], certificate["verdict"]) == ("ok", "doubtful")
    (line,) = doubts(certificate)
    assert "decay = -2" in line
    assert "S11 is uncertain by about 0.0" in line
