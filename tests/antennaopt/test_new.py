"""`antennaopt new`: each file that it writes is taken as it is, and its first design is near the gain."""

from __future__ import annotations

import re
import tomllib

import pytest

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import parse_table
from antennaopt.experiment.beginning import new_experiment
from antennaopt.experiment.beginning_in_space import FILES
from antennaopt.families import RULES, families, stack
from antennaopt.families.parameters import cutoff_frequency
from antennaopt.run.planning import plan_for
from antennaopt.solve.certificate import DECAY_DB
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan
from antennaopt.solve.solvers import evaluator_of

NOT_SEARCHED = {"open_waveguide", "outline"}


def begun(family, frequency, gain, **solver):
    data = tomllib.loads(new_experiment(family, frequency, gain))
    return parse_table({**data, "solver": {**data["solver"], **solver}})


@pytest.mark.parametrize("family", RULES)
@pytest.mark.parametrize("end", ["lowest", "highest"])
@pytest.mark.parametrize("frequency", ["1.42 GHz", "0.3 THz"])
def test_every_file_is_valid_over_the_whole_range_of_gains(family, end, frequency):
    experiment = begun(family, frequency, getattr(RULES[family], end))
    assert experiment.family == family and experiment.genes and experiment.goals
    assert {gene.name for gene in experiment.genes} == experiment.start[0].keys()
    assert experiment.evolution.chosen  # by the kinds of its genes
    planted, (lower, upper) = experiment.design(experiment.start[0]), experiment.bounds()
    assert experiment.kind.refusal(stack([planted, upper])) == [None, None]
    plan(experiment.kind, lower, upper, experiment.solver.settings)
    middle = experiment.solver.frequencies[1]
    assert middle > 1.2 * cutoff_frequency(planted["feed.inner_radius"], 1, "TE")
    other = [line for line in experiment.warnings if "TM01" not in line]
    assert other == [] and (experiment.warnings == () or family == "dual_mode_horn")


@pytest.mark.parametrize("family", RULES)
def test_the_first_design_is_solved_and_near_its_gain(family):
    """Cells of 1/10 wavelength change the gain by some 0.3 dB; the closed forms are within 3 dB at about 14 dBi."""
    gain = min(max(14.0, RULES[family].lowest), RULES[family].highest)
    experiment = begun(family, "30 GHz", gain, frequencies=["30 GHz"], cells_per_wavelength=10)
    design = experiment.design(experiment.start[0])
    grid = plan(experiment.kind, design, design, experiment.solver.settings).to_dict()
    (outcome,) = evaluate(family, [design], grid)
    assert outcome.ok, outcome.error
    assert outcome.metrics["gain_dbi"][0] == pytest.approx(gain, abs=3.0)


@pytest.mark.parametrize("family", FILES)
@pytest.mark.parametrize("end", ["lowest", "highest"])
@pytest.mark.parametrize("frequency", ["0.9 GHz", "10 GHz", "0.1 THz"])
def test_files_in_space_are_valid_and_can_be_trusted(family, end, frequency):
    """Any antenna of the ranges can be built, and searches stop where the certificate lets them."""
    experiment = begun(family, frequency, getattr(FILES[family], end))
    assert -plan_for(experiment)["decay_db"] <= DECAY_DB
    assert experiment.kind.refusal(stack([*experiment.bounds()])) == [None, None]
    assert experiment.warnings == ()
    planted = {gene: experiment.start[0][gene.name] for gene in experiment.genes if gene.name in experiment.start[0]}
    assert planted and all(gene.low < value < gene.high for gene, value in planted.items() if gene.kind == "real")


@pytest.mark.parametrize(("family", "gain"), [("strip_dipole", 8.0), ("pyramidal_horn", 12.0)])
def test_first_designs_in_space_are_near_their_gain(family, gain):
    """With what the closed form leaves out in the middle of its range. Small horns have more than 51 % efficiency."""
    experiment = begun(family, "10 GHz", gain, frequencies=["10 GHz"])
    middle = {gene.name: (gene.low + gene.high) / 2 for gene in experiment.genes}
    solve = evaluator_of(family)
    (outcome,) = solve(family, [experiment.design(middle | experiment.start[0])], plan_for(experiment))
    assert outcome.ok, outcome.error
    assert outcome.metrics["gain_dbi"][0] == pytest.approx(gain, abs=1.0)


