"""`bench sweep`: rows, figure, table; the problem that it times is a real one."""

import functools
import json

import numpy as np
import pytest

from antennaopt.bench import boxes, kernels, problems
from antennaopt.errors import ConfigurationError
from antennaopt.report import bench_kernels
from fdtd.backends import planar_reference
from fdtd.backends.cpu import planar, yee
from fdtd.errors import Unsuitable


@pytest.fixture
def call(call, monkeypatch):
    for name in ("_TARGET_CELL_STEPS", "_SWEPT_CELL_STEPS"):
        monkeypatch.setattr(kernels, name, 1e5)
    return functools.partial(call, "bench", "sweep")


def test_rows_and_figure(call, tmp_path):
    arguments = ("--size", "64", "--size", "96", "--repeat", "2", "--json", "-", "--plot", "sweep.svg")
    code, out, err = call(*arguments)
    assert code == 0
    rows = json.loads(out)
    assert {(row["stencil"], row["scheme"]) for row in rows} == {
        ("tmz", "one_step"), ("tez", "one_step"), ("bor", "one_step"), ("bor", "skewed"),
    }  # fmt: skip
    for row in rows:
        keys = {"stencil", "scheme", "backend", "device", "dtype", "shape", "batch", "steps", "cell_steps_per_s"}
        assert keys | {"spread", "ratio_to_one_step", "cells", "million_cells_per_s"} <= set(row)
        assert row["cells"] == np.prod(row["shape"])
        assert row["million_cells_per_s"] * 1e6 == pytest.approx(row["cell_steps_per_s"])
        assert row["cell_steps_per_s"] > 0
    assert [row["shape"] for row in rows if row["stencil"] == "tez"] == [[64, 64], [96, 96]]
    assert err.count("million cells/s") == len(rows)
    assert "<svg" in (tmp_path / "sweep.svg").read_text()


def test_the_table_is_for_people(call):
    code, out, _ = call("--size", "64", "--stencil", "tmz", "--repeat", "1", "--backend", "reference")
    assert code == 0
    assert out.splitlines()[0].split()[:3] == ["stencil", "scheme", "cells"]
    assert "64 x 64" in out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--stencil", "3d"), 2, "--stencil 3d is not known; use one of tmz, tez, bor, yee3d, heat7, heat19"),
        (("--size", "8"), 2, "'--size'"),
        (("--size", "9000000"), 2, "TiB (this machine has"),
        (("--plot", "sweep.docx"), 2, "has no known ending; use one of .png, .svg, .pdf"),
        (("--plot", "nofolder/sweep.png"), 6, "nofolder does not exist"),
    ],
)
def test_bad_usage(call, arguments, code, says):
    ended, out, err = call(*arguments)
    assert (ended, out) == (code, "")
    assert says in err
    assert err.count("\n") == 1


def test_curves_of_one_stencil_are_told_apart_in_the_legend(tmp_path, monkeypatch):
    """One colour a stencil; a short piece of a dashed curve looks whole in a legend, so markers differ too."""
    drawn = []
    monkeypatch.setattr(bench_kernels, "write_figure", lambda _, figure: drawn.append(figure))
    rows = [
        {"stencil": stencil, "scheme": scheme, "backend": "cpu", "dtype": "float32", "device": "a processor",
         "cells": cells, "million_cells_per_s": 300.0, "spread": 0.01}
        for stencil, scheme in (("tmz", "one_step"), ("bor", "one_step"), ("bor", "skewed")) for cells in (100, 400)
    ]  # fmt: skip
    rows += [one | {"choice": {"launches": 1}} for one in rows[2:4]]
    bench_kernels.plot_throughput(tmp_path / "sweep.png", rows)
    looks = [
        (container.lines[0].get_color(), container.lines[0].get_marker(), container.lines[0].get_linestyle())
        for container in drawn[0].axes[0].containers
    ]
    assert looks[1][0] == looks[2][0] != looks[0][0]
    assert looks[1][1] != looks[2][1]
    assert looks[1][2] != looks[2][2]
    assert len(looks) == 4, "one_step in one launch is a curve of its own"


