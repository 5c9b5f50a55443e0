"""Figures with options: names, values from stored cuts against published ones, bits, and what is refused."""

import numpy as np
import pytest
from config_files import LENS, replaced
from family_cases import DESIGNS, KINDS

from antennaopt.cli.simulate import _asked
from antennaopt.errors import ConfigurationError
from antennaopt.experiment import figure_asked, figure_written, load_experiment
from antennaopt.figures import KINDS as FIGURES
from antennaopt.figures import RESERVED, Figure
from antennaopt.metrics import METRICS
from antennaopt.search.objectives import build, standings
from antennaopt.solve.figures import with_figures
from antennaopt.solve.outcome import KEYS, Outcome

GOALS = LENS[LENS.index("[[objective]]") :]
THETA = np.arange(181.0)
HORN, DESIGN = KINDS["conical_horn"], DESIGNS["conical_horn"]

ASKED = {
    "crosspol_db_20deg": {"metric": "crosspol_db", "theta": "20 deg"},
    "axial_ratio_db_22p5deg": {"metric": "axial_ratio_db", "theta": "22.5 deg"},
    "pattern_db_both_20_90deg": {"metric": "pattern_db", "theta": ["20 deg", "90 deg"]},
    "pattern_db_co_0_30deg_lowest": {
        "metric": "pattern_db", "plane": "co", "theta": ["0 deg", "30 deg"], "at_least": -3
    },
    "pattern_db_e_20_90deg_mask": {
        "metric": "pattern_db", "plane": "e", "at_most": [["20 deg", -10], ["90 deg", -20]]
    },
    "flatness_db_10deg": {"metric": "flatness_db", "theta": "10 deg"},
    "isoflux_db_600km_5deg": {"metric": "isoflux_db", "height": "600 km", "elevation": "5 deg"},
    "sec2_db_50deg": {"metric": "sec2_db", "theta": "50 deg"},
    "phase_centre_mm": {"metric": "phase_centre_mm"},
    "phase_centre_spread_mm_40deg": {"metric": "phase_centre_spread_mm", "theta": "40 deg"},
    **{
        f"{part}_efficiency_60deg": {"metric": f"{part}_efficiency", "theta": "60 deg"}
        for part in ("spillover", "bor1", "polarisation", "illumination", "phase", "feed")
    },
    "edge_taper_db_60deg": {"metric": "edge_taper_db", "theta": "60 deg"},
    "beamwidth_deg_e_10db": {"metric": "beamwidth_deg", "plane": "e", "level_db": 10.0},
    "beam_symmetry_db": {"metric": "beam_symmetry_db"},
    "aperture_efficiency": {"metric": "aperture_efficiency"},
    "length_mm": {"metric": "length_mm"},
    "diameter_mm": {"metric": "diameter_mm"},
    "volume_cm3": {"metric": "volume_cm3"},
    "mass_g": {"metric": "mass_g", "density": "2.7 g/cm3"},
    "rim": {"metric": "s11_db", "name": "rim"},
}  # fmt: skip


def outcome(e_power, h_power=None, frequencies=(30e9,)):
    """Of real amplitudes whose squares are directivities, without losses."""
    theta = np.radians(THETA)
    e = np.sqrt(np.broadcast_to(e_power(theta), (len(frequencies), 181)))
    h = np.sqrt(np.broadcast_to((h_power or e_power)(theta), e.shape))
    metrics = {key: [one.typical] * len(frequencies) for key, one in METRICS.items()}
    return Outcome(
        status="ok",
        frequency_hz=list(frequencies),
        metrics=metrics | {"radiation_efficiency": [1.0] * len(frequencies)},
        theta_deg=THETA,
        e_plane=e.astype(complex),
        h_plane=h.astype(complex),
    )


def cosine(n):
    """Power pattern cos^n over the half space in front, with its directivity."""
    return lambda theta: 2 * (n + 1) * np.where(theta < np.pi / 2, np.cos(theta), 0.0) ** n


def figured(one, *asked):
    figures = [figure_asked(table) for table in asked]
    return with_figures([one], [DESIGN], figures, HORN)[0].figures


@pytest.mark.parametrize("name", ASKED)
def test_each_figure_has_a_name_of_metric_plane_and_angles_and_survives_the_manifest(name):
    figure = figure_asked(ASKED[name])
    assert figure.name == name
    assert Figure.of(figure.to_dict()) == figure
    assert figure.about.key == name


