"""Circular polarisation of antennas in space: a patch fed off both centre lines, against its own far-field files."""

from __future__ import annotations

import contextlib
import io
import json

import numpy as np
import pytest
from antennas_in_space import board_of, loaded
from patch_files import EDGE, PROBE, changed
from scipy.integrate import simpson
from test_far_field_files import read_cut, read_ffs
from test_feeds_in_space import carried_out
from test_pyramidal_horn_family import HORN

from antennaopt import cli
from antennaopt.errors import ConfigurationError
from antennaopt.families.patch import closed_form
from antennaopt.figures import figure_of
from antennaopt.report.simulation import draw_simulation
from antennaopt.solve.arithmetic import arithmetic
from antennaopt.solve.figures import planned, with_figures
from antennaopt.solve.outcome import Outcome, fault_of
from antennaopt.solve.solvers import evaluator_of, halving_planner_of, planner_of
from antennaopt.store.packing import packed, unpacked

LEFT = "polarisation = 'lhcp'\n" + changed(
    ('length = "16.4 mm"', 'length = "16.6 mm"'),
    ('width = "18 mm"', 'width = "15.7 mm"'),
    ('offset = "4 mm"', 'offset = "2.6 mm"\nacross = "2.6 mm"'),
    ('"5.6 GHz", "5.8 GHz", "6 GHz"', '"5.7 GHz", "5.8 GHz"'),
)
"""The longer side along x: E turns from y to x, left-handed."""

CONES = 0, 20, 45
FIGURES = [f"axial_ratio_db, theta={angle} deg" for angle in CONES]
FIGURES += ["crosspol_db, theta=45 deg", "spillover_efficiency, theta=50 deg", "feed_efficiency, theta=50 deg"]
FIGURES += ["beamwidth_deg, plane=e", "pattern_db, theta=[30 deg, 60 deg]", "flatness_db, theta=60 deg"]


def simulated(text, folder, *options):
    """What `simulate --json` writes, a frequency each."""
    (folder / "a.toml").write_text(text)
    wanted = [one for name in FIGURES for one in ("--figure", name)]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
        assert cli.main(["simulate", str(folder / "a.toml"), *wanted, "--json", str(folder / "a.json"), *options]) == 0
    return json.loads((folder / "a.json").read_text())["results"], out.getvalue()


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """The left-handed patch: results, and of its CST file powers and, a frequency each, theta, phi, E_theta, E_phi."""
    folder = tmp_path_factory.mktemp("left")
    files = [one for kind in ("ffs", "cut", "netcdf") for one in (f"--{kind}", str(folder / f"a.{kind}"))]
    files[-1] = str(folder / "a.nc")
    results, said = simulated(LEFT, folder, *files)
    powers, tables = read_ffs((folder / "a.ffs").read_text("ascii"))
    fields = []
    for table in tables:
        phi, theta = np.deg2rad(table[:-1, :, 0]), np.deg2rad(table[:-1, :, 1])
        fields.append((theta, phi, *(table[:-1, :, at] + 1j * table[:-1, :, at + 1] for at in (2, 4))))
    return results, powers, fields, folder, said


def hands(theta, phi, e_theta, e_phi):
    """Right- and left-handed amplitudes by E.(x -+ jy)* of the vectors themselves, x and y carried to each direction.

    Turned about the axis of the smallest turn that takes z to the direction, x is theta cos(phi) - phi sin(phi).
    """
    x = np.stack([np.cos(phi), -np.sin(phi)])
    y = np.stack([np.sin(phi), np.cos(phi)])
    field = np.stack([e_theta, e_phi])
    return [(field * np.conj(x + way * y)).sum(axis=0) / np.sqrt(2) for way in (-1j, 1j)]


def test_axial_ratio_is_that_of_the_file_s_ellipses_in_all_directions(solved, measured):
    """By E.E of the file's vectors, without circular components; between its directions it may be a little higher."""
    results, _, fields, *_ = solved
    for one, (theta, phi, e_theta, e_phi) in zip(results, fields, strict=True):
        power, square = np.abs(e_theta) ** 2 + np.abs(e_phi) ** 2, np.abs(e_theta**2 + e_phi**2)
        ratio = 10 * np.log10((power + square) / (power - square))
        right, left = hands(theta, phi, e_theta, e_phi)
        for cone in CONES:
            within = theta <= np.deg2rad(cone) + 1e-9
            assert (np.abs(left) > np.abs(right))[within].all()
            off = one[f"axial_ratio_db_{cone}deg"] - ratio[within].max()
            assert off > -2e-3
            measured("axial ratio over that of the file", off, at_most=0.02, frequency=one["frequency_hz"])
    assert results[0]["axial_ratio_db_0deg"] < 3.0 < results[0]["axial_ratio_db_45deg"] + 2.0


