"""Good experiment files: SI values, genes, designs, hashes, and the resolved form that reads back."""

import json
import re
from dataclasses import replace

import pytest
from config_files import LENS, WAVEGUIDE, replaced

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import Experiment, load_antenna, load_experiment
from antennaopt.families import FAMILIES, Parameter
from antennaopt.run.summary import antenna_toml
from antennaopt.search import EvolutionSettings
from antennaopt.search.objectives import build

GOAL = '\n[[objective]]\nmetric = "s11_db"\nat_most = -15.0\n'


@pytest.fixture
def load(tmp_path):
    def write(text=LENS, overrides=()):
        path = tmp_path / "a lens.toml"
        path.write_text(text)
        return load_experiment(path, overrides)

    return write


def test_values_are_si_and_defaults_filled_in(load):
    lens = load()
    assert lens.name == "a-lens"
    assert lens.family == "shaped_lens"
    assert lens.solver.frequencies == (28.5e9, 30e9, 31.5e9)
    assert lens.solver.design_frequency == 30e9
    assert lens.solver.cell is None
    assert lens.evolution.stop.wall_time is None
    assert not lens.warnings
    assert load(overrides=["solver.design_frequency=29 GHz"]).solver.design_frequency == 29e9


def test_genes_and_designs(load):
    lens = load()
    assert [gene.name for gene in lens.genes] == [f"lens.radii.{place}" for place in range(6)]
    assert (lens.genes[0].low, lens.genes[0].high, lens.genes[0].dimension) == (0.008, 0.02, "length")
    design = lens.design({gene.name: 0.01 for gene in lens.genes})
    assert list(design) == [
        *("feed.inner_radius", "feed.outer_radius", "feed.length", "lens.permittivity", "lens.loss_tangent"),
        *(f"lens.radii.{place}" for place in range(6)),
    ]
    assert design["feed.inner_radius"] == 0.0036
    assert lens.bounds()[1]["lens.radii.5"] == 0.02
    with pytest.raises(ConfigurationError, match=r"lens\.radii\.0 is a range and has no value"):
        lens.design({})
    with pytest.raises(ConfigurationError, match="is not a gene"):
        lens.design({**{gene.name: 0.01 for gene in lens.genes}, "feed.length": 0.1})


def test_every_kind_of_gene(load):
    text = replaced(LENS, "permittivity = 2.53", "permittivity = { choices = [2.2, 2.53, 3.0] }")
    text = replaced(text, '{ count = 6, min = "8 mm", max = "20 mm" }', '["10 mm", { min = "8 mm", max = "9 mm" }]')
    permittivity, radius = load(text).genes
    assert (permittivity.name, permittivity.kind, permittivity.dimension) == ("lens.permittivity", "choice", "number")
    assert permittivity.choices == (2.2, 2.53, 3.0)
    assert (radius.name, radius.low, radius.high) == ("lens.radii.1", 0.008, 0.009)


def test_the_resolved_form_reads_back_to_the_bit(load):
    start = 'start = [{ "lens.radii" = ["17 mm", "16.6 mm"] }, { lens = { radii = ["9 mm"] } }]\nelites = 2'
    lens = load(replaced(LENS, "elites = 2", start + '\nstop = { wall_time = "8 h" }'))
    assert lens.start == ({"lens.radii.0": 0.017, "lens.radii.1": 0.0166}, {"lens.radii.0": 0.009})
    resolved = json.loads(json.dumps(lens.resolved(), allow_nan=False))
    again = Experiment.from_resolved({**resolved, "plan": {"nr": 3}})
    assert again == lens
    assert again.resolved() == resolved
    assert again.config_hash == lens.config_hash
    settings = EvolutionSettings.from_dict(resolved["evolution"])
    assert settings.population == 16
    assert settings.stop.wall_time == 28800.0
    assert [objective.name for objective in build(resolved["objectives"])] == ["directivity_dbi", "s11_db"]


@pytest.mark.parametrize(
    ("radius", "shown"),
    [
        ("20 mm", None),
        ("0.02 m", None),
        ("8 mm", None),
        ("20.00000001 mm", None),  # nearer than 1e-9: rounding
        ("20.0000001 mm", "20.0000001 mm"),
        ("7.9999999 mm", "7.9999999 mm"),
        ("20.01 mm", "20.01 mm"),
        ("7.99 mm", "7.99 mm"),
    ],
)
def test_a_planted_design_at_or_just_outside_its_range(load, radius, shown):
    """The number in the message differs from the bound's, however near it lies."""
    text = replaced(LENS, "elites = 2", f'elites = 2\nstart = [{{ "lens.radii" = ["{radius}"] }}]')
    if shown is None:
        assert load(text).start[0]["lens.radii.0"] == pytest.approx(20e-3 if "2" in radius else 8e-3, rel=1e-9)
        return
    message = rf"evolution\.start\.0\.lens\.radii\.0 = {re.escape(shown)} lies outside the gene's range"
    with pytest.raises(ConfigurationError, match=rf"{message} \(8 mm to 20 mm\)"):
        load(text)


