"""What the line about a run says to do where none of its best is trusted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from antennaopt.report.summary import certificate_account
from antennaopt.solve.certificate import account, certify

SOUND = {
    "status": "ok", "frequency_hz": [30e9], "s11": [[0.1, 0.1]], "directivity_dbi": [20.0], "decay_db": -60.0,
    "contour_balance": [1.0], "power_balance": [1.0],
}  # fmt: skip
SMALLER = "; use smaller cells (raise solver.cells_per_wavelength, or lower solver.cell)"
LONGER = "; raise solver.decay_db or solver.max_steps"
AGAIN = "; run `antennaopt resume` with the folder, which solves it again"


def said(outcome, halved, mode="strict", **options):
    certificate = certify(SOUND | outcome, SOUND | halved, feed_radius=3.6e-3)
    certificate["halved"] = {"status": (SOUND | halved)["status"]}
    assert certificate["verdict"] == "doubtful"
    return account({"a": certificate}, mode, **options)


@pytest.mark.parametrize(
    ("outcome", "halved", "remedy"),
    [
        ({"decay_db": -30.0}, {}, LONGER),
        ({}, {"status": "undecayed"}, "; raise solver.max_steps"),
        ({"contour_balance": [1.03]}, {}, SMALLER),
        ({"power_balance": [1.03]}, {}, SMALLER),
        ({"s11": [[1.1, 0.0]]}, {"s11": [[1.1, 0.0]]}, SMALLER),
        ({"s11": [[0.0, 0.0]]}, {}, "; go by its figures with half the cell, `halved` in best/certificates.json"),
        ({"contour_balance": [1.03], "s11": [[0.0, 0.0]]}, {}, SMALLER),
        ({}, {"status": "diverged"}, SMALLER),
        ({}, {"status": "lost"}, AGAIN),
        ({"power_balance": []}, {}, AGAIN),
        (
            {"frequency_hz": [60e9]},
            {},
            "; lower solver.frequencies or antenna.feed.inner_radius, so that the port measures all modes",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["strict", "report"])
def test_a_remedy_for_every_check(outcome, halved, remedy, mode):
    assert said(outcome, halved, mode).endswith(remedy)


def test_of_a_patch_cells_between_edges_are_named_too():
    """`solver.cell` is that of edges: smaller ones alone leave the resonance where it is, or move it further."""
    mesh_alone, contour = ({"s11": [[0.0, 0.0]]}, {}), ({"contour_balance": [1.03]}, {})
    ending = ", or search with solver.cells_per_wavelength = 30"
    patch = {"antenna": {"family": "pixel_patch"}, "solver": {"cell": 1e-3, "cells_per_wavelength": None}}
    assert said(*mesh_alone, experiment=patch).endswith("`halved` in best/certificates.json" + ending)
    assert said(*contour, experiment=patch).endswith(SMALLER)
    patch["solver"]["cells_per_wavelength"] = 30.0
    assert said(*mesh_alone, experiment=patch).endswith("`halved` in best/certificates.json")


def test_a_report_says_what_the_run_said():
    certificate = {**certify(SOUND, SOUND | {"s11": [[0.0, 0.0]]}), "halved": {"status": "ok"}}
    for family in ("patch", "shaped_lens"):
        table = {"antenna": {"family": family}, "solver": {"steps": 900}}
        record: Any = SimpleNamespace(certificates={"a": certificate}, certificate_mode="report", resolved=table)
        assert certificate_account(record) == account({"a": certificate}, "report", experiment=table)


def test_steps_that_are_fixed_are_the_ones_to_raise():
    """Neither `decay_db` nor `max_steps` does anything next to `solver.steps`."""
    assert said({"decay_db": -30.0}, {}, experiment={"solver": {"steps": 900}}).endswith("; raise solver.steps")