def test_every_kind_of_figure_is_asked_for_here():
    assert {table["metric"] for table in ASKED.values()} | METRICS.keys() >= FIGURES.keys()


def test_names_of_other_data_are_reserved():
    assert KEYS - METRICS.keys() <= RESERVED


def test_values_do_not_depend_on_the_batch_nor_on_the_precision_of_the_cuts():
    """The same bits alone and among others, from a worker (complex64) and from the solver (complex128)."""
    bands = 28.5e9, 30e9
    ones = [outcome(cosine(n), cosine(n + 0.5), bands) for n in (4, 9, 6)]
    figures = [figure_asked(table) for table in ASKED.values()]
    alone = [with_figures([one], [DESIGN], figures, HORN)[0].figures for one in ones]
    together = with_figures(ones, [DESIGN] * 3, figures, HORN)
    assert [one.figures for one in together] == alone
    stored = ones[0].changed(**{name: getattr(ones[0], name).astype(np.complex64) for name in ("e_plane", "h_plane")})
    assert with_figures([stored], [DESIGN], figures, HORN)[0].figures == alone[0]
    assert all(len(values) == 2 and None not in values for values in alone[0].values())


@pytest.mark.parametrize(
    ("n", "half_angle", "best", "taper"),
    [(2, 66.0, 0.829, -7.8), (4, 53.3, 0.820, -8.9), (6, 46.0, 0.817, -9.5), (8, 41.0, 0.816, -9.8)],
)
def test_feeds_of_cos_n_have_the_textbook_efficiencies(n, half_angle, best, taper):
    """Best efficiency of a paraboloid lit by cos^n, and its edge taper. Measured: within 0.0004 and 0.05 dB."""
    angle = f"{half_angle} deg"
    found = figured(
        outcome(cosine(n)),
        {"metric": "feed_efficiency", "theta": angle, "name": "feed"},
        {"metric": "polarisation_efficiency", "theta": angle, "name": "pure"},
        {"metric": "phase_efficiency", "theta": angle, "name": "even"},
        {"metric": "edge_taper_db", "theta": angle, "name": "taper"},
    )
    assert found["feed"][0] == pytest.approx(best, abs=6e-4)
    assert found["pure"][0] == pytest.approx(1.0, abs=1e-9) and found["even"][0] == pytest.approx(1.0, abs=1e-9)
    assert found["taper"][0] == pytest.approx(taper, abs=0.06)


@pytest.mark.parametrize(
    ("height", "elevation", "edge_deg", "over_nadir", "at_edge"),
    [
        (600, 5, 65.6, 11.8, 11.93),
        (500, 5, 67.5, 12.4, 11.99),
        (800, 10, 61.0, 9.4, 11.01),
        (1200, 10, 56.0, 8.3, 11.17),
    ],
)
def test_the_isoflux_goal_is_that_of_the_table(height, elevation, edge_deg, over_nadir, at_edge):
    """The line that plots draw: edge angle, edge over nadir and ideal edge gain, to the table's digits."""
    (goal,) = build([
        {"metric": "isoflux_db", "height": height * 1e3, "elevation": np.radians(elevation), "at_most": 0.0}
    ])  # fmt: skip
    (line,) = goal.lines
    assert line.theta_deg[-1] == pytest.approx(edge_deg, abs=0.05)
    assert line.level[-1] - line.level[0] == pytest.approx(over_nadir, abs=0.05)
    assert line.level[-1] == pytest.approx(at_edge, abs=0.006)


def test_a_single_level_is_a_level_and_a_mask_is_an_excess():
    """cos^2 is -3.01 dB at 45 degrees and -6.02 dB at 60."""
    one = outcome(cosine(2))
    level = {"metric": "pattern_db", "theta": ["45 deg", "60 deg"]}
    found = figured(
        one,
        level | {"at_most": -1.0, "name": "highest"},
        level | {"at_least": -1.0, "name": "lowest"},
        level | {"between": [-7.0, -2.0], "name": "mask"},
        {"metric": "pattern_db", "at_most": [["45 deg", -4.0], ["60 deg", -6.0]], "name": "sloped"},
        level | {"absolute": True, "name": "dbi"},
    )
    assert found["highest"][0] == pytest.approx(-3.0103, abs=1e-3)
    assert found["lowest"][0] == pytest.approx(-6.0206, abs=1e-3)
    assert found["mask"][0] == pytest.approx(-6.0206 + 7.0 - 2 * (7.0 - 6.0206), abs=1e-3)
    assert found["sloped"][0] == pytest.approx(-3.0103 + 4.0, abs=1e-3)
    assert found["dbi"][0] == pytest.approx(10 * np.log10(6.0) - 3.0103, abs=1e-3)


