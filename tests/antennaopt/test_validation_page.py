"""docs/validation.md holds the figures that `make validation` stored, and no others."""

from __future__ import annotations

import copy
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import orders  # noqa: E402
import validation  # noqa: E402
import validation_tables as tables  # noqa: E402
from reference_antennas import COLUMNS  # noqa: E402


@pytest.fixture(scope="module")
def stored() -> list[Any]:
    return validation.read()


def test_page_is_what_the_stored_figures_give(stored: list[Any]) -> None:
    """To the letter; a figure that is edited by hand, in either place, shows."""
    text = validation.PAGE.read_text("utf-8")
    assert text == validation.page(*stored), "write it again: python benchmarks/validation.py"
    edited = copy.deepcopy(stored)
    edited[1]["rows"][0]["s11"] += 1e-3
    assert text != validation.page(*edited)


@pytest.mark.parametrize("path, name", validation.BLOCKS, ids=lambda part: getattr(part, "name", part))
def test_blocks_of_other_pages(stored: list[Any], path: Path, name: str) -> None:
    """The README's tables and the guide's."""
    assert path.read_text("utf-8") == validation.block(path, name, *stored)


def test_every_picture_is_there(stored: list[Any]) -> None:
    """Named on the page, one for each family and each file of tests with curves; small enough for git."""
    named = re.findall(r"\]\((images/[^)]*)\)", validation.PAGE.read_text("utf-8"))
    files = {path.relative_to(validation.PAGE.parent).as_posix() for path in validation.PICTURES.glob("*.svg")}
    assert set(named) == files
    assert set(named) >= {f"images/validation/{family}.svg" for family in validation.FAMILIES}
    assert max(path.stat().st_size for path in validation.PICTURES.glob("*.svg")) < 300_000


def test_every_measured_family_has_a_section(stored: list[Any]) -> None:
    """A family without a title in `benchmarks/validation.py` would have no section and no picture."""
    assert {row["family"] for row in stored[1]["rows"]} == validation.FAMILIES.keys()


def test_extrapolation_uses_the_fitted_orders(stored: list[Any]) -> None:
    """Of the stored sweep, within 0.02; a family that was fitted and has no orders yet shows, and no other has any."""
    assert validation.stale_orders(stored[1]) == []
    assert stored[1]["orders"].keys() == validation.ORDERS.keys()
    unknown = {"orders": {**stored[1]["orders"], "stepped_horn": {"s11": 2.0}}}
    assert validation.stale_orders(unknown) == ["stepped_horn"]


def test_all_tests_passed(stored: list[Any]) -> None:
    """The page was not written over a failure."""
    assert [file["file"] for file in stored[0] if file["failed"]] == []


def row(mesh: float | str, error: float, **changes: Any) -> dict[str, Any]:
    made = {
        "case": "a",
        "family": "horn",
        "set": "reference",
        "lossy": True,
        "mesh": mesh,
        "cells_per_wavelength": 20.0,
    }
    made |= dict.fromkeys(COLUMNS, error) | {"rms": dict.fromkeys(orders.FITTED, error)}
    return made | changes


def test_fitted_order() -> None:
    """Errors of 2 h^1.7: the order, from 0.4 mm down; what is extrapolated and the coarsest mesh take no part."""
    rows = [row(mesh, 2 * mesh**1.7) for mesh in (0.4, 0.3, 0.2)] + [row(0.6, 5.0), row(orders.EXTRAPOLATED, 1e-4)]
    assert orders.fitted_orders(rows)["horn"] == dict.fromkeys(orders.FITTED, 1.7)


def test_order_to_extrapolate_with() -> None:
    """Errors in step give their order; errors whose signs come and go give none, though their sizes fall alike."""
    signs = np.random.default_rng(1).choice((-1.0, 1.0), (3, 400))
    meshes = (0.4, 0.3, 0.2)
    families = {"a": ("horn", True)}
    steady = {("a", h): dict.fromkeys(orders.FITTED, signs[0] * h**1.7) for h in meshes}
    assert orders.orders_to_extrapolate(steady, families)["horn"]["s11"] == pytest.approx(1.7)
    erratic = {("a", h): dict.fromkeys(orders.FITTED, one * h**1.7) for h, one in zip(meshes, signs, strict=True)}
    assert orders.orders_to_extrapolate(erratic, families)["horn"]["s11"] > 3.5


def test_goals_by_cells_a_wavelength() -> None:
    """0.05 dB is within the goal of no mesh but that of 20 cells, in directivity; coarser meshes have no goal."""
    assert orders.misses(row(0.3, 0.011)) == ["efficiency"]
    assert "directivity_db" in orders.misses(row(0.2, 0.05, cells_per_wavelength=29.9))
    assert orders.misses(row(0.4, 9.0, cells_per_wavelength=15.0)) == []
    assert len(orders.misses(row(orders.EXTRAPOLATED, 0.2, cells_per_wavelength=29.9))) == 5


def test_table_of_a_test() -> None:
    """Backends that agree where both solved are one line, with the order; many places one line with the worst."""
    curve = [
        {"name": "error", "value": 3.0 / n**2, "unit": "", "at_most": 4.0 / n**2}
        | {"where": {"cells_per_wavelength": n, "backend": backend}}
        for n in (10.0, 20.0, 40.0)
        for backend in ("cpu", "reference")
        if n < 40 or backend == "cpu"
    ]
    many = [
        {
            "name": "level",
            "value": float(-90 + at),
            "unit": "dB",
            "at_most": -60.0,
            "where": {"seed": 0.0, "case": str(at)},
        }
        for at in range(9)
    ]
    text = tables.figure_table(curve + many)
    line = "| error | cells a wavelength = 10, 20, 40, backend = cpu and reference in part | 0.0300, 0.00750, 0.00187 |"
    assert line in text
    assert text.splitlines()[2].endswith("| 2.00 |")
    assert "| level (dB) | nearest to its bound of 9: seed = 0, case = 8 | -82.0 | ≤ -60.0 |  |" in text


def test_table_of_cavities() -> None:
    """The resonance with the largest error from 20 cells a wavelength on, all of its meshes there; coarser ones not."""

    def figure(name: str, value: float, cells: float) -> dict[str, Any]:
        return {"name": name, "value": value, "where": {"cells_per_wavelength": cells, "backend": "cpu"}}

    worst = [figure("relative error of TM010, empty", 0.04 / n**2, n) for n in (10.0, 20.0, 40.0)]
    other = [figure("relative error of TE111, empty", 0.02, 12.0), figure("relative error of TE111, empty", 1e-6, 24.0)]
    orders_of = [
        {"name": "order, TM010", "value": 2.0, "where": {}},
        {"name": "order, TE111", "value": 1.98, "where": {}},
    ]
    line = tables.cavity_table({"empty": [*worst, *other, *orders_of]}).splitlines()[2]
    assert line == "| empty | 2 | TM010 | 0.01 % at 20, 0.0025 % at 40 | 1.98 to 2.00 |"


def test_rows_without_a_spread_show_no_seconds() -> None:
    """A wall time of some busy machine is not shown as processor time."""
    timed = [row(0.3, 0.01, seconds=0.25, spread=0.02), row(0.3, 0.01, case="b", seconds=0.35, spread=0.01)]
    untimed = [row(0.2, 0.01, seconds=99.0)]
    lines = tables.family_table(timed + untimed, {"horn": "Horns"}, (0.3, 0.2)).splitlines()[2:]
    assert [line.split(" | ")[-1] for line in lines] == ["0.30 |", " |"]
