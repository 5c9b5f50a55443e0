"""The table [tolerance]: what it may hold, what is refused in one line, room on the lattice, and what is drawn."""
# ruff: noqa: E501 - a case reads best on one line

import tomllib

import numpy as np
import pytest
from config_files import LENS

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment, load_experiment, parse_table
from antennaopt.experiment.fields import EntryError, Range
from antennaopt.experiment.tolerance import _refuse_kind
from antennaopt.families import FAMILIES
from antennaopt.run.planning import plan_for
from antennaopt.search.perturbations import IN_A_SEARCH, deviations, impossible, perturbed

RADII = '"lens.radii" = { sigma = "0.02 mm" }'

REFUSED = {
    "unknown": (
        '"lens.radi" = { sigma = "0.02 mm" }',
        "tolerance.of.lens.radi is not a parameter of this antenna; did you mean 'lens.radii'?",
    ),
    "a table": ('"lens" = { sigma = "1 um" }', "tolerance.of.lens is not a parameter of this antenna"),
    "entry that is not there": ('"lens.radii.9" = { sigma = "1 um" }', "tolerance.of.lens.radii.9 is not a parameter"),
    "wider than the range": (
        '"lens.radii" = { sigma = "5 mm" }',
        "tolerance.of.lens.radii.sigma = 5 mm (normal) makes 30 mm from end to end, more than the range of antenna.lens.radii.0 (8 mm to 20 mm); lower sigma or widen the range",
    ),
    "uniform wider than the range": (
        '"lens.radii.1" = { sigma = "3.5 mm", kind = "uniform" }',
        "makes 12.1244 mm from end to end",
    ),
    "negative": (
        '"lens.radii" = { sigma = "-0.02 mm" }',
        'tolerance.of.lens.radii.sigma = "-0.02 mm" is out of bounds (must be > 0',
    ),
    "no unit": ('"lens.radii" = { sigma = 0.02 }', "tolerance.of.lens.radii.sigma = 0.02 has no unit"),
    "wrong unit": (
        '"lens.radii" = { sigma = "2 GHz" }',
        'tolerance.of.lens.radii.sigma = "2 GHz" is a frequency, not a length',
    ),
    "unit of a number": ('"lens.permittivity" = { sigma = "1 um" }', 'sigma = "1 um" is not a number'),
    "shared": (
        '"feed.length" = { sigma = "1 mm" }',
        "tolerance.of.feed.length is one length for all antennas of a run and has no tolerance; remove it",
    ),
    "twice": (
        f'{RADII}\n"lens.radii.2" = {{ sigma = "1 um" }}',
        "tolerance.of.lens.radii.2 and 'lens.radii' are both about antenna.lens.radii.2",
    ),
    "unknown kind": (
        '"lens.radii" = { sigma = "1 um", kind = "gauss" }',
        'tolerance.of.lens.radii.kind = "gauss" is not one of normal, uniform',
    ),
    "no sigma": ('"lens.radii" = { kind = "normal" }', "tolerance.of.lens.radii.sigma is missing"),
    "empty": ("", "tolerance.of = {} must be a table of at least one parameter"),
}


def parsed(of=RADII, table="", lens=LENS):
    return parse_table(tomllib.loads(f"{lens}\n[tolerance]\n{table}\n[tolerance.of]\n{of}"))


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line(case):
    of, expected = REFUSED[case]
    with pytest.raises(ConfigurationError) as refusal:
        parsed(of)
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("samples = -1", "tolerance.samples = -1 must be a whole number from 0"),
        ('aim = "best"', 'tolerance.aim = "best" is not one of "yield", "worst", "mean", { quantile = 0.9 }'),
        ("aim = { quantile = 2.0 }", "tolerance.aim.quantile = 2 is out of bounds"),
        ("sample = 3", "tolerance.sample is not a known key; did you mean 'samples'?"),
    ],
)
def test_refused_entries_of_the_table(table, expected):
    with pytest.raises(ConfigurationError) as refusal:
        parsed(table=table)
    assert expected in str(refusal.value)


def test_words_and_whole_numbers_have_no_tolerance():
    kinds = {parameter.name: parameter for parameter in _corrugated() if parameter.kind in ("integer", "choice")}
    assert kinds
    for name, parameter in kinds.items():
        with pytest.raises(EntryError, match=r"has no tolerance; remove it"):
            _refuse_kind(name, parameter, [1.0])
    radius = next(one for one in _corrugated() if one.unit == "m")
    for gene in (Range(low=1.0, high=2.0, kind="choice", choices=(1.0, 2.0)), Range(low=1, high=9, kind="integer")):
        with pytest.raises(EntryError, match=r"has no tolerance; remove it"):
            _refuse_kind(radius.name, radius, [gene])


def _corrugated():
    return FAMILIES["corrugated_horn"].parameters


def test_written_back_and_read_again():
    experiment = parsed('lens.radii = { sigma = "0.02 mm", correlated = true }', "aim = { quantile = 0.9 }")
    assert experiment.tolerance.of[0].entries == tuple(f"lens.radii.{place}" for place in range(6))
    assert experiment.tolerance.deviations == ("lens.radii",)
    assert Experiment.from_resolved(experiment.resolved()).tolerance == experiment.tolerance
    without = experiment.changed(tolerance=None)
    assert without.config_hash != experiment.config_hash
    assert without.config_hash == parse_table(tomllib.loads(LENS)).config_hash


def test_entries_for_samples_without_samples_are_warned_of():
    of = 'lens.radii = { sigma = "0.02 mm" }'
    for entry, name in (("final_samples = 20", "final_samples"), ('aim = "worst"', "aim")):
        (line,) = [one for one in parsed(of, entry).warnings if one.startswith("tolerance")]
        assert line.startswith(f"tolerance.{name} has no effect with tolerance.samples = 0")
        assert "tolerance" not in " ".join(parsed(of, f"{entry}\nsamples = 5").warnings)
    assert "tolerance" not in " ".join(parsed(of, "").warnings)


