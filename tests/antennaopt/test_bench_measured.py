"""`bench kernels --measured`: stored rows drawn again, on no device."""

import json
from pathlib import Path

import pytest

from antennaopt.errors import ConfigurationError
from antennaopt.report import bench_kernels

STORED = Path(__file__).parents[2] / "results" / "benchmarks" / "h200"


def row(scheme, rate, *without, stencil="bor", batch=264):
    return {
        "stencil": stencil, "scheme": scheme, "device": "made up", "shape": [256, 320], "batch": batch,
        "without": list(without), "cell_steps_per_s": 1e9 * rate, "spread": 0.01,
    }  # fmt: skip


ANY = row("one_step", 40.0) | {"backend": "cuda", "dtype": "float32", "cells": 1, "million_cells_per_s": 2.0}


def drawn(monkeypatch, tmp_path, rows):
    """Return the figure that is written."""
    figures = []
    monkeypatch.setattr(bench_kernels, "write_figure", lambda _, figure: figures.append(figure))
    bench_kernels.plot_kernels(tmp_path / "kernels.png", rows)
    return figures[0]


def test_bars_and_marks_are_the_rates(monkeypatch, tmp_path):
    """A bar as long as the whole kernel's rate, a mark at the rate without each part; the largest batch alone."""
    rows = [
        row("one_step", 40.0), row("wavefront", 203.0), row("wavefront", 234.0, "layers"),
        row("wavefront", 400.0, "layers", "record", "media"),
        row("wavefront", 436.0, "layers", "record", "media", "arithmetic"), row("wavefront", 26.0, batch=1),
        row("wavefront", 250.0, "axial"),
    ]  # fmt: skip
    figure = drawn(monkeypatch, tmp_path, rows)
    (axes,) = figure.axes
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["everything on", "no layers", "update only", "memory only"], "also what the first scheme lacks"
    assert [patch.get_width() for patch in axes.patches] == pytest.approx([40.0, 203.0])
    points = {round(float(line.get_xdata()[0]), 6) for line in axes.lines if line.get_linestyle() == "None"}
    assert {234.0, 400.0, 436.0} <= points
    assert not points & {26.0, 250.0}
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["one_step", "wavefront"]


def test_a_plan_that_was_told_something_has_a_bar_of_its_own(monkeypatch, tmp_path):
    """`one_step` in one launch a step right under `one_step`, whose marks stay its own."""
    rows = [row("one_step", 40.0), row("wavefront", 203.0), row("one_step", 53.0) | {"choice": {"launches": 1}}]
    (axes,) = drawn(monkeypatch, tmp_path, [*rows, row("one_step", 52.0, "layers")]).axes
    assert [patch.get_width() for patch in axes.patches] == pytest.approx([40.0, 53.0, 203.0])
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["one_step", "one_step, launches 1", "wavefront"]
    assert [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "None"] == [0]


def test_nothing_whole_is_nothing_to_draw(tmp_path):
    with pytest.raises(ConfigurationError, match="no row is of a whole kernel"):
        bench_kernels.plot_kernels(tmp_path / "kernels.png", [row("one_step", 40.0, "layers")])


def test_rows_of_two_devices_are_drawn_apart(tmp_path):
    with pytest.raises(ConfigurationError, match="several devices"):
        bench_kernels.plot_kernels(tmp_path / "kernels.png", [row("one_step", 40.0), ANY | {"device": "another"}])


@pytest.mark.parametrize("command", ["kernels", "sweep"])
def test_what_would_be_ignored_is_refused(call, command):
    stored = ("--measured", STORED / f"{command}.json", "--plot", "figure.svg")
    code, _, err = call("bench", command, *stored, "--stencil", "tmz")
    assert code == 2
    assert "--stencil says nothing to --measured" in err


@pytest.mark.parametrize("command", ["kernels", "sweep"])
def test_stored_rows_are_drawn(call, tmp_path, command):
    code, out, err = call("bench", command, "--measured", STORED / f"{command}.json", "--plot", "figure.svg")
    assert (code, out, err) == (0, "", "")
    assert "<svg" in (tmp_path / "figure.svg").read_text()


@pytest.mark.parametrize("command", ["kernels", "sweep"])
@pytest.mark.parametrize(
    ("content", "plot", "says"),
    [
        ("{", "figure.svg", "cannot be read"),
        ("[1]", "figure.svg", "holds no rows"),
        ("[]", None, "give --plot FILE too"),
        ("[]", "figure.doc", "has no known ending"),
        ("[]", "figure.svg", "nothing to plot"),
        (json.dumps([{"a": 1}]), "figure.svg", "has no such entry"),
        (json.dumps([ANY | {"batch": [1], "cells": [1]}]), "figure.svg", "has no such entry"),
        (json.dumps([ANY | {"shape": [3], "cells": "?"}]), "figure.svg", "a row "),
    ],
)
def test_what_cannot_be_drawn_is_said(call, tmp_path, command, content, plot, says):
    (tmp_path / "rows.json").write_text(content)
    code, out, err = call("bench", command, "--measured", "rows.json", *(("--plot", plot) if plot else ()))
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
