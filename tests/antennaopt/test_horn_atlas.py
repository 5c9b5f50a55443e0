"""The atlas of conical horns: its rows, its error bars and the fit that `antennaopt new` uses."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import horn_atlas as atlas

from antennaopt.families.start_horns import optimum_horn


def rows(name: str) -> list[dict[str, float]]:
    with (atlas.FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as text:
        read = list(csv.DictReader(text))
    keys = [key for key in read[0] if key != "verdict"]
    return [{key: float(row[key]) if row[key] else np.nan for key in keys} for row in read]


def bar(row: dict[str, float]) -> float:
    """Return the error bar that docs/gallery/horn_atlas.py gives a horn, dB."""
    return abs(row["fine_dbi"] - row["coarse_dbi"]) + 0.005


def test_fit_is_within_its_residual_of_the_optima() -> None:
    """0.34 dB at most and 0.11 dB rms, from lengths of 0.12 on; the largest of the rows of a length is the optimum."""
    best: dict[float, float] = {}
    for row in rows("map"):
        best[row["length"]] = max(best.get(row["length"], -np.inf), row["directivity_dbi"])

    def off(length: float) -> float:
        gain = brentq(lambda dbi: optimum_horn(10 ** (dbi / 10))[1] - length, 9.0, 30.0)
        return float(gain) - best[length]

    errors = np.array([off(length) for length in sorted(best) if length >= 0.12])
    assert len(errors) >= 45
    assert abs(errors).max() <= 0.34 and np.sqrt(np.mean(errors**2)) <= 0.11


def test_finite_elements_are_within_the_error_bars() -> None:
    """19 of 20 of them: the bars of docs/gallery/horn_atlas.py."""
    horns = {(row["diameter"], row["length"]): row for row in rows("map")}
    compared = [(horns[one["diameter"], one["length"]], one["directivity_dbi"]) for one in rows("finite_elements")]
    inside = [abs(row["directivity_dbi"] - directivity) <= bar(row) for row, directivity in compared]
    assert len(inside) >= 90 and np.mean(inside) >= 0.95


@pytest.mark.parametrize("place", [3, 11])
def test_a_stored_horn_is_solved_to_the_same_figures(place: int) -> None:
    """To the last digit that is stored, but for rounding of other machines' arithmetic."""
    short = sorted(atlas.solved(atlas.FOLDER / "map.csv"), key=lambda horn: horn.length)[place]
    found = dict(zip(atlas.COLUMNS, atlas.solve(short), strict=True))
    (stored,) = (row for row in rows("map") if (row["diameter"], row["length"]) == (short.diameter, short.length))
    assert found["verdict"] == "trusted"
    for key in ("directivity_dbi", "s11_re", "s11_im", "phase_centre"):
        assert float(found[key]) == pytest.approx(stored[key], abs=2e-3), key


def test_a_stopped_computation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that stand in the file are left out, and each length is stored to the digit."""
    monkeypatch.setattr(atlas, "solve", lambda horn: [f"{one:.5g}" for one in atlas.astuple(horn)] + ["0"] * 14)
    monkeypatch.setitem(atlas.SETS, "beyond", lambda: [atlas.Horn(d, 10.86) for d in (6.24, 6.36, 6.48)])
    for limit in ("0", "2", "9"):
        monkeypatch.setattr(sys, "argv", ["horn_atlas.py", "beyond", "--limit", limit, "--folder", str(tmp_path)])
        atlas.main()
    assert atlas.solved(tmp_path / "beyond.csv") == set(atlas.SETS["beyond"]())
    assert len((tmp_path / "beyond.csv").read_text().splitlines()) == 4