def test_gains_and_levels_are_those_of_the_wanted_sense(solved):
    """Directivity by the file's sphere, gains by its powers; what is not left-handed is cross-polarisation."""
    results, powers, fields, *_ = solved
    for one, (radiated, accepted, *_), (theta, phi, e_theta, e_phi) in zip(results, powers, fields, strict=True):
        right, left = hands(theta, phi, e_theta, e_phi)
        both, at = (np.abs(right) ** 2 + np.abs(left) ** 2).mean(axis=0), theta[0]
        directivity = 2 * np.abs(left) ** 2 / simpson(both * np.sin(at), x=at)
        on_axis = 10 * np.log10(directivity[0, 0])
        assert one["directivity_dbi"] == pytest.approx(on_axis, abs=2e-3)
        assert one["gain_dbi"] == pytest.approx(on_axis + 10 * np.log10(radiated / accepted), abs=2e-3)
        assert one["realized_gain_dbi"] == pytest.approx(on_axis + 10 * np.log10(radiated), abs=2e-3)
        planes = [0, 9, 18, 36, 45, 54]  # phi = 0, 45, 90 degrees and the other sides
        front = directivity[planes][:, :181]
        assert one["max_directivity_dbi"] == pytest.approx(10 * np.log10(front.max()), abs=0.01)
        cross = np.abs(right)[planes, :91].max() / np.abs(left[0, 0])
        assert one["crosspol_db"] == pytest.approx(20 * np.log10(cross), abs=0.01)
        within = np.abs(right)[theta <= np.deg2rad(45) + 1e-9].max() / np.abs(left[0, 0])
        assert one["crosspol_db_45deg"] == pytest.approx(20 * np.log10(within), abs=0.05)
        inside = directivity[theta <= np.deg2rad(60) + 1e-9]
        flatness = 10 * np.log10(inside.max() / inside.min())
        assert flatness - 2e-3 < one["flatness_db_60deg"] < flatness + 0.05
        behind = np.abs(left[0, 0]) ** 2 / both[-1]
        assert one["front_to_back_db"] == pytest.approx(10 * np.log10(behind), abs=2e-3)
        level = directivity[[0, 18, 36, 54], 30:61].max() / directivity[0, 0]
        assert one["pattern_db_both_30_60deg"] == pytest.approx(10 * np.log10(level), abs=0.01)
        cut = 10 * np.log10(np.concatenate([directivity[36, :0:-1], directivity[0]]) / directivity[0, 0])
        angles = np.arange(-180, 181)
        half = [np.interp(3.0, -cut[side], np.abs(angles[side])) for side in (slice(180, 260), slice(180, 100, -1))]
        assert one["beamwidth_deg_e"] == pytest.approx(sum(half), abs=0.2)


def test_a_feed_of_circular_polarisation_has_the_reflector_s_efficiency(solved):
    """The aperture adds up the left-handed amplitude over all phi; about the focus that the figure reports."""
    results, _, fields, folder, _ = solved
    focus, _ = simulated(LEFT, folder, "--figure", "phase_centre_mm, theta=50 deg")
    for one, again, (theta, phi, e_theta, e_phi) in zip(results, focus, fields, strict=True):
        k, z = 2 * np.pi * one["frequency_hz"] / 299792458.0, 1e-3 * again["phase_centre_mm_50deg"]
        right, left = (part * np.exp(-1j * k * z * np.cos(theta)) for part in hands(theta, phi, e_theta, e_phi))
        at = theta[0]
        power = (np.abs(left) ** 2 + np.abs(right) ** 2).mean(axis=0)
        summed = simpson((left.mean(axis=0) * np.tan(at / 2))[:51], x=at[:51])
        whole = simpson(power * np.sin(at), x=at)
        exact = 2 * np.abs(summed) ** 2 / (np.tan(np.deg2rad(25)) ** 2 * whole)
        assert one["feed_efficiency_50deg"] == pytest.approx(exact, abs=1e-4)
        inside = simpson((power * np.sin(at))[:51], x=at[:51])
        assert one["spillover_efficiency_50deg"] == pytest.approx(inside / whole, abs=1e-4)


def test_files_have_both_senses(solved):
    """GRASP's cuts, right-handed first (ICOMP 2), from the vectors of the CST file; directivity in place of volts."""
    results, powers, fields, folder, said = solved
    assert "directivities, gains and cuts are of LHCP; E plane is phi = 0" in said
    cuts = read_cut((folder / "a.cut").read_text("ascii"))
    for place, (_, theta, phi, icomp, _, values) in enumerate(cuts):
        at = place // 4
        field = fields[at]
        scale = np.sqrt(2 * np.pi / (376.730313 * powers[at][0]))
        near, far = (round(angle / 5) % 72 for angle in (phi, phi + 180))
        assert icomp == 2 and theta[180] == 0.0
        for column, amplitude in enumerate(hands(*field)):
            expected = scale * np.concatenate([amplitude[far, :0:-1], amplitude[near]])
            np.testing.assert_allclose(values[:, column], expected, atol=2e-4)
        assert 20 * np.log10(abs(values[180, 1])) == pytest.approx(results[at]["directivity_dbi"], abs=2e-3)


