"""Tables with nine frequencies or twelve runs fit the terminal and the page; a figure gives each run a style."""

import dataclasses
from itertools import pairwise

import cheap_evaluation
import pytest
from made_up_runs import MadeUpRun, write_run

from antennaopt.cli.tables import aligned, results_table
from antennaopt.metrics import METRICS
from antennaopt.report.canvas import run_style
from antennaopt.report.convergence import comparison_figure
from antennaopt.report.page import report_text, solved
from antennaopt.report.record import RunRecord, read_run
from antennaopt.report.summary import band_tables

NINE = [28e9 + 0.5e9 * place for place in range(9)]


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """Set the width of the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda columns: monkeypatch.setenv("COLUMNS", str(columns))


def outcome(frequencies):
    return cheap_evaluation.outcome({}, {"frequencies": frequencies, "nr": 1, "nz": 1})


def test_nine_frequencies_go_below_each_other_and_none_is_lost(terminal):
    text = results_table(outcome(NINE))
    assert max(len(line) for line in text.splitlines()) <= 80
    blocks = text.split("\n\n")
    assert len(blocks) == 2
    heads = [part for block in blocks for part in block.splitlines()[0].split("  ") if part]
    assert [head.strip() for head in heads] == [f"{hz / 1e9:g} GHz" for hz in NINE]
    for block in blocks:
        names = [line.split("  ")[0] for line in block.splitlines()[2:]]
        assert names == [metric.heading for metric in METRICS.values()]
    terminal(200)
    assert "\n\n" not in results_table(outcome(NINE))


def test_what_fits_stays_in_one_piece_and_what_never_fits_is_still_there(terminal):
    assert "\n\n" not in results_table(outcome(NINE[:3]))
    terminal(10)
    text = aligned([["", "one", "two"], ["a metric with a long name", "1", "2"]], wrap=True)
    assert text.count("a metric with a long name") == 2
    assert "1\n" in text
    assert "\n\n" not in aligned([["", "one", "two"], ["a metric with a long name", "1", "2"]])


def test_the_report_splits_its_columns_too(tmp_path, blank_figures):
    frequencies = tuple(27e9 + 0.25e9 * place for place in range(20))
    record = read_run(
        write_run(tmp_path, MadeUpRun(generations=2, population=6, field_map=False, frequencies=frequencies))
    )
    tables = band_tables(record, record.best)
    assert [len(table.header) - 1 for table in tables] == [9, 9, 2]
    assert [cell for table in tables for cell in table.header[1:]] == [f"{hz / 1e9:.6g} GHz" for hz in frequencies]
    first = [line[1:] for line in tables[0].rows]
    assert first[0] == [f"{value:.2f}" for value in record.metric(record.best, "directivity_dbi")[:9]]
    assert report_text(record).count("<h3>Figures of merit") == 1


def test_many_runs_differ_in_colour_or_dash_and_neighbours_in_both():
    styles = [run_style(place) for place in range(24)]
    assert len({(style.colour, style.dash) for style in styles}) == 24
    for one, other in pairwise(styles):
        assert one.colour != other.colour
        assert one.dash != other.dash


def test_each_run_names_the_frequency_of_its_own_patterns(tmp_path):
    records = []
    for place in range(12):
        band = tuple(hz + 1e9 * place for hz in (28.5e9, 30e9, 31.5e9))
        run = MadeUpRun(generations=2, population=6, field_map=False, frequencies=band)
        records.append(read_run(write_run(tmp_path / str(place), run)))
    figure = comparison_figure(records)
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert [name.split(": ")[0] for name in names] == [f"run {place}" for place in range(1, 13)]
    assert [name.split(" at ")[1] for name in names] == [f"{30 + place} GHz" for place in range(12)]
    for axes in figure.axes[1:]:
        drawn = [(line.get_color(), str(line._unscaled_dash_pattern)) for line in axes.get_lines()]
        assert len(set(drawn)) == 12


def test_cuts_with_two_sides_are_drawn_whole(tmp_path, monkeypatch):
    """Next to the cuts of a body of revolution, which have one side."""
    run = MadeUpRun(generations=2, population=6, field_map=False)
    records = [read_run(write_run(tmp_path / name, run)) for name in ("lens", "board")]
    (one, *_), whole = records[0].cuts(records[0].best), [-180.0, 0.0, 180.0]
    board = dataclasses.replace(one, theta_deg=whole, e_plane_dbi=[-9.0, 9.0, -9.0], h_plane_dbi=[-9.0, 9.0, -9.0])
    cuts = {records[0].folder.path: [one], records[1].folder.path: [board]}
    monkeypatch.setattr(RunRecord, "cuts", lambda record, row: cuts[record.folder.path])
    assert [axes.get_xlim() for axes in comparison_figure(records).axes[1:]] == [(-180.0, 180.0)] * 2
    assert [axes.get_xlim() for axes in comparison_figure(records[:1]).axes[1:]] == [(0.0, 180.0)] * 2


def test_the_report_counts_what_came_from_the_cache_by_itself(tmp_path):
    record = read_run(write_run(tmp_path, MadeUpRun(generations=2, population=6, field_map=False)))
    assert solved(record) == "11 (and 1 equal to one of this run)"
    frame = record.frame.copy()
    frame["origin"] = ["cache"] * 4 + ["cells"] + ["solved"] * 6 + ["twin"]
    cached = dataclasses.replace(record, frame=frame)
    assert (
        solved(cached) == "6 (and 4 from the evaluation cache, 1 with the cells of another, 1 equal to one of this run)"
    )
