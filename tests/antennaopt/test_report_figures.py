"""Figures show what they are given, and leave Matplotlib's global state as it was."""

import matplotlib as mpl
import numpy as np
import pytest
from family_cases import CASES, KINDS
from made_up_runs import RESOLVED, MadeUpRun, lens_field, outcome, sweep, write_run
from matplotlib.figure import Figure
from matplotlib.text import Text

from antennaopt.errors import ConfigurationError
from antennaopt.report.best_files import section_figure
from antennaopt.report.convergence import convergence_figure, fitness_by_generation, gene_bounds
from antennaopt.report.drawing import measures
from antennaopt.report.field_data import FieldMap
from antennaopt.report.geometry import bodies
from antennaopt.report.patterns import Cuts, Reflection, matching_figure, pattern_figure
from antennaopt.report.record import read_run
from antennaopt.report.simulation import (
    draw_magnitude,
    draw_outlines,
    draw_phase,
    draw_simulation,
    mirrored,
    plot_simulation,
)
from antennaopt.search.objectives import build
from antennaopt.solve.outcome import Outcome
from antennaopt.store.schema import GeneColumn

SIGNATURES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", ["png", *(pytest.param(one, marks=pytest.mark.slow) for one in ("svg", "pdf"))])
def test_one_antenna_in_each_format(tmp_path, kind):
    run = MadeUpRun()
    before = dict(mpl.rcParams)
    solved = outcome(run, 0.9)
    path = plot_simulation(
        tmp_path / "deep" / f"lens.{kind}", Outcome.of(solved | {"field": lens_field(), "sweep": sweep(solved)})
    )
    assert path.read_bytes().startswith(SIGNATURES[kind])
    assert dict(mpl.rcParams) == before
    plot_simulation(
        path, Outcome.of(outcome(MadeUpRun(frequencies=(30e9,), no_side_lobes=True), 0.5)), title="no field, no sweep"
    )


def test_no_text_of_the_table_covers_another():
    """Five frequencies with a figure that is not defined, as of a dipole's H plane."""
    run = MadeUpRun(frequencies=(28.125e9, 29.0625e9, 30e9, 30.9375e9, 31.875e9))
    figure = draw_simulation(Outcome.of(outcome(run, 0.5) | {"hpbw_h_deg": [None] * 5}))
    table = next(axes for part in figure.subfigs for axes in part.axes if axes.tables).tables[0]
    figure.draw_without_rendering()
    cells = {place: cell.get_text().get_window_extent() for place, cell in table.get_celld().items()}
    assert len(cells) >= 6 * 9
    assert all(box.x1 < cells[row, column + 1].x0 for (row, column), box in cells.items() if column < 4)


