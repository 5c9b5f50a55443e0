"""Bad experiment files: one line that names the field, the value, what is allowed and what to do."""
# ruff: noqa: E501 - a case reads best on one line

from pathlib import Path

import pytest
from config_files import LENS, replaced

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_antenna, load_experiment, load_file

RADIUS = 'inner_radius = "3.6 mm"'
RANGE = 'min = "8 mm", max = "20 mm"'
CELLS = "cells_per_wavelength = 12"
GOAL = "at_most = -15.0"
LIST = '["28.5 GHz", "30 GHz", "31.5 GHz"]'

CASES = {
    "unknown key": (RADIUS, 'inner_radus = "3.6 mm"', "antenna.feed.inner_radus is not a known key; did you mean 'inner_radius'?"),
    "unknown table": ("seed = 7", "antena = 7", "antena is not a known key; did you mean 'antenna'?"),
    "unknown key in evolution": ("population = 16", "popluation = 16", "evolution.popluation is not a known key; did you mean 'population'?"),
    "all keys of evolution are named": ("population = 16", "populace = 16", "start, stop, generational)"),
    "near the short form": ("population = 16", "generationl = true", "evolution.generationl is not a known key; did you mean 'generational'?"),
    "key of another family": ('family = "shaped_lens"', 'family = "open_waveguide"', "antenna.lens is not a known key"),
    "missing key": (RADIUS, "", 'antenna.feed.inner_radius is missing; add for example inner_radius = "3.6 mm"'),
    "missing permittivity": ("permittivity = 2.53", "", "antenna.lens.permittivity is missing; add for example"),
    "missing family": ('family = "shaped_lens"', "", "antenna.family is missing; add one of open_waveguide"),
    "missing frequencies": (f"frequencies = {LIST}", "", "solver.frequencies is missing; add for example frequencies = ["),
    "missing metric": ('metric = "s11_db"', "", "objective.1.metric is missing"),
    "wrong unit": (RADIUS, 'inner_radius = "3.6 GHz"', 'antenna.feed.inner_radius = "3.6 GHz" is a frequency, not a length; write for example "3.6 mm"'),
    "no unit": (RADIUS, "inner_radius = 3.6", 'antenna.feed.inner_radius = 3.6 has no unit; write it as text with one, for example "3.6 mm"'),
    "negative length": (RADIUS, 'inner_radius = "-3.6 mm"', 'antenna.feed.inner_radius = "-3.6 mm" is out of bounds (must be > 0 and <= 1000 m)'),
    "zero length": (RADIUS, 'inner_radius = "0 mm"', 'antenna.feed.inner_radius = "0 mm" is out of bounds (must be > 0 and <= 1000 m)'),
    "not a number": (RADIUS, "inner_radius = nan", "antenna.feed.inner_radius = nan is not finite"),
    "heavy weight": (GOAL, f"{GOAL}\nweight = 1000001", "objective.1.weight = 1000001 must be <= 1e+06; correct it"),
    "endless weight": (GOAL, f"{GOAL}\nweight = 1e300", "objective.1.weight = 1e+300 must be <= 1e+06; correct it"),
    "infinite": ("at_least = 18.0", "at_least = inf", "objective.0.at_least = inf must be a finite number"),
    "boolean for a length": (RADIUS, "inner_radius = true", "antenna.feed.inner_radius = true is not a length"),
    "min above max": (RANGE, 'min = "20 mm", max = "8 mm"', 'antenna.lens.radii.min = "20 mm" is larger than max = "8 mm"; swap them'),
    "min equals max": (RANGE, 'min = "9 mm", max = "9 mm"', 'antenna.lens.radii.min = "9 mm" equals max'),
    "wrong unit in a range": (RANGE, 'min = "8 mm", max = "20 GHz"', 'antenna.lens.radii.max = "20 GHz" is a frequency, not a length'),
    "range without max": (RANGE, 'min = "8 mm"', "antenna.lens.radii.max is missing"),
    "radii without count": ("count = 6, ", "", "antenna.lens.radii.count is missing"),
    "one radius": ("count = 6", "count = 1", "antenna.lens.radii.count = 1 must be a whole number from 2 to 200"),
    "below cutoff": (RADIUS, 'inner_radius = "3 mm"', "solver.frequencies: 28.5 GHz is below or near the TE11 cutoff of antenna.feed.inner_radius = 3 mm, 29.28 GHz (must be >= 29.87 GHz)"),
    "range in the feed": (RADIUS, 'inner_radius = { min = "3.3 mm", max = "4 mm" }', "antenna.feed.outer_radius = 4 mm is not beyond the widest antenna.feed.inner_radius = 4 mm: one absorber serves the feeds of all antennas of a run; enlarge it or narrow the range"),
    "cone of no filling": (RADIUS, f'{RADIUS}\nplug = "6 mm"', 'antenna.feed.plug = "6 mm" is the cone of a filling, and this feed has none; give antenna.feed.permittivity'),
    "no wall": (RADIUS, 'inner_radius = "4 mm"', "antenna.feed.outer_radius = 4 mm leaves no wall (must be > antenna.feed.inner_radius = 4 mm)"),
    "base inside the tube": (RANGE, 'min = "2 mm", max = "3.9 mm"', "antenna.lens.radii.5 (2 mm to 3.9 mm) makes the lens base smaller than the waveguide's outer wall (must be >= antenna.feed.outer_radius = 4 mm)"),
    "coarse": (CELLS, "cells_per_wavelength = 4", "solver.cells_per_wavelength = 4 is too coarse (needs >= 8 in permittivity 2.53 at 31.5 GHz); raise it or lower the highest frequency"),
    "coarse cell": (CELLS, 'cell = "2 mm"', "solver.cell = 2 mm is too coarse: 2.99 cells per wavelength (needs >= 8 in permittivity 2.53 at 31.5 GHz)"),
    "cell twice": (CELLS, CELLS + '\ncell = "0.2 mm"', "solver.cell = 0.2 mm and solver.cells_per_wavelength = 12 exclude each other"),
    "design frequency below cutoff": (CELLS, CELLS + '\ndesign_frequency = "10 GHz"', "solver.design_frequency = 10 GHz is below or near the TE11 cutoff of the feed, 24.4 GHz (must be >= 24.9 GHz)"),
    "design frequency too high": (CELLS, CELLS + '\ndesign_frequency = "90 GHz"', "solver.design_frequency = 90 GHz is too high for the cells (must be <= 47.25 GHz: 8 a wavelength)"),
    "layers in the antenna": (CELLS, CELLS + '\npml_distance = "1 um"', "solver.pml_distance = 1 um is less than a cell (must be >= 0.45 mm); enlarge it, an eighth of the longest wavelength is enough, or leave it out (a quarter)"),
    "odd grid": (CELLS, CELLS + "\ngrid = [256]", "solver.grid = [256] must be [nr, nz]"),
    "unknown precision": (CELLS, 'precision = "half"', "solver.precision = \"half\" is not one of 'float32' or 'float64'"),
    "all elites": ("elites = 2", "elites = 16", "evolution.elites = 16 leaves no room for children (must be < evolution.population = 16)"),
    "half an elite": ("elites = 2", "elites = 2.5", "evolution.elites = 2.5 must be a whole number"),
    "huge tournament": ("tournament_size = 3", "tournament_size = 17", "evolution.tournament_size = 17 is larger than the population (must be <= evolution.population = 16)"),
    "population of one": ("population = 16", "population = 1", "evolution.population = 1 must be >= 2"),
    "unknown crossover": ("elites = 2", 'crossover = { kind = "two_points" }', 'evolution.crossover.kind = "two_points" is not one of'),
    "improbable": ("elites = 2", "mutation = { probability = 1.5 }", "evolution.mutation.probability = 1.5 must be <= 1"),
    "generations twice": ("elites = 2", 'algorithm = "steady_state"\ngenerational = true', 'evolution.generational = true contradicts algorithm = "steady_state", which has no generations; leave one of the two out'),
    "random without generations": ("elites = 2", 'algorithm = "random"\ngenerational = false', 'evolution.generational = false does not go with algorithm = "random"; generational = false is short for algorithm = "steady_state"'),
    "generational as a word": ("elites = 2", 'generational = "no"', 'evolution.generational = "no" must be true or false'),
    "unknown metric": ('metric = "s11_db"', 'metric = "s11"', "objective.1.metric = \"s11\" is not a known metric; did you mean 's11_db'? (known: directivity_dbi, max_directivity_dbi,"),
    "no goal": (GOAL, "", "objective.1 has neither at_least nor at_most; add one of them"),
    "two goals": (GOAL, GOAL + "\nat_least = -30.0", "objective.1 has both at_least and at_most"),
    "goal as text": (GOAL, 'at_most = "-15 dB"', 'objective.1.at_most = "-15 dB" must be a number, without quotes'),
    "unsolved frequency": (GOAL, GOAL + '\nfrequencies = ["29 GHz"]', "objective.1.frequencies: 29 GHz is not solved; use some of 28.5 GHz, 30 GHz, 31.5 GHz"),
    "thin air": ("permittivity = 2.53", "permittivity = 0.5", "antenna.lens.permittivity = 0.5 is out of bounds (must be >= 1 and <= 100)"),
    "gain medium": ("loss_tangent = 6.6e-4", "loss_tangent = -1", "antenna.lens.loss_tangent = -1 is out of bounds (must be >= 0 and <= 1)"),
    "permittivity as text": ("permittivity = 2.53", 'permittivity = "2.53"', 'antenna.lens.permittivity = "2.53" is not a number; write it without quotes'),
    "unknown family": ('"shaped_lens"', '"shaped_lense"', "antenna.family = \"shaped_lense\" is not a known family; did you mean 'shaped_lens'?"),
    "no frequency": (LIST, "[]", "solver.frequencies = [] must be a list"),
    "frequency twice": (LIST, '["30 GHz", "30 GHz"]', 'solver.frequencies.1 = "30 GHz" stands twice'),
    "frequency in mm": (LIST, '["30 mm"]', 'solver.frequencies.0 = "30 mm" is a length, not a frequency'),
    "negative seed": ("seed = 7", "seed = -7", "seed = -7 must be >= 0"),
    "path as name": ("seed = 7", 'name = "../up"', 'name = "../up" must be 1 to 100 letters'),
    "no table": ("[evolution]", "[evolution]\nstop = 3", "evolution.stop = 3 is not a table"),
    "time without unit": ("elites = 2", "stop = { wall_time = 8 }", 'evolution.stop.wall_time = 8 has no unit; write it as text with one, for example "8 s"'),
    "planted out of range": ("elites = 2", 'start = [{ "lens.radii" = ["1 mm"] }]', "evolution.start.0.lens.radii.0 = 1 mm lies outside the gene's range (8 mm to 20 mm)"),
    "planted is no gene": ("elites = 2", 'start = [{ feed = { length = "9 mm" } }]', "evolution.start.0.feed.length is not a gene"),
    "unknown certificate": ("seed = 7", 'certificate = "strikt"', "certificate.mode = \"strikt\" is not one of 'strict', 'report' or 'off'"),
    "certificate as a number": ("seed = 7", "certificate = 1", "certificate = 1 is not a table"),
    "no address": ("[evolution]", '[cluster]\nkind = "address"\n[evolution]', "cluster.address is missing"),
    "workers without end": ("[evolution]", f"[cluster]\nworkers = {'9' * 400}\n[evolution]", 'must be "auto" or a whole number from 1 to 100000'),
    "no workers": ("[evolution]", "[cluster]\nworkers = 0\n[evolution]", 'cluster.workers = 0 must be "auto" or a whole number from 1 to 100000'),
    "odd TOML": ("seed = 7", "seed = = 7", "is not valid TOML: Invalid value (at line 2, column 8)"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_line_that_says_what_to_do(tmp_path, case):
    old, new, says = CASES[case]
    path = tmp_path / "lens.toml"
    path.write_text(replaced(LENS, old, new))
    with pytest.raises(ConfigurationError) as refused:
        load_experiment(path)
    text = str(refused.value)
    assert says in text
    assert text.startswith(str(path))
    assert "\n" not in text
    assert refused.value.exit_code == 2


HORN = """[antenna]
family = "{}"
[antenna.feed]
inner_radius = "3.6 mm"
outer_radius = "4.0 mm"
length = "12 mm"
{}
[antenna.horn]
wall = "0.4 mm"
{}
[solver]
frequencies = [{}]
"""
DUAL_MODE = 'phasing = "6 mm"\nflare = "10 mm"\naperture_radius = "9 mm"\nstep_radius = "{}"'
SPLINE = 'length = "10 mm"\nradii = ["{}", "6 mm", "8 mm"]'


@pytest.mark.parametrize(
    ("family", "bore", "radius", "wide", "says"),
    [
        ("dual_mode_horn", DUAL_MODE, "6.05 mm", "6.1 mm", "antenna.horn.step_radius = 6.05 mm is below the cutoff of TM11 at 30.2 GHz, so the step makes no second mode (must be >= 6.05377 mm); widen it or raise the frequency"),
        ("spline_horn", SPLINE, "2.9 mm", "2.95 mm", "antenna.horn.radii.0 = 2.9 mm is below the cutoff of TE11 at 30.2 GHz, so it reflects the wave (must be >= 2.90892 mm)"),
    ],
)  # fmt: skip
def test_a_bore_below_cutoff(tmp_path, family, bore, radius, wide, says):
    """Cutoffs by Pozar 3.4: 3.8317 c / (2 pi a) of TM11, 1.8412 c / (2 pi a) of TE11."""
    path = tmp_path / "horn.toml"
    path.write_text(HORN.format(family, "", bore.format(radius), '"29 GHz", "30.2 GHz"'))
    with pytest.raises(ConfigurationError) as refused:
        load_antenna(path)
    assert says in str(refused.value)
    path.write_text(HORN.format(family, "", bore.format(wide), '"29 GHz", "30.2 GHz"'))
    assert sum("and below that" in line for line in load_antenna(path).warnings) == 1
    path.write_text(HORN.format(family, "", bore.format(wide), '"30.2 GHz"'))
    assert not any("and below that" in line for line in load_antenna(path).warnings)
    path.write_text(HORN.format(family, "permittivity = 1.1", bore.format(radius), '"29 GHz", "30.2 GHz"'))
    assert load_antenna(path)  # the filling may go on into the bore


def test_the_lowest_frequency_of_a_large_feed(tmp_path):
    """1.02 times 1.8412 c / (2 pi a): a guide of 12 m carries TE11 from 7.321 MHz on."""
    path = tmp_path / "horn.toml"
    text = HORN.format("open_waveguide", "", "", '"{}"').replace('[antenna.horn]\nwall = "0.4 mm"', "")
    for small, large in (("3.6 mm", "12 m"), ("4.0 mm", "13 m"), ("12 mm", "40 m")):
        text = text.replace(small, large)
    path.write_text(text.format("7.4 MHz"))
    says = r"7\.4 MHz is below or near the TE11 cutoff of .* = 12 m, 7\.321 MHz \(must be >= 7\.468 MHz\)"
    with pytest.raises(ConfigurationError, match=says):
        load_antenna(path)
    path.write_text(text.format("7.5 MHz"))
    assert load_antenna(path)


def test_files_that_are_none(tmp_path):
    with pytest.raises(ConfigurationError, match="does not exist; check the path"):
        load_file(tmp_path / "none.toml")
    with pytest.raises(ConfigurationError, match=r"is a directory; name the \.toml file in it"):
        load_file(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'title = "\xe9"')
    with pytest.raises(ConfigurationError, match="is not UTF-8 text"):
        load_file(tmp_path / "latin.toml")
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(ConfigurationError, match=r"antenna is missing; add a table \[antenna\]"):
        load_file(tmp_path / "empty.toml")


def test_simulate_wants_numbers_and_run_wants_ranges(tmp_path):
    path = tmp_path / "lens.toml"
    path.write_text(LENS)
    with pytest.raises(ConfigurationError, match=r"antenna\.lens\.radii\.0 is a range .* `antennaopt run`"):
        load_antenna(path)
    fixed = replaced(LENS, '{ count = 6, min = "8 mm", max = "20 mm" }', '["9 mm", "9 mm"]')
    path.write_text(fixed)
    assert not load_antenna(path).genes
    with pytest.raises(ConfigurationError, match="no antenna parameter is a range"):
        load_experiment(path)


def test_a_run_needs_an_objective(tmp_path):
    path = tmp_path / "lens.toml"
    path.write_text(LENS[: LENS.index("[[objective]]")])
    with pytest.raises(ConfigurationError, match="objective is missing"):
        load_experiment(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seed", "is not of the form a.b=value"),
        ("=3", "is not of the form a.b=value"),
        ("seed.x=3", "seed is no table or list"),
        ("objective.9.weight=3", "objective is a list of 2; use a number from 0 to 1"),
        ("evolution.popluation=3", "did you mean 'population'"),
        ("antenna.feed.length=3 GHz", 'antenna.feed.length = "3 GHz" is a frequency'),
        ("seed=1\nname='x'", "seed = "),
    ],
)
def test_bad_overrides(tmp_path, text, says):
    path = tmp_path / "lens.toml"
    path.write_text(LENS)
    with pytest.raises(ConfigurationError) as refused:
        load_file(path, [text])
    assert says in str(refused.value)


def test_the_long_time_step_is_for_some_families():
    """Asked for in another family it is refused: to leave it out silently would hide what was asked for."""
    folder = Path(__file__).parents[2] / "experiments"
    assert load_file(folder / "quickstart.toml", ["solver.time_step=long"]).solver.time_step == "long"
    with pytest.raises(
        ConfigurationError, match=r"solver\.time_step = .long.*\(dielectric_rod, .*a conical_horn; remove"
    ):
        load_file(folder / "ka_band_horn.toml", ["solver.time_step=long"])