def test_the_mirror_image_has_the_other_sense(solved, tmp_path):
    """Length and width exchanged: the diagonal is the mirror. Its planes change places, its figures do not."""
    mirrored = LEFT.replace("'lhcp'", "'rhcp'").replace('"16.6 mm"', '"?"').replace('"15.7 mm"', '"16.6 mm"')
    found, _ = simulated(mirrored.replace('"?"', '"15.7 mm"'), tmp_path)
    for one, other in zip(solved[0], found, strict=True):
        for name in ("gain_dbi", "crosspol_db", "axial_ratio_db_0deg", "axial_ratio_db_45deg", "feed_efficiency_50deg"):
            assert other[name] == pytest.approx(one[name], abs=2e-3)
        assert other["hpbw_h_deg"] == pytest.approx(one["hpbw_e_deg"], abs=0.02)
    wrong, _ = simulated(LEFT.replace("'lhcp'", "'rhcp'"), tmp_path)
    for one, other in zip(solved[0], wrong, strict=True):
        assert other["axial_ratio_db_0deg"] == 120.0 and other["crosspol_db"] > 6.0
        assert other["gain_dbi"] < one["gain_dbi"] - 6.0


def test_plans_of_it_are_of_their_own_arithmetic(tmp_path):
    """Linear plans are as they were; an outcome has its sense, in the cache and in a folder too, and on finer cells."""
    experiment = loaded(LEFT.replace("[solver]", "[solver]\nmax_steps = 60"), tmp_path)
    design, settings = experiment.design(), experiment.solver.settings
    plan = planner_of("patch")(experiment.kind, design, design, settings).to_dict()
    asked = [figure_of({"metric": "axial_ratio_db", "theta": angle}) for angle in (0.0, 0.5)]
    plans = [planned(plan, [], one) for one in ("linear", "lhcp", "rhcp")]
    assert plans[0] == plan and len({arithmetic(one, "cpu").context for one in plans}) == 3
    finer = halving_planner_of("patch", plans[1])(experiment.kind, design, design, settings.with_cell(1e-3))
    assert finer.polarisation == "lhcp"
    (whole,) = evaluator_of("patch")("patch", [design], planned(plan, asked, "lhcp"))
    (found,) = with_figures([whole], [design], asked, experiment.kind)
    stored = Outcome.of(unpacked(packed(whole)))
    assert fault_of(unpacked(packed(whole.changed(status="undecayed"))), solved=True) is None
    assert with_figures([stored], [design], asked, experiment.kind)[0].figures == found.figures
    assert set(found.figures) == {"axial_ratio_db_0deg", asked[1].name}
    assert asked[0].about.label == "axial ratio on the axis"


def test_a_search_has_it_and_writes_it(tmp_path):
    """The columns of a goal, from workers and from the cache; `best.toml` is of the same polarisation."""
    search = "[evolution]\npopulation = 4\ngenerations = 1\nstart = 'balanis'\n[certificate]\nmode = 'off'\n"
    search += "[cluster]\nworkers = 1\n[[objective]]\nmetric = 'axial_ratio_db'\ntheta = '20 deg'\nat_most = 1\n"
    search += "[[objective]]\nmetric = 'pattern_db'\ntheta = ['60 deg', '90 deg']\nat_most = -3\n"
    text = LEFT.replace('"16.6 mm"', "{ min = '16 mm', max = '17.5 mm' }").replace("[solver]", search + "[solver]")
    counts = [], []
    first = carried_out(text, tmp_path / "first", counts[0])
    again = carried_out(text, tmp_path / "again", counts[1])
    assert sum(counts[0]) == 4 and sum(counts[1]) == 0
    columns = [name for name in first.columns if name.startswith(("axial_ratio_db_20deg_", "pattern_db_both_"))]
    assert len(columns) == 4 and first[columns].notna().all(axis=None) and first[columns].equals(again[columns])
    (folder,) = (tmp_path / "first" / "out").glob("*/*/")
    (best,) = (folder / "best").glob("*.toml")
    assert 'polarisation = "lhcp"' in best.read_text()
    assert cli.main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert "LHCP pattern at phi = 0" in page and "E-plane pattern" not in page