def test_sizes_double_in_two_steps():
    assert kernels.sizes_up_to(256) == [64, 88, 128, 184, 256]
    assert kernels.sizes_up_to(64) == [64]
    assert kernels.sizes_up_to(2048)[-1] == 2048


@pytest.mark.parametrize("polarisation", ["TM", "TE"])
def test_what_is_timed_is_a_wave_in_a_cylinder(polarisation):
    """The source's wave arrives in the middle, and the kernel that is timed does what the oracle does."""
    problem = problems.cylinder_problem(polarisation, 64, 150)
    stages = {}
    records = planar.run(problem, precision="float64", stages=stages)
    oracle = planar_reference.run(problem)
    assert np.abs(records.samples[0]).max() > 0
    assert np.allclose(records.final, oracle.final, rtol=0.0, atol=1e-12 * np.abs(oracle.final).max())
    assert stages["step"] > 0


def test_what_cannot_be_swept_says_so(tmp_path):
    with pytest.raises(Unsuitable, match="no planar kernels"):
        kernels.bench_sweep(stencils=["tmz"], sizes=[64], backend="abacus")
    with pytest.raises(ConfigurationError, match="no rows"):
        bench_kernels.plot_throughput(tmp_path / "none.png", [])


def test_cubes(call):
    """Stencils in space: a size is the side of a cube; no oracle steps them."""
    code, out, _ = call("--stencil", "yee3d", "--stencil", "heat7", "--size", "64", "--repeat", "1", "--json", "-")
    assert code == 0
    rows = json.loads(out)
    assert [(row["stencil"], row["scheme"], row["shape"]) for row in rows] == [
        ("yee3d", "one_step", [64, 64, 64]), ("heat7", "one_step", [64, 64, 64]),
    ]  # fmt: skip
    assert all(row["cells"] == 64**3 and row["million_cells_per_s"] > 0 for row in rows)
    assert all(row["layers"] == 0 and row["fastest_cell_steps_per_s"] == row["cell_steps_per_s"] for row in rows)
    code, _, err = call("--stencil", "yee3d", "--size", "64", "--backend", "reference")
    assert code == 5
    assert "backend = 'reference' steps no yee3d (allowed: cpu, cuda)" in err
    code, _, err = call("--stencil", "yee3d", "--size", "90000")
    assert code == 2
    assert "(this machine has" in err


def test_layers_of_a_core(call, tmp_path, monkeypatch):
    """The loops that solve antennas, with 10 cells in front of each face: a curve of its own in the figure."""
    solved = []
    run = yee.run

    def counted(problem, **given):
        solved.append((problem.grid.layers, problem.sampling.steps))
        return run(problem, **given)

    monkeypatch.setattr(yee, "run", counted)
    monkeypatch.setattr(boxes, "_CELL_STEPS", 1e6)
    monkeypatch.setattr(bench_kernels, "write_figure", lambda path, figure: drawn.append(figure) or path)
    drawn = []
    given = ("--stencil", "yee3d", "--size", "64", "--layers", "10", "--repeat", "3", "--json", "-", "--plot", "s.svg")
    code, out, _ = call(*given)
    (row,) = json.loads(out)
    assert code == 0 and (row["layers"], row["shape"], row["steps"]) == (10, [64] * 3, 15)
    assert 0 < row["cell_steps_per_s"] <= row["fastest_cell_steps_per_s"]
    assert set(solved) == {((10,) * 6, 1), ((10,) * 6, 16)} and solved.count(((10,) * 6, 16)) == 3
    assert "layers of 10" in drawn[0].axes[0].get_legend_handles_labels()[1][0]


@pytest.mark.parametrize("arguments", [("--stencil", "tmz"), (), ("--stencil", "yee3d", "--stencil", "heat7")])
def test_layers_of_other_stencils_are_refused(call, arguments):
    code, out, err = call(*arguments, "--layers", "10", "--size", "64")
    assert (code, out) == (2, "") and err.count("\n") == 1
    assert "--layers is of yee3d on one core; add --stencil yee3d, or use `antennaopt bench devices` on devices" in err
