"""The table of metrics: everything that the packages read of a metric is there, and each metric arrives everywhere."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from made_up_runs import MadeUpRun, write_run
from run_examples import COLUMNS, evaluated, new_run, row, solved
from test_extrapolate import made_up

from antennaopt.bench.null_solver import null_evaluate
from antennaopt.cli.tables import results_table
from antennaopt.errors import ConfigurationError
from antennaopt.metrics import METRICS, Extrapolation, Metric, Place, Quantities, metric_of, reported_in
from antennaopt.report.data_files import result_rows
from antennaopt.report.page import report_text
from antennaopt.report.record import read_run
from antennaopt.search.objectives import build, shortfalls
from antennaopt.solve.extrapolate import extrapolate
from antennaopt.solve.outcome import fault_of
from antennaopt.store.run_folder import RunFolder
from antennaopt.store.schema import FIRST_METRICS, RunColumns
from fdtd.farfield import decibels, directivity

EVERY = pytest.mark.parametrize("metric", METRICS.values(), ids=list(METRICS))
UNITS = {"dBi": "_dbi", "dB": "_db", "deg": "_deg"}
THETA = np.arange(0.0, 181.0)
EXTRAPOLATED = ("reflected", "theta_deg", "e_plane_dbi", "h_plane_dbi", "efficiency", "returned")


def quantities(**changes: np.ndarray) -> Quantities:
    """Two antennas at three frequencies: a beam with side lobes and some cross-polarisation."""
    x = np.radians(THETA) * np.array([[8.0], [9.0], [10.0]]) * np.array([1.0, 1.1])[:, None, None]
    a = np.sinc(x / 4) + 0.01j
    b = -np.sinc(x / 4.2) + 0.01j
    e_plane, h_plane, radiated = directivity(a, b)
    return Quantities(
        reflected=np.full(radiated.shape, 0.01),
        theta_deg=THETA,
        e_plane_dbi=decibels(e_plane),
        h_plane_dbi=decibels(h_plane),
        efficiency=np.full(radiated.shape, 0.98),
        a=a,
        b=b,
        radiated=radiated,
        dissipated=0.02 * radiated / 0.98,
        accepted=radiated / 0.98,
        through_contour=radiated,
        returned=np.full(radiated.shape, 0.02),
    )


@EVERY
def test_each_has_a_label_a_unit_and_a_direction(metric: Metric) -> None:
    assert metric.key.endswith(UNITS.get(metric.unit, "")) and (metric.unit in UNITS or metric.unit == "")
    assert metric.label and metric.title[:1].isupper() and metric.decimals > 0
    assert metric.worst([1.0, None, 2.0]) == (1.0 if metric.larger_is_better else 2.0)
    assert metric.worst([None]) is None and metric.text(None) == metric.absent_text
    assert [one.label for one in METRICS.values()].count(metric.label) == 1


@EVERY
def test_each_is_computed_for_a_batch_and_for_one_antenna(metric: Metric) -> None:
    """The values of an antenna do not depend on the batch; a metric that may be absent is the only one with None."""
    batch = quantities()
    values = metric.compute(batch)
    assert values.shape == (2, 3)
    first = Quantities(**{
        one.name: getattr(batch, one.name)[0] if one.name != "theta_deg" else THETA
        for one in dataclasses.fields(Quantities)
    })  # fmt: skip
    np.testing.assert_array_equal(metric.compute(first), values[0])
    assert metric.absent or np.isfinite(values).all()


@EVERY
def test_each_has_columns_and_is_required_of_a_solver(metric: Metric) -> None:
    names = [COLUMNS.metric_column(metric.key, hz) for hz in COLUMNS.frequencies]
    schema = COLUMNS.evals_schema()
    assert [schema.field(name).type for name in names] == [pa.float64()] * 2
    outcome = solved()
    assert [row(outcome=outcome)[name] for name in names] == outcome[metric.key]
    account = {"worker", "device", "attempt"}
    whole = {key: value for key, value in outcome.items() if key not in account}
    assert fault_of(whole, solved=True) is None
    del whole[metric.key]
    assert fault_of(whole, solved=True) == f"it has no {metric.key}"


@EVERY
def test_each_has_a_goal_or_is_a_check_that_no_goal_asks_for(metric: Metric) -> None:
    if metric.goal is None:
        with pytest.raises(ConfigurationError, match=metric.key):
            build([{"metric": metric.key, metric.bound: metric.typical}])
        return
    goals = build([{"metric": metric.key, metric.bound: metric.typical}])
    worse = metric.typical * 0.9 - 3.0 if metric.larger_is_better else metric.typical + 3.0
    outcome = {"status": "ok", "frequency_hz": [3e10], metric.key: [metric.typical]}
    assert shortfalls(outcome, goals) == [0.0]
    assert shortfalls(outcome | {metric.key: [worse]}, goals)[0] > 0.0
    assert (shortfalls(outcome | {metric.key: [None]}, goals) == [0.0]) == metric.goal.met_when_absent
    if metric.goal.usual is not None:
        assert metric.goal.floor <= min(metric.goal.usual) < max(metric.goal.usual) <= metric.goal.ceiling
        assert metric.unit in metric.usual_text


@EVERY
def test_each_is_extrapolated(metric: Metric) -> None:
    """A recomputed metric reads nothing that an extrapolated antenna lacks; equal meshes give their own value."""
    known = quantities()
    if metric.extrapolation is Extrapolation.RECOMPUTED:
        bare = Quantities(**{name: getattr(known, name) for name in EXTRAPOLATED})
        np.testing.assert_array_equal(metric.compute(bare), metric.compute(known))
    mesh = made_up(0.3, {"s11": 2.0, "pattern": 2.0, "efficiency": 2.0})
    found = extrapolate(mesh, mesh, ratio=1.5, order=2.0)
    assert len(found[metric.key]) == 2
    if metric.key in mesh:
        np.testing.assert_allclose(found[metric.key], mesh[metric.key], rtol=1e-12)


def test_every_metric_is_reported(tmp_path, blank_figures) -> None:
    """In the table of `simulate`, the CSV file, the report's bands; as many as before in each narrower place."""
    outcome = solved()
    lines = results_table(outcome).splitlines()
    record = read_run(write_run(tmp_path, MadeUpRun(generations=1, population=3, field_map=False)))
    page = report_text(record)
    for metric in METRICS.values():
        assert any(line.startswith(metric.heading) for line in lines)
        assert metric.key in result_rows(outcome)[0]
        assert f">{metric.heading}<" in page
    shown = [len(reported_in(place)) for place in sorted(Place)]
    assert shown == sorted(shown, reverse=True) and shown[0] == len(METRICS) and shown[-1] > 0


