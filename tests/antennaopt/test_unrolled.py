"""A pattern's lists as rows: what pandas' `explode` makes of them, also where it has to make it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from antennaopt.store import rows
from antennaopt.store.schema import patterns_schema


def table(lists, *, complex_cuts=True):
    schema = patterns_schema(complex_cuts=complex_cuts)
    columns = {
        field.name: [lists[place] for place in range(len(lists))]
        if pa.types.is_list(field.type)
        else [[28.5e9, 30e9, None][place] if field.type == pa.float64() else "name" for place in range(len(lists))]
        for field in schema
    }
    return pa.table(columns, schema=schema)


@pytest.mark.parametrize("complex_cuts", [True, False])
@pytest.mark.parametrize(
    ("lists", "quick"),
    [
        ([[0.5, 1.25], [2.0, 1 / 3], [7.0]], True),
        ([[0.5, None], [float("nan"), float("inf")]], True),
        ([[0.5], []], False),
        ([[0.5], None], False),
        ([], False),
    ],
)
def test_rows_are_those_of_explode(monkeypatch, lists, quick, complex_cuts):
    found = table(lists, complex_cuts=complex_cuts)
    assert (rows._unrolled(found, rows.cut_columns(found.schema)) is not None) == quick
    with np.errstate(invalid="ignore"):
        ours = rows.pattern_frame(found.slice(0))
        part = rows.pattern_frame(found.slice(1)) if len(lists) > 1 else ours
        monkeypatch.setattr(rows, "_unrolled", lambda *_: None)
        pd.testing.assert_frame_equal(ours, rows.pattern_frame(found), check_exact=True)
        if len(lists) > 1:
            pd.testing.assert_frame_equal(part, rows.pattern_frame(found.slice(1)), check_exact=True)
