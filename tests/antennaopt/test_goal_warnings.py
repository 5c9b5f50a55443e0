"""Goals that hardly make sense are warned of in one line, impossible ones are refused, good ones are neither."""

import math
from pathlib import Path

import pytest
from config_files import LENS, replaced

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_experiment, load_file

GOALS = LENS[LENS.index("[[objective]]") :]
REPOSITORY = Path(__file__).parents[2]


def warned(tmp_path, *goals):
    file = tmp_path / "goals.toml"
    tables = "\n".join(f"[[objective]]\n{goal}" for goal in goals)
    file.write_text(replaced(LENS, GOALS, tables))
    return load_experiment(file).warnings


@pytest.mark.parametrize(
    ("metric", "bound", "says"),
    [
        ("radiation_efficiency", "at_most = 0.9", "asks for a worse antenna"),
        ("radiation_efficiency", "at_least = 0", "is met by every antenna"),
        ("s11_db", "at_least = -10", "asks for a worse antenna; usual is at_most, -10 to -30 dB"),
        ("s11_db", "at_least = 3", "is never met"),
        ("s11_db", "at_most = 15", "is met by every antenna: none has more than 0 dB"),
        ("sidelobe_db", "at_least = -20", "asks for a worse antenna"),
        ("sidelobe_db", "at_most = 20", "is met by every antenna whose main beam is on boresight: none has more"),
        ("sidelobe_db", "at_least = 3", "is hardly met: no antenna whose main beam is on boresight has more than 0"),
        ("crosspol_db", "at_least = -20", "asks for a worse antenna"),
        ("front_to_back_db", "at_most = 20", "asks for a worse antenna"),
        ("front_to_back_db", "at_least = -20", "by every antenna whose main beam is on boresight: none has less"),
        ("hpbw_e_deg", "at_most = -5", "is never met: no antenna has less than 0 deg"),
        ("hpbw_h_deg", "at_most = 0", "is never met"),
        ("hpbw_h_deg", "at_least = -5", "is met by every antenna"),
        ("hpbw_h_deg", "at_least = 400", "is never met"),
        ("gain_dbi", "at_least = 40", "hardly met: the largest antenna of this file fits a sphere of radius 28.28"),
        ("directivity_dbi", "at_least = 25.5", "usual is at most 25.0 dBi at 28.5 GHz"),
    ],
)
def test_a_goal_that_hardly_makes_sense_is_named_with_its_value_and_what_is_usual(tmp_path, metric, bound, says):
    (line,) = warned(tmp_path, f'metric = "{metric}"\n{bound}')
    assert line.startswith(f"objective.0: {metric} {bound}")
    assert says in line
    assert "usual is" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("goal", "unit"),
    [
        ('metric = "flatness_db"\ntheta = "30 deg"', "dB"),
        ('metric = "beam_symmetry_db"', "dB"),
        ('metric = "phase_centre_spread_mm"', "mm"),
        ('metric = "mass_g"\ndensity = "2.7 g/cm3"', "g"),
        ('metric = "beamwidth_deg"\nplane = "e"', "deg"),
    ],
)
def test_no_antenna_is_below_the_floor_of_a_figure(tmp_path, goal, unit):
    (line,) = warned(tmp_path, f"{goal}\nat_most = -1")
    assert line.endswith(f"at_most = -1 {unit} is never met: no antenna has less than 0 {unit}; correct it")
    assert warned(tmp_path, f"{goal}\nat_most = 3") == warned(tmp_path, f"{goal}\nbetween = [0, 3]") == ()


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ('theta = ["0 deg", "30 deg"]\nat_most = -10', "at_most = -10 dB at theta = 0 is never met: levels are over"),
        ('theta = ["0 deg", "30 deg"]\nat_least = 1', "at_least = 1 dB at theta = 0 is never met"),
        ('at_most = [["0 deg", -3], ["90 deg", -20]]', "at_most = -3 dB at theta = 0 is never met"),
        ('theta = ["10 deg", "30 deg"]\nat_most = -10', None),
        ('theta = ["0 deg", "30 deg"]\nat_most = 0', None),
        ('theta = ["0 deg", "30 deg"]\nat_least = -3', None),
        ('theta = ["0 deg", "30 deg"]\nplane = "cross"\nat_most = -10', None),
        ('theta = ["0 deg", "30 deg"]\nabsolute = true\nat_most = -10', None),
        ('at_most = [["0 deg", 0], ["90 deg", -20]]\nat_least = [["0 deg", -1], ["90 deg", -60]]', None),
    ],
)
def test_boresight_itself_breaks_a_limit_over_it(tmp_path, goal, says):
    found = warned(tmp_path, f'metric = "pattern_db"\n{goal}')
    assert len(found) == (says is not None) and all(says in line for line in found)