@pytest.mark.parametrize("family", ["patch", "pixel_patch"])
@pytest.mark.parametrize("frequency", ["0.9 GHz", "10 GHz", "0.1 THz"])
def test_the_pin_of_patches_has_its_radius_and_is_below_the_smallest(family, frequency):
    """S11 does not hang on the cell then."""
    experiment = begun(family, frequency, 7.0)
    lower, upper = experiment.bounds()
    assert 0 < lower["feed.radius"] <= 0.65e-3
    assert experiment.kind.refusal(stack([{**lower, "feed.offset": upper["feed.offset"]}])) == [None]


def test_file_to_stdout_and_to_disk(call, tmp_path):
    arguments = ("new", "conical_horn", "--frequency", "10 GHz", "--gain", "20")
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    assert call(*arguments, "--out", "horn.toml") == (0, "", "") and (tmp_path / "horn.toml").read_text() == out
    assert call(*arguments[:-1], "20 dBi") == (0, out, "")
    code, shown, err = call("validate", "horn.toml")
    assert code == 0 and "ready for    antennaopt run" in shown and "warning" not in err
    for entry in ("inner_radius", "length", "aperture_radius"):
        assert re.search(rf"^{entry} = .*# ", out, re.MULTILINE)
    assert "1.24 times the cutoff of TE11" in out and "Optimum horn: G = 5.4544 d^2" in out
    assert max(map(len, out.splitlines())) <= 200


@pytest.mark.slow
def test_runs_as_it_is(call, tmp_path):
    call("new", "conical_horn", "--frequency", "10 GHz", "--gain", "10", "--out", "horn.toml")
    small = ["evolution.population=4", "evolution.generations=1", "solver.cells_per_wavelength=10", "certificate=off"]
    changes = [word for one in small for word in ("--set", one)]
    code, _, err = call("run", "horn.toml", "--no-cache", "-q", *changes)
    assert code == 0, err
    assert (tmp_path / "results" / "horn").is_dir()


@pytest.mark.parametrize(
    ("family", "frequency", "gain", "says"),
    [
        ("conical_hron", "10 GHz", "20", "conical_hron is not a known family; did you mean conical_horn?"),
        ("open_waveguide", "10 GHz", "8", "open_waveguide is the feed alone, so there is nothing to search"),
        ("outline", "10 GHz", "8", "outline is drawn by points"),
        (
            "dielectric_rod",
            "10 GHz",
            "25",
            "--gain 25 dBi is out of reach of a dielectric_rod, whose rule holds from 11",
        ),
        ("conical_horn", "10 GHz", "60", "--gain 60 dBi is out of reach of a conical_horn"),
        ("conical_horn", "10", "20", '--frequency "10" has no unit; write for example "10 GHz"'),
        ("conical_horn", "3 m", "20", '--frequency "3 m" is a length'),
        ("conical_horn", "10 GHz", "nan", "--gain nan dBi is out of reach"),
        ("conical_horn", "10 GHz", "much", "'much' is not a gain in dBi, for example 20 or '20 dBi'"),
        ("conical_horn", "10 GHz", "20 dB", "'20 dB' is not a gain in dBi"),
    ],
)
def test_refused_in_one_line(call, family, frequency, gain, says):
    code, out, err = call("new", family, "--frequency", frequency, "--gain", gain)
    assert (code, out) == (2, "") and says in err and len(err.splitlines()) == 1


def test_help_names_every_family(call):
    every = RULES | FILES
    code, out, _ = call("new", "--help")
    assert code == 0 and all(family in out for family in every)
    for line in out.splitlines():
        found = re.search(r"([\d.]+) to ([\d.]+) dBi", line)
        for family in (one for one in every if found and re.search(rf"\b{one}\b", line)):
            assert found is not None and (every[family].lowest, every[family].highest) == (
                float(found[1]),
                float(found[2]),
            )
    assert set(every) == set(families()) - NOT_SEARCHED


def test_a_family_without_a_rule_is_refused_in_one_line(monkeypatch):
    monkeypatch.delitem(RULES, "spline_horn")
    with pytest.raises(ConfigurationError, match="`new` writes no file of a spline_horn; write it by hand"):
        new_experiment("spline_horn", "10 GHz", 16.0)