def test_a_planted_number_between_whole_ones_is_refused(load):
    text = replaced(LENS, "elites = 2", 'elites = 2\nstart = [{ "lens.permittivity" = 2.5 }]')
    text = re.sub(r"permittivity = .*", 'permittivity = { min = 1.5, max = 4.5, kind = "integer" }', text, count=1)
    with pytest.raises(ConfigurationError, match=r"lens\.permittivity = 2\.5 is no whole number.*\(2 to 4\); round it"):
        load(text)


def test_a_damaged_resolved_form_is_refused(load):
    resolved = load().resolved()
    resolved["solver"]["frequencies"] = [float("nan")]
    with pytest.raises(ConfigurationError, match=r"solver\.frequencies\.0"):
        Experiment.from_resolved(resolved)


def test_hashes_follow_what_decides_the_numbers_and_nothing_else(load):
    lens = load()
    same = [
        load(replaced(LENS, '"3.6 mm"', '"0.36 cm"')),
        load(replaced(LENS, 'title = "a lens"', 'title = "another"')),
        load(overrides=["evolution.generations=99", "cluster.workers=3", "evolution.stop.evaluations=10"]),
    ]
    assert {one.config_hash for one in same} == {lens.config_hash}
    others = ["seed=8", "evolution.elites=1", "objective.0.weight=2", "solver.decay_db=50", "antenna.feed.length=21 mm"]
    assert len({load(overrides=[one]).config_hash for one in others} - {lens.config_hash}) == len(others)
    assert load(overrides=["seed=8"]).physics_hash == lens.physics_hash
    assert load(overrides=["solver.decay_db=50"]).physics_hash != lens.physics_hash


def test_overrides_reach_tables_lists_and_text(load):
    lens = load(
        overrides=[
            "antenna.feed.length=30 mm",
            "objective.0.weight=2",
            'solver.frequencies=["30 GHz"]',
            "cluster.workers=auto",
        ]
    )
    assert lens.design({gene.name: 0.01 for gene in lens.genes})["feed.length"] == 0.03
    assert lens.objectives[0].weight == 2.0
    assert lens.solver.frequencies == (30e9,)


def test_an_override_of_the_cell_takes_the_other_ones_place(load):
    fine = load(overrides=["solver.cell=0.3 mm"])
    assert (fine.solver.cell, fine.solver.cells_per_wavelength) == (0.0003, None)
    coarse = load(replaced(LENS, "cells_per_wavelength = 12", 'cell = "9 mm"'), ["solver.cells_per_wavelength=10"])
    assert (coarse.solver.cell, coarse.solver.cells_per_wavelength) == (None, 10.0)


def test_frequencies_can_be_spread(load):
    text = replaced(LENS, '["28.5 GHz", "30 GHz", "31.5 GHz"]', '{ min = "28 GHz", max = "32 GHz", count = 5 }')
    assert load(text).solver.frequencies == (28e9, 29e9, 30e9, 31e9, 32e9)


def test_a_base_that_is_too_small_in_part_is_accepted(load):
    assert load(replaced(LENS, 'min = "8 mm", max = "20 mm"', 'min = "3 mm", max = "5 mm"'))


def test_a_guide_that_carries_tm01_too_is_reported(tmp_path):
    path = tmp_path / "guide.toml"
    path.write_text(replaced(WAVEGUIDE, '"3.6 mm"', '"3.7 mm"'))
    (warning,) = load_antenna(path).warnings
    assert "31.5 GHz lies above the TM01 cutoff of antenna.feed.inner_radius = 3.7 mm (31.0115 GHz)" in warning


def test_frozen(load):
    with pytest.raises(ValueError, match="frozen"):
        load().seed = 3


def test_the_certificate_is_a_word_or_a_table(tmp_path):
    """`certificate = "report"`, `[certificate] mode = "report"` and both overrides come to the same experiment."""
    path = tmp_path / "lens.toml"
    path.write_text('certificate = "report"\n' + LENS)
    word = load_experiment(path)
    assert word.certificate.mode == "report"
    assert load_experiment(path, ["certificate.mode=off"]).certificate.mode == "off"
    path.write_text(LENS + '\n[certificate]\nmode = "report"\n')
    assert load_experiment(path) == word
    assert load_experiment(path, ["certificate=strict"]).certificate.mode == "strict"
    assert Experiment.from_resolved(word.resolved()) == word


