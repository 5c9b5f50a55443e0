"""`changed` of an experiment and `--set` of its file: the same settings of a search are refused, in the same words."""

import pytest
from test_study_run import TOML

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment, load_experiment

SECONDARY = 'secondary = { metric = "length_mm", aim = "least" }\n'


def loaded(tmp_path, *overrides, before="\n"):
    (tmp_path / "study.toml").write_text(before + TOML)
    return load_experiment(tmp_path / "study.toml", overrides)


WITHOUT_EFFECT = [
    ("crossover.alpha=0.3", {"crossover": {"alpha": 0.3}}),
    ("crossover.swap_probability=0.3", {"crossover": {"swap_probability": 0.3}}),
    ('crossover={kind="blend", swap_probability=0.3}', {"crossover": {"kind": "blend", "swap_probability": 0.3}}),
    ('crossover={kind="uniform", eta=3}', {"crossover": {"kind": "uniform", "eta": 3}}),
    ("mutation.sigma=0.1", {"mutation": {"sigma": 0.1}}),
    ('mutation={kind="gaussian", eta=3}', {"mutation": {"kind": "gaussian", "eta": 3}}),
    ("stop.fitness=-0.5", {"stop": {"fitness": -0.5}}),
    ('chosen="x"', {"chosen": "x"}),
]


@pytest.mark.parametrize(("override", "change"), WITHOUT_EFFECT, ids=[one for one, _ in WITHOUT_EFFECT])
def test_settings_without_effect_are_refused_in_the_same_words(tmp_path, override, change):
    with pytest.raises(ConfigurationError) as of_a_file:
        loaded(tmp_path, f"evolution.{override}")
    with pytest.raises(ConfigurationError) as of_a_change:
        loaded(tmp_path).changed(evolution=change)
    assert str(of_a_file.value) == f"{tmp_path / 'study.toml'}: {of_a_change.value}"


def test_a_stop_that_only_secondary_gave_an_effect_is_refused_without_it(tmp_path):
    given = loaded(tmp_path, "evolution.stop.fitness=-0.5", before=SECONDARY)
    with pytest.raises(ConfigurationError, match=r"evolution\.stop\.fitness = -0\.5 is never reached"):
        given.changed(secondary=None)


@pytest.mark.parametrize("kind", ["simulated_binary", "uniform", "two_point"])
def test_another_kind_comes_without_the_entries_of_the_old_one(tmp_path, kind):
    """From Python they stayed; on the command line they were refused, and could not be removed."""
    table = '{kind="blend", probability=0.8, alpha=0.3}'
    blend = loaded(tmp_path, f"evolution.crossover={table}")
    assert blend.changed(evolution={"crossover": {"probability": 0.7}}).evolution.crossover.alpha == 0.3
    changed = blend.changed(evolution={"crossover": {"kind": kind}}).evolution.crossover
    on_the_command_line = loaded(tmp_path, f"evolution.crossover={table}", f"evolution.crossover.kind={kind}")
    assert changed == on_the_command_line.evolution.crossover
    assert (changed.kind, changed.probability, changed.alpha) == (kind, 0.8, 0.5)


def test_entries_of_a_new_kind_may_come_before_it(tmp_path):
    given = loaded(tmp_path, "evolution.mutation.sigma=0.3", "evolution.mutation.kind=gaussian").evolution.mutation
    assert (given.kind, given.sigma) == ("gaussian", 0.3)


def test_a_mutation_by_default_is_that_of_the_new_algorithm(tmp_path):
    """`changed` kept that of the old one."""
    of_a_file = loaded(tmp_path, "evolution.algorithm=nsga2", "evolution.population=8")
    of_a_change = loaded(tmp_path).changed(evolution={"algorithm": "nsga2", "population": 8})
    assert of_a_change == of_a_file
    assert of_a_change.evolution.mutation.probability == 1 / len(of_a_file.genes)
    assert of_a_change.changed(evolution={"algorithm": "ga"}).evolution.mutation.probability == 0.2
    without_start = of_a_change.changed(evolution={"start": []})
    fewer = without_start.changed(antenna={"lens": {"radii": [0.012, 0.012, {"min": 0.01, "max": 0.02}]}})
    assert fewer.evolution.mutation.probability == 1.0


def test_runs_of_earlier_versions_with_settings_without_effect_can_be_changed(tmp_path):
    table = loaded(tmp_path).resolved()
    table["evolution"]["crossover"]["alpha"] = 0.3
    table["evolution"]["stop"]["fitness"] = -0.5
    old = Experiment.from_resolved(table)
    assert old.changed(name="another", solver={"cell": 0.6e-3}).evolution == old.evolution
    assert old.changed(evolution={"stop": {"fitness": 0.5}}).evolution.crossover.alpha == 0.5


def test_every_setting_of_an_earlier_version_without_effect_is_listed(tmp_path):
    """`resume --set` refuses what is not in the list of the run's own file."""
    listed = []
    (tmp_path / "study.toml").write_text(TOML)
    changes = ["solver.pml_distance=0.01 mm", "evolution.stop.fitness=-0.5"]
    load_experiment(tmp_path / "study.toml", changes, of_a_run=listed)
    assert [one.split(" ")[0] for one in listed] == ["solver.pml_distance", "evolution.stop.fitness"]
