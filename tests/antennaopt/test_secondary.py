"""`secondary`: what a search improves once all goals are met."""

import json
from types import SimpleNamespace

import pytest
from config_files import LENS
from test_constraints import outcome, read
from test_study_run import TOML, serial, start

from antennaopt.cli.validate import describe
from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment, load_experiment
from antennaopt.run.start import resume
from antennaopt.search import ALGORITHMS, EvolutionSettings, Result, new_search
from antennaopt.search.objectives import Ranking, build, shortfalls

GAIN = {"metric": "directivity_dbi", "at_least": 18.6}
SECONDARY = 'secondary = { metric = "length_mm", aim = "least" }\n'
SINGLE = [name for name, one in ALGORITHMS.items() if not one.front]


def fitness(directivity, s11):
    goals = build([GAIN], secondary={"metric": "s11_db", "aim": "least"})
    return Ranking.of(goals).fitness("ok", shortfalls(outcome([directivity] * 2, [s11] * 2), goals))


def test_it_counts_only_once_all_goals_are_met():
    """It is x / (2 |x| + 200) - 1/2 of the metric x: between -1 and 0; above 0 the sum of the shortfalls alone."""
    assert fitness(18.5, -30.0) == fitness(18.5, -10.0) == pytest.approx(0.1)
    assert fitness(18.6, -30.0) == pytest.approx(-30.0 / 260.0 - 0.5)
    assert -1.0 < fitness(18.6, -30.0) < fitness(25.0, -29.9) < fitness(18.6, -1.0) < 0.0


def test_largest_and_least_are_opposite_and_weights_count_before():
    goals = build(
        [GAIN, {"metric": "s11_db", "at_most": -20.0, "weight": 3.0}],
        secondary={"metric": "directivity_dbi", "aim": "largest"},
    )
    order = Ranking.of(goals)

    def ranked(directivity, s11):
        return order.fitness("ok", shortfalls(outcome([directivity] * 2, [s11] * 2), goals))

    assert ranked(20.0, -25.0) < ranked(19.0, -25.0) < 0.0
    assert ranked(18.0, -19.0) == pytest.approx(0.6 + 3.0)


def test_constraints_come_before_it():
    goals = build(
        [GAIN], constraints=[{"metric": "s11_db", "at_most": -20.0}], secondary={"metric": "s11_db", "aim": "least"}
    )
    order = Ranking.of(goals)
    met, missed = (order.fitness("ok", shortfalls(outcome([19.0] * 2, [s11] * 2), goals)) for s11 in (-21.0, -19.0))
    assert met < 0.0 < order.worst < missed


@pytest.mark.parametrize("algorithm", SINGLE)
def test_a_search_goes_on_beyond_its_goals(algorithm):
    """Without the aim the first antenna that meets them ends the search."""
    genes = [SimpleNamespace(name=f"x.{at}", low=0.0, high=1.0, kind="real", choices=()) for at in range(3)]
    settings = EvolutionSettings(algorithm=algorithm, population=16, generations=30)
    search = new_search(settings, genes, 3, order=Ranking((1.0, 1.0), aims=("", "least"), after=True))
    met = []
    while search.stopped() is None:
        told = search.tell([
            Result(individual=one.individual, shortfalls=(max(one.genome[0] - 0.5, 0.0), 100.0 * sum(one.genome)))
            for one in search.ask(16)
        ])  # fmt: skip
        met += [one.fitness for one in told if one.fitness < 0.0]
    assert search.stopped() == "all 30 generations done"
    assert search.best().fitness == min(met) < met[0]


