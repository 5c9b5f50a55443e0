"""`benchmarks/same_bits.py`: what counts as a difference between two runs."""

from __future__ import annotations

import math
import shutil
import sys
from pathlib import Path

import made_up_runs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import same_bits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run = made_up_runs.MadeUpRun(generations=2, population=4)
    return Path(made_up_runs.write_run(tmp_path, run))


def changed(folder: Path, column: str, values: list) -> Path:
    """A copy of a run whose first file of rows has another column."""
    other = folder.parent / f"{folder.name}-changed"
    shutil.copytree(folder, other)
    path = min((other / "evals").glob("*.parquet"))
    table = pq.read_table(path)
    place = table.column_names.index(column)
    pq.write_table(table.set_column(place, column, pa.array(values, table.schema.field(column).type)), path)
    return other


def rows(folder: Path) -> pa.Table:
    return pq.read_table(min((folder / "evals").glob("*.parquet")))


def test_a_run_is_equal_to_its_copy(folder: Path) -> None:
    figures = same_bits.figures(folder)
    assert sum(place.endswith("/genome") for place in figures) == 8
    assert any(place.startswith("patterns/") for place in figures)
    assert same_bits.differences(figures, same_bits.figures(folder)) == []


def test_one_bit_of_a_figure_is_a_difference(folder: Path) -> None:
    before = rows(folder)["directivity_dbi_30000mhz"].to_pylist()
    other = changed(folder, "directivity_dbi_30000mhz", [math.nextafter(before[0], 99.0), *before[1:]])
    (line,) = same_bits.differences(same_bits.figures(folder), same_bits.figures(other))
    assert line.startswith("evals/g0000-s000/directivity_dbi_30000mhz: ")


def test_one_bit_of_a_genome_is_a_difference(folder: Path) -> None:
    before = rows(folder)["genome"].to_pylist()
    genome = [math.nextafter(before[1][0], 2.0), *before[1][1:]]
    other = changed(folder, "genome", [before[0], genome, *before[2:]])
    (line,) = same_bits.differences(same_bits.figures(folder), same_bits.figures(other))
    assert line.startswith("evals/g0000-s001/genome: ")


def test_times_and_workers_are_none(folder: Path) -> None:
    other = changed(folder, "seconds", [0.5] * 4)
    assert same_bits.differences(same_bits.figures(folder), same_bits.figures(other)) == []


def test_what_is_missing_on_either_side_is_a_difference() -> None:
    assert same_bits.differences({"evals/a/x": 1.0}, {}) == ["evals/a/x: only in the old run"]
    assert same_bits.differences({}, {"evals/a/x": None}) == ["evals/a/x: only in the new run"]


def test_a_metric_that_the_old_commit_does_not_have_is_none(folder: Path) -> None:
    new = same_bits.figures(folder) | {"best/result.json/results": [{"gain_dbi": 1.0, "realized_gain_dbi": 2.0}]}
    old = {place: value for place, value in new.items() if "/realized_gain_dbi_" not in place}
    old["best/result.json/results"] = [{"gain_dbi": 1.0}]
    assert same_bits.differences(old, new) == []
    place = next(place for place in old if "/gain_dbi_" in place)
    lost = {other: value for other, value in old.items() if other != place}
    assert same_bits.differences(lost, new) == [f"{place}: only in the new run"]


def test_renamed_columns_are_matched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(same_bits.RENAMED, "gain_30000mhz", "gain_dbi_30000mhz")
    old, new = {"evals/a/gain_30000mhz": 1.0}, {"evals/a/gain_dbi_30000mhz": 1.0}
    assert same_bits.differences(old, new) == []
    assert same_bits.differences(old, {"evals/a/gain_dbi_30000mhz": 2.0}) != []


def test_an_added_metric_is_no_difference_a_removed_one_is() -> None:
    new = {"evals/a/realized_gain_dbi_30000mhz": 1.0, "best/result.json/results/0/realized_gain_dbi": 1.0}
    assert same_bits.differences({}, new) == []
    assert len(same_bits.differences(new, {})) == 2
    assert dict(same_bits._leaves({"results": [{"gain_dbi": 1.0, "seconds": 2.0}]}, "r")) == {
        "r/results/0/gain_dbi": 1.0
    }


def test_not_a_number_is_no_absent_value() -> None:
    assert same_bits.same([math.nan, 0.0, None], [math.nan, -0.0, None])
    assert not same_bits.same(math.nan, None)
    assert not same_bits.same([1.0], [1.0, 2.0])
