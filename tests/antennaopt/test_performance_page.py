"""README's "How fast" and docs/performance.md hold the figures of the stored rows, and no others."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import kernel_tables
import performance_tables as tables


@pytest.mark.parametrize(("place", "make"), tables.BLOCKS.items(), ids=lambda part: getattr(part, "name", None))
def test_tables_are_what_the_stored_rows_give(place: tuple[Path, str], make: Callable[[], str]) -> None:
    """To the letter."""
    path, name = place
    text = path.read_text("utf-8")
    assert text == tables.between(text, name, make()), "write it again: python benchmarks/performance_tables.py"


def test_every_table_of_rates_is_written_from_rows() -> None:
    """A comment without its table, or a table twice, would not be noticed otherwise."""
    for page in (tables.README, tables.PAGE):
        own = [name for path, name in tables.BLOCKS if path == page]
        named = re.findall("<!-- measured: (.*) -->", page.read_text("utf-8"))
        assert [name for name in named if name in own] == own


@pytest.mark.parametrize("make", [tables.by_scheme, tables.fast_device])
def test_ratios_are_to_the_faster_form_of_one_step(monkeypatch: pytest.MonkeyPatch, make: Callable[[], str]) -> None:
    """And the rate of the whole study stands in the same table."""
    about: dict[str, Any] = {"stencil": "bor", "without": [], "batch": 264, "shape": [9, 8]}
    rates = {("one_step", None): 40e9, ("one_step", 1): 50e9, ("resident", None): 200e9}
    made = [
        {**about, "scheme": scheme, "choice": {"launches": form} if form else {}, "cell_steps_per_s": rate}
        for (scheme, form), rate in rates.items()
    ]
    study = tables.read("h200/ten_thousand")
    study |= {"cell_steps_per_s": 12.3e9}
    stored = tables.read
    for module in (tables, kernel_tables):
        monkeypatch.setattr(module, "kernels", lambda: made)
        monkeypatch.setattr(module, "read", lambda name: study if name == "h200/ten_thousand" else stored(name))
    text = make()
    assert ("4.00 |" if make is tables.by_scheme else "200 G (`resident`, 4.0 x)") in text
    assert "12.3" in text


def test_both_norms_of_the_proof() -> None:
    """The wavefront from noise: 4.7e-6 over the run and 1.45e-5 at its end, as stored."""
    row = next(
        one for one in tables.read("h200/proof")["fields"]
        if (one["stencil"], one["scheme"], one["start"], one["surfaces"]) == ("bor", "wavefront", "noise", "diagonal")
    )  # fmt: skip
    shown = f"{row['from_one_step']:.1e} / {row['from_one_step_at_the_end']:.1e}".replace("e-0", "e-")
    assert shown in tables.proof_table()
