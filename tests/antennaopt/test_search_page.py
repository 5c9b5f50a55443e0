"""docs/searches.md holds the figures of the stored searches, and no others."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import exhaustive_front as fronts
import search_tables as tables


@pytest.mark.parametrize("name", tables.BLOCKS)
def test_tables_are_what_the_stored_searches_give(name: str) -> None:
    """To the letter."""
    text = tables.PAGE.read_text("utf-8")
    made = tables.between(text, name, tables.BLOCKS[name]())
    assert text == made, "write it again: python benchmarks/search_tables.py"


def test_the_page_has_every_table_once() -> None:
    assert re.findall("<!-- measured: (.*) -->", tables.PAGE.read_text("utf-8")) == list(tables.BLOCKS)


def test_auto_is_judged_against_the_best_median(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven ends that are all above those of the best: p of two disjoint samples of 11 is 2 / C(22, 11) = 2.8e-6."""
    shifts = (("ga", 2.0), ("surrogate", 3.0), ("de", 1.0))
    ends = {name: [shift + seed / 100 for seed in range(11)] for name, shift in shifts}
    monkeypatch.setattr(tables, "judged", lambda: {"shaped_lens": ends})
    (line,) = tables.auto_table().splitlines()[2:]
    assert line == "| `shaped_lens` | 24 | `surrogate` | `de` | 2.8e-06 | 2.8e-06 | worse | 0 of 11, goal 9: missed |"


def test_a_known_front_is_found_as_by_pymoo_at_equal_evaluations() -> None:
    """Eleven seeds: the stored hypervolumes again, a median of at least 99 % of pymoo's, none above the front."""
    stored = tables.read("cpu/exhaustive_front")
    volumes = [fronts.ours(seed) for seed in range(fronts.SEEDS)]
    assert volumes == pytest.approx(stored["hypervolumes"]["antennaopt"], rel=1e-12)
    assert fronts.exhaustive() == pytest.approx(stored["exhaustive"], rel=1e-12)
    assert max(volumes) <= fronts.exhaustive() * (1 + 1e-12)
    assert np.median(volumes) >= 0.99 * np.median(stored["hypervolumes"]["pymoo 0.6.2"])


def test_a_genome_takes_the_figures_of_the_horn_in_whose_part_of_the_grid_it_lies() -> None:
    """Ends and middle; lengths run slowest."""
    values = fronts.looked_up(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.999, 0.999, 0.999], [0.0, 0.0, 0.03]]))
    assert values.tolist() == [fronts.table()[place].tolist() for place in (0, -1, -1, 1)]
    assert values[:2, 1].tolist() == [5.0, 35.0]


def test_samples_in_a_search_cost_what_the_record_says() -> None:
    """Stored pairs: antennas/s over those without samples, goal 0.85; solves a candidate, goal 8."""
    pairs = tables.read("cpu/yield_search_asleep")
    ratios = [one["antennas_per_s"] / other["antennas_per_s"] for one, other in pairs]
    assert (len(pairs), round(np.median(ratios), 2), round(min(ratios), 2), round(max(ratios), 2)) == (
        5,
        1.05,
        1.03,
        1.1,
    )
    assert max(one["solves_a_candidate"] for one, _ in pairs) == pytest.approx(5.85, abs=0.005)