def test_goals_read_figures_with_every_way_to_write_bounds():
    one = outcome(cosine(2))
    tables = [
        {"metric": "beamwidth_deg", "plane": "e", "between": (80.0, 100.0)},
        {"metric": "beamwidth_deg", "plane": "e", "target": 100.0, "tolerance": 5.0},
        {"metric": "length_mm", "at_most": 20.0},
    ]
    goals = build(tables)
    assert [goal.name for goal in goals] == ["beamwidth_deg_e", "beamwidth_deg_e", "length_mm"]
    (solved,) = with_figures([one], [DESIGN], [goal.figure for goal in goals], HORN)
    width, narrow, length = standings(solved, goals)
    assert width.met and width.value == pytest.approx(90.1, abs=0.3)
    assert not narrow.met and narrow.shortfall_db == pytest.approx(10 * np.log10(95.0 / width.value))
    assert length.value == pytest.approx(1e3 * (DESIGN["horn.length"] + DESIGN["feed.length"] + 0.4e-3))


def goal_file(tmp_path, goal):
    file = tmp_path / "goals.toml"
    file.write_text(replaced(LENS, GOALS, goal if goal.startswith("[[") else f"[[objective]]\n{goal}"))
    return file


NAMED = '[[objective]]\nmetric = "{}"\nname = "a"\nat_most = -10\n'
TWO = NAMED.format("crosspol_db") + NAMED.format("s11_db")
MASK = 'metric = "pattern_db"\n'
REFUSED = {
    'metric = "crosspol_db"\ntheta = "200 deg"\nat_most = -30': (
        'objective.0.theta = "200 deg" is out of bounds (must be >= 0 and <= 180 deg)'
    ),
    'metric = "crosspol_db"\ntheta = 20\nat_most = -30': 'objective.0.theta = 20 has no unit',
    'metric = "crosspol_db"\ntheta = "20 mm"\nat_most = -30': "is a length, not an angle",
    'metric = "crosspol_db"\nplane = "e"\nat_most = -30': "objective.0.plane = \"e\" does not go with metric",
    'metric = "flatness_db"\nat_most = 1': "objective.0.theta is missing: metric = \"flatness_db\" needs it; add",
    'metric = "beamwidth_deg"\nplane = "x"\nat_most = 1': 'objective.0.plane = "x" is not one of e, h, co',
    MASK + 'plane = "d"\ntheta = ["20 deg", "90 deg"]\nat_most = 1': "is not one of e, h, both, co, cross",
    MASK + 'at_most = -20': "objective.0.theta is missing: metric = \"pattern_db\" needs a range",
    MASK + 'theta = ["90 deg", "20 deg"]\nat_most = -20': "theta = 90 to 20 deg (must rise",
    MASK + 'at_most = [["20 deg", -20], ["90 deg", -30]]\nat_least = [["20 deg", -40], ["90 deg", -10]]': (
        "at_least = -10 dB lies above at_most = -30 dB at theta = 90 deg"
    ),
    MASK + 'at_most = [["20 deg"], ["90 deg", -30]]': "objective.0.at_most.0 = [\"20 deg\"] is no corner",
    'metric = "crosspol_db"\ntheta = "20 deg"\nat_most = [["0 deg", 1], ["9 deg", 1]]': "which only pattern_db takes",
    'metric = "hpbw_e_deg"\nbetween = [30, 20]': "objective.0.between = [30, 20] holds no value",
    'metric = "hpbw_e_deg"\nbetween = [30]': "objective.0.between = [30] is not two numbers; write for example",
    MASK + 'at_most = [["20 deg", -10], ["10 deg", -20]]': "objective.0 cannot be computed: theta = 20 to 10 deg",
    'metric = "hpbw_e_deg"\ntarget = 30': "objective.0.tolerance is missing: target needs it",
    'metric = "hpbw_e_deg"\nat_least = 1\ntolerance = 30': "objective.0.tolerance = 30 goes with target",
    'metric = "hpbw_e_deg"\nat_least = 1\nbetween = [1, 2]': "has both at_least and between",
    'metric = "isoflux_db"\nheight = "600 km"\nelevation = "90 deg"\nat_most = 1': "elevation = 90 deg",
    'metric = "isoflux_db"\nelevation = "5 deg"\nat_most = 1': "objective.0.height is missing",
    'metric = "mass_g"\nat_most = 1': "objective.0.density is missing",
    'metric = "mass_g"\ndensity = 2.7\nat_most = 1': 'objective.0.density = 2.7 has no unit; write it as text with one',
    'metric = "mass_g"\ndensity = { metal = "2.7 g/cm3" }\nat_most = 1': "needs both",
    'metric = "s11_db"\nname = "no good"\nat_most = 1': 'objective.0.name = "no good" must be 1 to 60 letters',
    'metric = "s11_db"\nname = "gain_dbi"\nat_most = 1': 'objective.0.name = "gain_dbi" is the name of another column',
    'metric = "s11_db"\nname = "worker"\nat_most = 1': "is the name of another column",
    TWO: "objective.1: its columns a are those of objective.0, which is another figure; give one of them a name",
}  # fmt: skip