def test_generational_false_is_short_for_the_steady_state(load):
    """One name in what is resolved and hashed; the other is only read."""
    short = load(overrides=["evolution.generational=false"])
    long = load(overrides=["evolution.algorithm='steady_state'"])
    assert short.evolution.algorithm == "steady_state"
    assert short.config_hash == long.config_hash != load().config_hash
    assert "generational" not in short.resolved()["evolution"]
    assert load(overrides=["evolution.generational=true"]).config_hash == load().config_hash


def test_an_integer_parameter_holds_whole_numbers_and_is_such_a_gene(load, monkeypatch):
    """A range of it needs no kind; what is between whole numbers is refused; an exported file has no decimal point."""
    teeth = Parameter(
        name="comb.teeth", about="Teeth.", example="5", kind="integer", default=3.0, lowest=1.0, highest=20.0
    )
    guide = FAMILIES["open_waveguide"]
    monkeypatch.setitem(FAMILIES, "comb", replace(guide, name="comb", parameters=(*guide.parameters, teeth)))
    text = replaced(WAVEGUIDE, "open_waveguide", "comb") + GOAL
    comb = load(replaced(text, "[solver]", "[antenna.comb]\nteeth = { min = 2, max = 6 }\n[solver]"))
    (gene,) = comb.genes
    assert (gene.name, gene.kind, gene.dimension, gene.low, gene.high) == ("comb.teeth", "integer", "number", 2.0, 6.0)
    assert Experiment.from_resolved(comb.resolved()) == comb
    assert "teeth = 5\n" in antenna_toml(title="", family="comb", design=comb.design({"comb.teeth": 5.0}), solver={})
    part = replaced(text, "[solver]", "[antenna.comb]\nteeth = 2.5\n[solver]")
    with pytest.raises(ConfigurationError, match=r"antenna\.comb\.teeth = 2\.5 is not a whole number; round it"):
        load(part)
    with pytest.raises(ConfigurationError, match=r"comb\.teeth = 21 is out of bounds \(must be >= 1 and <= 20\)"):
        load(replaced(part, "2.5", "21"))
    whole = replaced(part, "teeth = 2.5", 'teeth = { min = 2, max = 6, kind = "real" }')
    with pytest.raises(ConfigurationError, match=r"antenna\.comb\.teeth\.kind = \"real\" is not one of integer"):
        load(whole)


def test_a_choice_is_a_word_in_files_and_a_number_in_designs(load):
    """A gene of words; the exported file has the word again; what is no word of the list is refused."""
    table = '[antenna.horn]\nlength = "9 mm"\naperture_radius = "6 mm"\nwall = "1 mm"\ncurve = CURVE\n[solver]'
    text = replaced(replaced(WAVEGUIDE, "open_waveguide", "profile_horn"), "[solver]", table) + GOAL
    text = replaced(text, 'length = "9 mm"', 'length = { min = "8 mm", max = "9 mm" }')
    known = FAMILIES["profile_horn"].parameter("horn.curve").choices
    fixed = load(replaced(text, "CURVE", '"hyperbolic"'))
    design = fixed.design({"horn.length": 8e-3})
    assert known[round(design["horn.curve"])] == "hyperbolic"
    assert 'curve = "hyperbolic"\n' in antenna_toml(title="", family="profile_horn", design=design, solver={})
    searched = load(
        replaced(text, "CURVE", '{ choices = ["x_rho", "linear"] }'),
        overrides=['evolution.start=[{ "horn.curve" = "x_rho", "horn.length" = "8.5 mm" }]'],
    )
    gene = next(one for one in searched.genes if one.name == "horn.curve")
    assert (gene.kind, gene.dimension) == ("choice", "number")
    assert [known[round(value)] for value in gene.choices] == ["x_rho", "linear"]
    assert searched.evolution.start[0]["horn.curve"] == gene.choices[0]
    assert Experiment.from_resolved(searched.resolved()) == searched
    for wrong, says in (
        ('"hyperbola"', r'horn\.curve = "hyperbola" is not one of linear, sinusoid, .*; use one of them'),
        ("1", r"horn\.curve = 1 is not one of linear"),
        ("{ min = 0, max = 3 }", r"has no range; write { choices"),
        ('{ choices = ["linear", "round"] }', r'horn\.curve\.choices\.1 = "round" is not one of'),
    ):
        with pytest.raises(ConfigurationError, match=says):
            load(replaced(text, "CURVE", wrong))
