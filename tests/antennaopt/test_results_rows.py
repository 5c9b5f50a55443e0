"""Columns and rows: names with units in them, what is missing, and that nothing is lost on the way to pandas."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_examples import COLUMNS, fill, new_run, row, solved

from antennaopt.solve.cuts import amplitudes
from antennaopt.store import load, pattern
from antennaopt.store.schema import GeneColumn, RunColumns, frequency_label

FAILED = {"status": "error", "error": "Traceback: no", "attempt": 2}
REFUSED = {"status": "infeasible", "error": "lens.radii too small", "device": "cpu", "worker": "1", "attempt": 1}


def test_columns_carry_their_units():
    names = COLUMNS.evals_schema().names
    assert names[:9] == ["run", "generation", "slot", "individual", "parents", "operator", "status", "error", "genome"]
    assert names[9:11] == ["lens_radii_0_mm", "lens_permittivity"]
    assert {"directivity_dbi_28500mhz", "s11_re_30000mhz", "shortfall_1_s11_db", "decay_db"} <= set(names)
    account = ["fitness", "cached", "seconds", "steps", "worker", "device", "attempt"]
    assert names[-11:] == [*account, "origin", "birth", "bred_after", "stepping_seconds"]
    assert RunColumns.from_dict(COLUMNS.to_dict()) == COLUMNS


@pytest.mark.parametrize(("hz", "label"), [(30e9, "30000mhz"), (2.4005e9, "2400p5mhz"), (1e5, "0p1mhz")])
def test_frequency_labels_fit_a_column_name(hz, label):
    assert frequency_label(hz) == label


@given(st.lists(st.floats(1e6, 1e12), min_size=2, max_size=2, unique=True))
def test_close_frequencies_get_columns_of_their_own(frequencies):
    one, other = frequencies
    if not math.isclose(one, other, rel_tol=1e-11):
        assert frequency_label(one) != frequency_label(other)


def test_a_row_has_every_column_in_readable_units():
    flat = row()
    assert list(flat) == COLUMNS.evals_schema().names
    assert flat["lens_radii_0_mm"] == pytest.approx(17.1)
    assert flat["s11_im_28500mhz"] == -0.2
    assert flat["sidelobe_db_28500mhz"] is None
    assert flat["sidelobe_db_30000mhz"] == -21.0


def test_a_failed_row_has_every_column_too():
    flat = row(outcome=FAILED)
    assert list(flat) == COLUMNS.evals_schema().names
    assert flat["directivity_dbi_30000mhz"] is None
    assert (flat["status"], flat["shortfall_0_directivity_dbi"], flat["fitness"]) == ("error", None, 800.0)


def test_pandas_reads_the_folder_bit_for_bit(tmp_path):
    with new_run(tmp_path) as folder:
        fill(folder, 0, [solved(), FAILED, REFUSED, solved(power_balance=[math.nan, 1.0])])
        table = pd.read_parquet(folder.evals_folder)
    assert list(table.columns) == COLUMNS.evals_schema().names
    assert list(table["status"]) == ["ok", "error", "infeasible", "ok"]
    assert table["directivity_dbi_28500mhz"][0] == 18.123456789012345
    assert list(table["genome"][0]) == [0.25, 0.1 + 0.2]
    assert table["attempt"].tolist()[:2] == [1, 2]
    assert np.isnan(table["power_balance_28500mhz"][3])


def test_nan_and_none_are_told_apart_in_the_file(tmp_path):
    with new_run(tmp_path) as folder:
        fill(folder, 0, [solved(power_balance=[math.nan, None])])
        (back,) = folder.read_generation(0)
    assert math.isnan(back["power_balance_28500mhz"])
    assert back["power_balance_30000mhz"] is None


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_generation_without_any_ok_does_not_spoil_the_others(tmp_path, order):
    generations = [[FAILED, REFUSED], [solved(), FAILED]]
    with new_run(tmp_path) as folder:
        for generation, which in enumerate(order):
            fill(folder, generation, generations[which])
        table = pd.read_parquet(folder.evals_folder)
    assert len(table) == 4
    assert table["directivity_dbi_30000mhz"].notna().sum() == 1
    assert table["directivity_dbi_30000mhz"].dtype == np.float64


def test_two_runs_with_other_genes_are_joined(tmp_path):
    other = RunColumns(genes=(GeneColumn(name="lens.extension"),), frequencies=(30e9,), objectives=("gain_dbi",))
    one_frequency = {
        name: [value[1]] for name, value in solved().items() if isinstance(value, list) and len(value) == 2
    }
    with new_run(tmp_path) as first, new_run(tmp_path, columns=other, name="other") as second:
        fill(first, 0, [solved(), FAILED])
        fill(second, 0, [solved(**one_frequency)])
        table = load(first, second.path)
    assert list(table["run"]) == [first.run_id, first.run_id, second.run_id]
    assert table["lens_extension_mm"].isna().tolist() == [True, True, False]
    assert table["lens_radii_0_mm"].isna().tolist() == [False, False, True]
    assert table["gain_dbi_30000mhz"].notna().tolist() == [True, False, True]


def test_an_empty_run_loads_as_an_empty_table(tmp_path):
    with new_run(tmp_path) as folder:
        assert list(load(folder).columns) == COLUMNS.evals_schema().names
        assert len(load(folder)) == 0
        assert pattern(folder, "g0000-s000").empty


def test_patterns_of_any_individual(tmp_path):
    with new_run(tmp_path) as folder:
        fill(folder, 0, [FAILED, solved()])
        cuts = pattern(folder.path, "g0000-s001")
        assert list(cuts.columns) == ["frequency_hz", "theta_deg", "e_plane_dbi", "h_plane_dbi", "e_plane", "h_plane"]
        assert len(cuts) == 2 * 3
        at_30 = cuts[cuts["frequency_hz"] == 30e9]
        assert at_30["h_plane_dbi"].tolist() == pytest.approx([18.5, -6.5, -20.5], abs=1e-6)
        assert at_30["e_plane"].tolist() == pytest.approx(amplitudes(solved()["e_plane"])[1], rel=1e-6)
        assert pattern(folder, "g0000-s000").empty
        with pytest.raises(ValueError, match="g0003-s012"):
            pattern(folder, "../../etc/passwd")