def test_the_bench_without_a_solver_gives_every_metric() -> None:
    (outcome,) = null_evaluate("any", [{"a": 0.01}], {"frequencies_hz": [3e10]}, backend="cpu")
    assert fault_of(outcome, solved=True) is None


def test_rows_have_the_metrics_that_their_manifest_names(tmp_path) -> None:
    """A run of another version, with fewer metrics or in another order, is read with its own columns."""
    columns = dataclasses.replace(COLUMNS, metrics=FIRST_METRICS[:3])
    with new_run(tmp_path, columns) as folder:
        folder.write_rows(0, [evaluated(columns)])
        path = folder.path
    with RunFolder.open(path) as folder:
        assert folder.columns.metrics == FIRST_METRICS[:3]
        assert "gain_dbi_30000mhz" not in folder.all_rows().column_names
    older = {key: value for key, value in COLUMNS.to_dict().items() if key != "metrics"}
    assert RunColumns.from_dict(older).metrics == FIRST_METRICS
    assert set(FIRST_METRICS) <= METRICS.keys()


def test_a_metric_of_another_version_is_called_by_its_key() -> None:
    unknown = metric_of("beam_waist_mm")
    assert (unknown.title, unknown.text(1.0), unknown.goal) == ("Beam_waist_mm", "1.0000", None)