def test_names_of_planes_in_plots(solved):
    """There is no E plane: the legend gives the sense and phi."""
    one = {**solved[0][0]}
    outcome = {name: [value] for name, value in one.items()} | {"theta_deg": np.linspace(-180, 180, 181)}
    outcome["status"] = "ok"
    figure = draw_simulation(outcome, polarisation="lhcp")
    texts = [text.get_text() for axes in figure.axes if axes.get_legend() for text in axes.get_legend().get_texts()]
    assert "LHCP, φ = 0°" in texts and "E plane" not in texts


@pytest.mark.parametrize("right", [True, False])
def test_closed_form_is_nearly_square(right):
    """The longer side decides the sense: along y right-handed. Sides differ by a few percent."""
    sides = {"patch.length": 16e-3, "patch.width": 17e-3 if right else 15e-3}
    board = {"substrate.permittivity": 2.2, "substrate.thickness": 1.6e-3, "feed.across": 0.0}
    found = closed_form(board | sides, 5.8e9)
    assert (found["patch.width"] > found["patch.length"]) is right
    assert 0.02 < abs(found["patch.width"] / found["patch.length"] - 1) < 0.1
    assert found["feed.offset"] == found["feed.across"] < 8e-3


@pytest.mark.parametrize("sense", ["rhcp", "lhcp"])
def test_a_search_starts_with_the_sense_that_it_names(sense, tmp_path):
    """Equal ranges of both sides leave it open; it was left-handed."""
    sides = "{ min = '14 mm', max = '19 mm' }"
    text = LEFT.replace('"16.6 mm"', sides).replace('"15.7 mm"', sides).replace("lhcp", sense)
    search = "[evolution]\npopulation = 4\nstart = 'balanis'\n" + AXIAL
    (start,) = loaded(text.replace("[solver]", search + "[solver]"), tmp_path).start
    assert (start["patch.width"] > start["patch.length"]) is (sense == "rhcp")


def test_a_patch_of_a_low_quality_factor_is_still_nearly_square():
    """On 10 mm of permittivity 2.2 at 10 GHz 1 / Q is above 1: it was 3.1 x 6.5 mm."""
    board = {"substrate.permittivity": 2.2, "substrate.thickness": 10e-3, "feed.across": 0.0}
    found = closed_form(board | {"patch.length": 5e-3, "patch.width": 6e-3}, 10e9)
    assert found["patch.width"] / found["patch.length"] == pytest.approx(1.1 / 0.9)


def test_probe_off_both_centre_lines(tmp_path):
    """The whole board is solved, also with `across = 0` of linear polarisation; drawings have the length."""
    board = board_of(LEFT, tmp_path)
    assert (board.port.x, board.port.y) == (2.6e-3, 2.6e-3) and not board.symmetric
    assert ("feed.across", pytest.approx(2.6e-3)) in [(one.name, one.value) for one in board.measures]
    linear = LEFT.replace("polarisation = 'lhcp'\n", "").replace('across = "2.6 mm"', 'across = "0 mm"')
    assert not board_of(linear, tmp_path).symmetric


AXIAL = "[[objective]]\nmetric = 'axial_ratio_db'\ntheta = '20 deg'\nat_most = 3\n"
SYMMETRIC = "symmetric about the plane y = 0 and so linear on the axis"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("polarisation = 'rhcp'\n" + PROBE, f"{SYMMETRIC}; give antenna.feed.across (probe)"),
        ("polarisation = 'rhcp'\n" + EDGE, SYMMETRIC),
        ("polarisation = 'rhcp'\n" + HORN, f'this pyramidal_horn, which is {SYMMETRIC}; write polarisation = "linear"'),
        (LEFT.replace("polarisation = 'lhcp'\n", "") + AXIAL, 'circular polarisation; write polarisation = "rhcp"'),
        (LEFT.replace("'lhcp'", "'left'"), "polarisation"),
        (LEFT.replace('across = "2.6 mm"', 'across = "7.9 mm"'), "feed.across = 7.9 mm puts the probe outside"),
        (LEFT.replace('across = "2.6 mm"', 'across = "-2 mm"'), "feed.across"),
        (LEFT.replace('across = "2.6 mm"', 'across = "0 mm"'), f"{SYMMETRIC}; give antenna.feed.across (probe)"),
        (LEFT + AXIAL.replace("20 deg", "200 deg"), "200 deg"),
        (LEFT + AXIAL.replace("theta = '20 deg'\n", ""), "theta is missing"),
        (EDGE.replace('line_width = "1 mm"', 'line_width = "1 mm"\nacross = "1 mm"'), "across"),
    ],
)  # fmt: skip
def test_refused_in_one_line(text, says, tmp_path):
    with pytest.raises(ConfigurationError) as refused:
        loaded(text, tmp_path)
    assert says in str(refused.value) and "\n" not in str(refused.value)
