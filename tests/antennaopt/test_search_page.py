"""docs/searches.md holds the figures of the stored searches, and no others."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

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
    ends = {
        name: [shift + seed / 100 for seed in range(11)] for name, shift in (("ga", 2.0), ("cmaes", 3.0), ("de", 1.0))
    }
    monkeypatch.setattr(tables, "ends", lambda: {"shaped_lens": ends})
    (line,) = tables.auto_table().splitlines()[2:]
    assert line == "| `shaped_lens` | 24 | `cmaes` | `de` | 2.8e-06 | 2.8e-06 | worse | 0 of 11, goal 9: missed |"