def test_one_antenna_says_what_it_cannot_draw(tmp_path):
    with pytest.raises(ConfigurationError, match=r"use one of \.png, \.svg, \.pdf"):
        plot_simulation(tmp_path / "lens.bmp", outcome(MadeUpRun(), 0.5))
    with pytest.raises(ValueError, match="infeasible"):
        plot_simulation(tmp_path / "lens.png", {"status": "infeasible"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("draw", [draw_magnitude, draw_phase])
def test_geometry_is_to_scale_and_symmetric_about_the_axis(draw):
    field = FieldMap.of_outcome({"field": lens_field()})
    axes = Figure().add_subplot()
    draw(axes, field)
    assert axes.get_aspect() == 1.0
    low, high = axes.get_ylim()
    assert low == pytest.approx(-high) and high == pytest.approx(26.85)
    assert axes.get_xlim()[0] == pytest.approx(1e3 * field.z[0] - 0.15)
    assert "30 GHz" in axes.get_title(loc="left")
    assert [axes.get_xlabel(), axes.get_ylabel()] == ["z (mm)", "x (mm)"]


def test_outlines_are_the_surfaces_and_not_the_cells():
    """Contours of level sets sampled every 0.1 mm; their points lie within a hundredth of that of the true surfaces.

    The lens is a hemisphere of 17 mm, the tube's walls are straight: away from corners (0.2 mm) every point of the
    dielectric's contour has rho = 17 mm or z = 0, of the metal's |x| = 3.6 or 4 mm or z = 0, -20 or -20.4 mm. Stair
    cells of 0.3 mm would be 0.15 mm off. Measured: 1.3e-4 mm.
    """
    axes = Figure().add_subplot()
    axes.set(xlim=(-22, 34), ylim=(-26, 26))
    _, lens, metal = sorted(draw_outlines(axes, FieldMap.of_outcome({"field": lens_field()}).outlines), key=kind)
    z, x = np.concatenate([path.vertices for path in lens.get_paths()]).T
    off = np.minimum(np.abs(np.hypot(z, x) - 17.0), np.abs(z))
    corner = np.hypot(z, np.abs(x) - 17.0) < 0.2
    assert off[~corner].max() < 1e-3 and x.max() > 16.8 and x.min() < -16.8
    z, x = np.concatenate([path.vertices for path in metal.get_paths()]).T
    walls = [np.abs(np.abs(x) - 3.6), np.abs(np.abs(x) - 4.0), np.abs(z), np.abs(z + 20.0), np.abs(z + 20.4)]
    assert np.sort(walls, axis=0)[0].max() < 1e-3
    assert axes.get_xlim() == (-22, 34)


def kind(contours):
    """Filled metal first, then dielectric, then the metal's edge."""
    return (not contours.filled, contours.get_zorder())


def test_phase_is_that_of_the_copolar_field():
    """The made-up wave has phase -628 rho: along the axis it turns by 360 degrees every 10 mm."""
    axes = Figure().add_subplot()
    field = FieldMap.of_outcome({"field": lens_field()})
    draw_phase(axes, field)
    mesh = axes.collections[0]
    drawn = np.asarray(mesh.get_array()).reshape(2 * field.r.size - 1, field.z.size)
    ahead = field.z > 1e-3
    expected = np.angle(np.exp(-628j * field.z[ahead]), deg=True)
    np.testing.assert_allclose(drawn[field.r.size - 1, ahead], expected, atol=1e-3)


@pytest.mark.parametrize("first", [0.0, 0.5])
def test_mirroring_counts_the_axis_once(first):
    r_mm = first + np.arange(3.0)
    radii, values = mirrored(r_mm, np.array([[1.0, 2.0, 3.0]]))
    assert np.all(np.diff(radii) > 0.0)
    np.testing.assert_array_equal(radii, -radii[::-1])
    np.testing.assert_array_equal(values, values[:, ::-1])
    assert radii.size == (5 if first == 0.0 else 6)


def test_convergence_counts_only_what_was_ok(tmp_path):
    record = read_run(write_run(tmp_path, MadeUpRun(generations=5, population=8, failing=("error", "diverged"))))
    table = fitness_by_generation(record.ok)
    assert table["q90"].max() < 1000.0
    assert (table["best"] <= table["median"]).all() and table["best_so_far"].is_monotonic_decreasing
    axes = convergence_figure(record).axes[0]
    curves = {line.get_label(): np.asarray(line.get_ydata(), float) for line in axes.get_lines()}
    np.testing.assert_array_equal(curves["best so far"][:-1], table["best_so_far"])
    assert set(curves["best of the first generation"]) == {table["best"].iloc[0]}
    low, high = axes.get_ylim()
    assert low < table["best_so_far"].min() and high > table["q90"].max()


def test_s11_shows_the_sweep_and_the_goal_where_it_is_asked_for(tmp_path):
    record = read_run(write_run(tmp_path, MadeUpRun(generations=1, population=4)))
    best = Reflection(points_hz=[29e9, 30e9], points_db=[-9.0, -14.0], sweep_hz=[28e9, 32e9], sweep_db=[-5.0, -22.0])
    axes = matching_figure(best, None, record.goals).axes[0]
    goal = next(line for line in axes.get_lines() if str(line.get_label()).startswith("goal"))
    assert list(goal.get_xdata()) == [29.0, 30.0] and list(goal.get_ydata()) == [-10.0, -10.0]
    assert axes.get_ylim()[0] <= -22.0 and axes.get_xlim()[0] < 28.0 < 32.0 < axes.get_xlim()[1]


def test_bounds_of_genes_come_from_the_resolved_experiment():
    assert gene_bounds(RESOLVED, GeneColumn(name="lens.radii.2")) == pytest.approx((8.0, 20.0))
    assert gene_bounds(RESOLVED, GeneColumn(name="lens.permittivity", dimension="number")) is None
    assert gene_bounds(RESOLVED, GeneColumn(name="lens.radii.9")) is None
    choices = {"antenna": {"lens": {"permittivity": {"choices": [2.53, 2.1, 3.8]}}}}
    assert gene_bounds(choices, GeneColumn(name="lens.permittivity", dimension="number")) == (2.1, 3.8)


@pytest.mark.parametrize("family", CASES)
def test_the_section_is_drawn_with_its_dimensions(family):
    """The numbers are those of the DXF drawing, in mm, and stand inside the figure."""
    design = {one.name: one.default for one in KINDS[family].parameters if one.default is not None}
    outline = KINDS[family].outline(design | CASES[family].design)
    figure = section_figure(outline)
    sections = {name: 1e3 * corners for name, corners in bodies(outline).items()}
    expected = sorted(f"{'⌀ ' if one.kind == 'diameter' else ''}{one.value:.4g} mm" for one in measures(sections))
    (axes,) = figure.axes
    texts = [text for text in axes.texts if text.get_text()]
    assert sorted(text.get_text() for text in texts) == expected
    assert {"⌀ 7.2 mm", "0.4 mm"} <= set(expected)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert all(left < x < right and bottom < y < top for x, y in (text.get_position() for text in texts))


def test_goals_of_a_cut_with_two_sides_are_drawn_on_both():
    """Minima at 40 degrees and -50, behind at 150; side lobes count from the maximum, 1 dB over boresight."""
    theta = list(range(-180, 181, 10))
    e = [8.0 - abs(one) / 4 for one in theta]
    for angle, level in ((-150, -40.0), (-50, -30.0), (40, -30.0), (150, -40.0), (10, 9.0)):
        e[theta.index(angle)] = level
    cut = Cuts(frequency_hz=5.8e9, theta_deg=theta, e_plane_dbi=e, h_plane_dbi=[8.0 - abs(one) / 4 for one in theta])
    goals = build(
        [{"metric": "sidelobe_db", "at_most": -20.0}, {"metric": "front_to_back_db", "at_least": 15.0}],
    )
    for plane, highest in (("e", 9.0), ("h", 8.0)):
        (axes,) = pattern_figure(plane, [cut], [], goals).axes
        lines = [(*map(float, line.get_xdata()), float(line.get_ydata()[0])) for line in axes.lines[1:]]
        level = highest - 20.0
        assert lines == [(40, 90, level), (-40, -90, level), (150, 180, -7), (-150, -180, -7)]
        assert axes.get_xlim() == (-180.0, 180.0)


@pytest.mark.parametrize("sides", [1, 2])
def test_coverage_is_drawn_in_every_plane_of_an_antenna_in_space(sides):
    """2 sec^2(theta) less 12 dB, to 60 degrees; a body of revolution has it in its 45-degree plane."""
    theta = [-180.0, -90.0, 0.0, 90.0, 180.0][4 - 2 * sides :]
    level = [float(abs(one) // -20) for one in theta]
    cut = Cuts(frequency_hz=5.8e9, theta_deg=theta, e_plane_dbi=level, h_plane_dbi=level)
    goals = build([{"metric": "sec2_db", "theta": np.deg2rad(60.0), "at_most": 12.0}])
    for plane in ("e", "h"):
        (axes,) = pattern_figure(plane, [cut], [], goals).axes
        ends = [(float(line.get_xdata()[-1]), float(line.get_ydata()[-1])) for line in axes.lines[1:]]
        expected = [(60.0, 10 * np.log10(8) - 12), (-60.0, 10 * np.log10(8) - 12)] if sides == 2 else []
        assert ends == [pytest.approx(one) for one in expected]


@pytest.mark.parametrize(("polarisation", "label"), [("linear", "45° plane"), ("lhcp", "LHCP, thin RHCP")])
def test_curves_of_circular_polarisation_have_their_hands(polarisation, label):
    theta = [0.0, 90.0, 180.0]
    cut = Cuts(
        frequency_hz=30e9, theta_deg=theta, e_plane_dbi=[9, 0, -9], h_plane_dbi=[9, 0, -9],
        co_dbi=[9, 0, -9], cross_dbi=[-40, -20, -30],
    )  # fmt: skip
    figure = pattern_figure("co", [cut], [], (), polarisation=polarisation)
    assert figure.axes[0].get_ylabel() == f"{label} (dBi)"
    solved = outcome(MadeUpRun(), 0.9)
    e, h = (np.full((len(solved["frequency_hz"]), 3), one + 0j) for one in (3.0, 2.9))
    levels = {f"{name}_plane_dbi": (20 * np.log10(abs(one))).tolist() for name, one in (("e", e), ("h", h))}
    drawn = draw_simulation(
        Outcome.of(solved | levels | {"theta_deg": theta, "e_plane": e, "h_plane": h}), polarisation=polarisation
    )
    names = {text.get_text() for text in drawn.findobj(Text)}
    assert ({"LHCP", "RHCP"} <= names) == (polarisation == "lhcp")