def test_from_a_file_to_a_resumed_run(tmp_path):
    """Two generations, and two more after a resume, find the antenna of four generations, of largest directivity."""
    file = tmp_path / "second.toml"
    easy = TOML.replace("at_least = 20.0", "at_least = 12.0").replace("at_most = -20.0", "at_most = -18.0")
    file.write_text('secondary = { metric = "directivity_dbi", aim = "largest" }\n' + easy)
    whole = start(file, tmp_path / "whole")
    assert (whole.reason, whole.generations) == ("all 4 generations done", 4)
    assert whole.best.fitness < 0.0
    half = start(file, tmp_path / "half", overrides=("evolution.generations=2",))
    more = resume(half.folder, farm=serial, report=False, overrides=("evolution.generations=4",))
    assert (more.best.individual, more.best.fitness) == (whole.best.individual, whole.best.fitness)
    resolved = json.loads((whole.folder / "resolved.json").read_text("utf-8"))
    assert resolved["secondary"]["aim"] == "largest"


def test_a_file_without_it_keeps_its_hash(tmp_path):
    plain = read(tmp_path)
    assert "secondary" not in plain.resolved()
    given = load_experiment(written(tmp_path, SECONDARY, LENS))
    assert given.config_hash != plain.config_hash
    assert "length_mm least, once all goals are met" in "\n".join(describe(given))
    assert given.from_resolved(given.resolved()).goals == given.goals


def written(tmp_path, line, text=TOML):
    path = tmp_path / "second.toml"
    path.write_text(line + text)
    return path


@pytest.mark.parametrize(
    ("line", "overrides", "said"),
    [
        ('secondary = { metric = "length_mm" }', (), r"secondary\.aim is missing; add aim"),
        ('secondary = { metric = "length_mm", at_most = 9 }', (), r"secondary\.at_most.* no level"),
        ('secondary = { metric = "lenght_mm", aim = "least" }', (), r"secondary\.metric.*did you mean"),
        (SECONDARY, ("evolution.stop.fitness=0",), r"evolution\.stop\.fitness = 0 ends the run before secondary"),
        (SECONDARY, ("evolution.algorithm=nsga2", "evolution.population=8"), r"secondary does not go with .*nsga2"),
    ],
)
def test_what_it_does_not_go_with_is_one_line(tmp_path, line, overrides, said):
    with pytest.raises(ConfigurationError, match=said) as refused:
        load_experiment(written(tmp_path, line + "\n"), overrides)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("evolution.stop.fitness=-0.5", r"evolution\.stop\.fitness = -0\.5 is never reached \(must be >= 0"),
        (
            'tolerance={samples=4, of={"lens.radii"={sigma="0.02 mm"}}};evolution.stop.fitness=-0.5',
            r"must be >= 0: .*\); raise it$",
        ),
        (
            "evolution.crossover={alpha=0.3}",
            r'crossover\.alpha.* kind = "simulated_binary" \(only "blend" uses alpha\)',
        ),
        (
            'evolution.crossover={kind="blend", swap_probability=0.3}',
            r'crossover\.swap_probability.* kind = "blend" \(only "uniform" uses swap_probability\)',
        ),
        ("evolution.mutation={sigma=0.1}", r'mutation\.sigma.* kind = "polynomial" \(only "gaussian" uses sigma\)'),
    ],
)
def test_settings_without_effect_are_one_line(tmp_path, override, said):
    with pytest.raises(ConfigurationError, match=said) as refused:
        load_experiment(written(tmp_path, "\n"), override.split(";"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "override",
    [
        'evolution.crossover={kind="blend", alpha=0.3}',
        'evolution.crossover={kind="uniform", swap_probability=0.3}',
        "evolution.stop.fitness=0",
    ],
)
def test_settings_with_an_effect_are_taken_and_resolved(tmp_path, override):
    given = load_experiment(written(tmp_path, "\n"), [override])
    assert given.from_resolved(given.resolved()) == given


def test_resolved_files_of_earlier_runs_may_have_settings_without_effect(tmp_path):
    table = load_experiment(written(tmp_path, "\n"), []).resolved()
    table["evolution"]["stop"]["fitness"] = -0.5
    table["evolution"]["crossover"]["alpha"] = 0.3
    assert Experiment.from_resolved(table).evolution.stop.fitness == -0.5