@pytest.mark.parametrize(
    "goal", ['metric = "isoflux_db"\nheight = "600 km"\nelevation = "5 deg"', 'metric = "sec2_db"\ntheta = "60 deg"']
)
def test_no_antenna_is_above_a_pattern_that_holds_all_power(tmp_path, goal):
    (line,) = warned(tmp_path, f"{goal}\nat_most = -1")
    assert "at_most = -1 dB is never met: no antenna has less than 0 dB; usual is at_most, 1 to 6 dB" in line
    assert warned(tmp_path, f"{goal}\nat_most = 3") == ()


@pytest.mark.parametrize(
    "goal",
    [
        'metric = "radiation_efficiency"\nat_least = 0.99',
        'metric = "s11_db"\nat_most = -20',
        'metric = "hpbw_e_deg"\nat_least = 20',
        'metric = "hpbw_e_deg"\nat_most = 20',
        'metric = "directivity_dbi"\nat_least = 24.9',
        'metric = "directivity_dbi"\nat_most = 12',
        'metric = "front_to_back_db"\nat_least = 25',
    ],
)
def test_a_usual_goal_is_not_warned_of(tmp_path, goal):
    assert warned(tmp_path, goal) == ()


def test_a_length_or_diameter_that_no_design_has_is_named_with_the_nearest(tmp_path):
    """The tube and its back wall have 20.4 mm, the lens 8 to 20 mm of radius; all of it is known before solving."""
    assert warned(tmp_path, 'metric = "length_mm"\nat_most = 28.4', 'metric = "diameter_mm"\nat_least = 40') == ()
    (line,) = warned(tmp_path, 'metric = "length_mm"\nat_most = 28.3')
    assert line.startswith("objective.0: length_mm at_most = 28.3 mm is hardly met: of ")
    assert "none has less than 28.4 mm, of which the feed's tube and back wall are 20.4 mm" in line
    (line,) = warned(tmp_path, 'metric = "diameter_mm"\nat_least = 40.1')
    assert "none has more than 40 mm; change it" in line
    file = tmp_path / "constraint.toml"
    file.write_text(LENS + '[[constraint]]\nmetric = "length_mm"\nat_most = 15\n')
    (line,) = load_experiment(file).warnings
    assert line.startswith("constraint.0: length_mm at_most = 15 mm is hardly met")


def test_choices_may_be_more_than_the_values_that_are_tried_of_a_range(tmp_path):
    """The first gene has seven values, the others three that are tried each."""
    lens = LENS.replace("permittivity = 2.53", "permittivity = { choices = [2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6] }")
    file = tmp_path / "choices.toml"
    file.write_text(lens + '[[constraint]]\nmetric = "length_mm"\nat_most = 15\n')
    experiment = load_experiment(file)
    assert len(experiment.genes[0].choices) == 7
    assert "hardly met" in experiment.warnings[0]


def test_the_sphere_is_that_of_the_largest_antenna_with_its_feed(tmp_path):
    """Radius 20 mm, height 20 mm, feed 20 mm: a sphere of 28.28 mm; N = k a at the lowest frequency of the goal."""
    for frequencies, hz in (("", 28.5e9), ('\nfrequencies = ["31.5 GHz"]', 31.5e9)):
        modes = 2 * math.pi * hz / 299792458.0 * math.hypot(0.02, 0.02)
        limit = 10 * math.log10(modes**2 + 2 * modes)
        goal = f'metric = "directivity_dbi"\nat_least = {{}}{frequencies}'
        assert warned(tmp_path, goal.format(limit - 0.01)) == ()
        (line,) = warned(tmp_path, goal.format(limit + 0.01))
        assert f"{limit:.1f} dBi at {hz / 1e9:g} GHz" in line