@pytest.mark.parametrize("goal", REFUSED)
def test_one_line_with_the_entry_and_what_would_do(tmp_path, goal):
    with pytest.raises(ConfigurationError) as refused:
        load_experiment(goal_file(tmp_path, goal))
    assert REFUSED[goal] in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_same_figure_may_stand_in_two_goals(tmp_path):
    goal = '[[objective]]\nmetric = "crosspol_db"\ntheta = "20 deg"\nat_most = {}\nfrequencies = ["{} GHz"]\n'
    experiment = load_experiment(goal_file(tmp_path, goal.format(-30, 30) + goal.format(-20, 28.5)))
    assert [one.name for one in experiment.figures] == ["crosspol_db_20deg"]
    assert type(experiment).from_resolved(experiment.resolved()) == experiment


def test_circular_polarisation_makes_the_co_polar_pattern_the_default(tmp_path):
    goal = 'metric = "pattern_db"\ntheta = ["20 deg", "90 deg"]\nat_most = -20'
    file = goal_file(tmp_path, goal)
    linear = load_experiment(file)
    file.write_text('polarisation = "rhcp"\n' + file.read_text())
    circular = load_experiment(file)
    assert [one.figures[0].name for one in (linear, circular)] == ["pattern_db_both_20_90deg", "pattern_db_co_20_90deg"]
    assert linear.config_hash != circular.config_hash

    text = 'pattern_db, theta=["20 deg", "90 deg"]'
    assert figure_written(text, "rhcp") == circular.figures[0]
    for one, name in ((linear, "pattern_db_both_20_90deg"), (circular, "pattern_db_co_20_90deg")):
        asked = _asked((text, 'pattern_db, theta=["20 deg", "90 deg"], plane=cross'), one.polarisation)
        assert [each.name for each in asked] == [name, "pattern_db_cross_20_90deg"]


def test_figures_with_a_band_take_its_frequencies():
    table = {"metric": "phase_centre_spread_mm", "frequencies": ["28 GHz", "30 GHz"]}
    assert figure_asked(table).settings["frequencies"] == (28e9, 30e9)
    with pytest.raises(ConfigurationError, match="'crosspol_db' is no table"):
        figure_asked("crosspol_db")


def test_the_other_spelling_of_a_metric_has_the_same_columns(tmp_path):
    (goal,) = load_experiment(goal_file(tmp_path, 'metric = "realised_gain_dbi"\nat_least = 10')).goals
    (other,) = load_experiment(goal_file(tmp_path, 'metric = "realized_gain_dbi"\nat_least = 10')).goals
    assert goal == other and goal.figure is None


def test_a_figure_as_text():
    assert figure_written('pattern_db, theta=["20 deg", "90 deg"], plane=co').name == "pattern_db_co_20_90deg"
    assert figure_written("pattern_db, theta=[20 deg, 90 deg], plane=co").name == "pattern_db_co_20_90deg"
    assert figure_written("crosspol_db, theta=20 deg").name == "crosspol_db_20deg"
    assert figure_written("gain_dbi") is None
    for text, says in (
        ("crosspol_db, theta=20 deg, weight=3", "weight = 3 has no effect on crosspol_db, only on a goal of a file"),
        ("crosspol_db, theta=20 deg, at_most=-20", "at_most = -20 has no effect on crosspol_db"),
        ('gain_dbi, frequencies=["30 GHz"]', "has no effect on gain_dbi"),
        ("crosspol", "did you mean 'crosspol_db'"),
        ("crosspol_db, 20 deg", "not of the form key=value"),
    ):
        with pytest.raises(ConfigurationError, match=says):
            figure_written(text)