@pytest.mark.parametrize("key", ['tolerance.of."lens.radii"', "tolerance . of.'lens.radii'", "tolerance.of.lens.radii"])
def test_a_change_may_write_a_name_in_quotes_as_a_file_does(tmp_path, key):
    (tmp_path / "lens.toml").write_text(LENS)
    found = load_experiment(tmp_path / "lens.toml", [f'{key}={{ sigma = "0.02 mm" }}', f"{key}.correlated=true"])
    assert found.tolerance == parsed('"lens.radii" = { sigma = "0.02 mm", correlated = true }').tolerance


def test_the_lattice_has_room():
    """The lens may be 1.2 mm larger to each side: at least 2 columns and 2 rows of 0.45 mm."""
    with_room, without = (
        plan_for(one) for one in (parsed('"lens.radii" = { sigma = "0.4 mm" }'), parse_table(tomllib.loads(LENS)))
    )
    assert with_room["cell"] == without["cell"]
    assert with_room["nr"] >= without["nr"] + 2
    assert with_room["nz"] >= without["nz"] + 2


def test_a_narrower_feed_must_carry_the_wave():
    """3.6 mm carries 28.5 GHz; 3.6 mm - 3 x 0.2 mm does not."""
    with pytest.raises(
        ConfigurationError, match=r"below or near the TE11 cutoff of antenna\.feed\.inner_radius = 3 mm"
    ):
        parsed('"feed.inner_radius" = { sigma = "0.2 mm" }')


def test_deviations_have_their_distribution():
    """Mean and standard deviation of 20,000: within 5 standard errors (0.035 and 0.025 sigma)."""
    of = f'{RADII}\n"lens.permittivity" = {{ sigma = 0.025, kind = "uniform" }}'
    tolerance = parsed(of).tolerance
    drawn = deviations(tolerance, 20_000, 3)
    assert drawn.shape == (20_000, 7)
    sigma = np.array([2e-5] * 6 + [0.025])
    assert np.abs(drawn.mean(axis=0) / sigma).max() < 0.035
    assert drawn.std(axis=0) / sigma == pytest.approx([0.98658] * 6 + [1.0], abs=0.025)
    assert np.abs(drawn[:, :6]).max() <= 6e-5
    assert np.abs(drawn[:, 6]).max() <= 0.025 * 3**0.5
    assert np.abs(np.corrcoef(drawn.T) - np.eye(7)).max() < 0.035


def test_the_first_of_many_are_those_of_few():
    tolerance = parsed().tolerance
    assert (deviations(tolerance, 50, 3)[:7] == deviations(tolerance, 7, 3)).all()
    assert not (deviations(tolerance, 7, 3) == deviations(tolerance, 7, 4)).any()
    assert not (deviations(tolerance, 7, 3) == deviations(tolerance, 7, 3, stream=IN_A_SEARCH)).any()


def test_perturbed_designs():
    experiment = parsed(
        '"lens.radii" = { sigma = "0.02 mm", correlated = true }\n"lens.permittivity" = { sigma = 1.0 }'
    )
    design = experiment.design({gene.name: 0.012 for gene in experiment.genes})
    made = perturbed(experiment.tolerance, design, np.array([3e-5, -1.0]))
    assert {made[f"lens.radii.{place}"] for place in range(6)} == {0.012 + 3e-5}
    assert made["lens.permittivity"] == pytest.approx(1.53)
    assert {name for name in design if design[name] != made[name]} == set(experiment.tolerance.entries)
    assert impossible(experiment.tolerance, made) is None
    thin = perturbed(experiment.tolerance, design, np.array([0.0, -2.0]))
    assert "antenna.lens.permittivity = 0.53 (SI) cannot be made (must be >= 1" in impossible(
        experiment.tolerance, thin
    )


@pytest.mark.parametrize(
    ("table", "change", "expected"),
    [
        ("samples = 5", {"evolution": {"algorithm": "nsga2"}}, "which ranks by several numbers, and a yield is one"),
        ("samples = 5", {"evolution": {"algorithm": "steady_state"}}, "which has no generations, in which samples are"),
        ("samples = 20000", {}, "tolerance.samples = 20000 must be a whole number from 0 (the search takes no samples"),
        (
            "final_samples = -1",
            {},
            "tolerance.final_samples = -1 must be a whole number from 0 (none after the search)",
        ),
    ],
)
def test_searches_that_cannot_take_samples(table, change, expected):
    data = tomllib.loads(f"{LENS}\n[tolerance]\n{table}\n[tolerance.of]\n{RADII}")
    with pytest.raises(ConfigurationError) as refusal:
        parse_table({**data, **change})
    assert expected in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_samples_after_the_search_are_no_part_of_what_decides():
    """So a resume may change them."""
    hashes = {parsed(table=f"samples = 5\nfinal_samples = {count}").config_hash for count in (0, 50)}
    assert len(hashes) == 1
    assert parsed(table="samples = 6").config_hash not in hashes


def test_cells_that_only_a_tolerance_makes_too_coarse_name_it(tmp_path):
    file, cell = tmp_path / "lens.toml", "solver.cell=0.74 mm"
    file.write_text(LENS)
    load_experiment(file, [cell])
    with pytest.raises(
        ConfigurationError, match=r"in permittivity 2\.83, its tolerance included, at .* or the tolerance$"
    ):
        load_experiment(file, [cell, 'tolerance.of."lens.permittivity"={sigma=0.1}'])