def test_goals_that_contradict_each_other_are_refused(tmp_path):
    least, most = 'metric = "hpbw_e_deg"\nat_least = 30', 'metric = "hpbw_e_deg"\nat_most = 20'
    says = "objective.0 and objective.1: hpbw_e_deg at_least = 30 and at_most = 20 contradict each other at {} GHz"
    for goals in ((least, most), (most, least)):
        with pytest.raises(ConfigurationError, match=says.format(28.5)):
            warned(tmp_path, *goals)
    assert warned(tmp_path, least, most.replace("= 20", "= 40")) == ()
    assert warned(tmp_path, least, most.replace("hpbw_e", "hpbw_h")) == ()
    apart = least + '\nfrequencies = ["28.5 GHz"]', most + '\nfrequencies = ["30 GHz", "31.5 GHz"]'
    assert warned(tmp_path, *apart) == ()
    with pytest.raises(ConfigurationError, match=says.format(30)):
        warned(tmp_path, least + '\nfrequencies = ["30 GHz"]', most)


@pytest.mark.parametrize("metric", ["radiation_efficiency", 'feed_efficiency"\ntheta = "60 deg'])
def test_an_efficiency_above_one_is_refused(tmp_path, metric):
    with pytest.raises(ConfigurationError, match=r"objective\.0: .*at_least = 95 is never met.*must be <= 1"):
        warned(tmp_path, f'metric = "{metric}"\nat_least = 95')


def test_an_axial_ratio_needs_circular_polarisation(tmp_path):
    goal = 'metric = "axial_ratio_db"\ntheta = "20 deg"\nat_most = 1'
    (line,) = warned(tmp_path, goal)
    assert line.startswith("objective.0: axial_ratio_db_20deg is that of the antenna fed in circular polarisation")
    file = tmp_path / "circular.toml"
    file.write_text('polarisation = "lhcp"\n' + replaced(LENS, GOALS, f"[[objective]]\n{goal}"))
    assert load_experiment(file).warnings == ()


def test_an_objective_that_stands_twice(tmp_path):
    """A weighted sum counted it twice and a front was one antenna, without a word."""
    goal = 'metric = "s11_db"\nat_most = -12'
    again = 'metric = "s11_db"\nat_most = -12\nweight = 2\nname = "match"'
    (line,) = warned(tmp_path, goal, again)
    assert line.startswith("objective.1 is objective.0 again: it counts twice; remove it")
    assert warned(tmp_path, goal, 'metric = "s11_db"\nat_most = -13') == ()
    text = replaced(LENS, GOALS, f"[[objective]]\n{goal}\n[[objective]]\n{goal}")
    (tmp_path / "front.toml").write_text(text)
    changes = ["evolution.algorithm=nsga2", "evolution.population=8"]
    (line,) = load_experiment(tmp_path / "front.toml", changes).warnings
    assert line.startswith("objective.1 is objective.0 again: a front has nothing to weigh")


def test_validate_warns_and_goes_on(call, tmp_path):
    (tmp_path / "goals.toml").write_text(replaced(LENS, 'metric = "s11_db"\nat_most', 'metric = "s11_db"\nat_least'))
    code, out, err = call("validate", "goals.toml")
    assert code == 0
    assert "warning: objective.1: s11_db at_least = -15 dB asks for a worse antenna" in err
    assert "ready for    antennaopt run" in out


@pytest.mark.parametrize("file", sorted((REPOSITORY / "experiments").rglob("*.toml")), ids=lambda file: file.stem)
def test_the_experiments_of_the_project_have_sound_goals(file):
    assert [line for line in load_file(file).warnings if line.startswith(("objective", "constraint"))] == []
