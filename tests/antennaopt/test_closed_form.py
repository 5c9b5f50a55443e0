"""`start = "balanis"`: a first design from the closed form of the family, clipped to the ranges of the genes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.constants import c

from antennaopt.errors import ConfigurationError
from antennaopt.experiment import load_experiment
from antennaopt.families import RULES
from antennaopt.families.start_horns import optimum_horn

FEED = '[antenna.feed]\ninner_radius = "3.6 mm"\nouter_radius = "4 mm"\nlength = "15 mm"\n'
REST = """
[solver]
frequencies = ["29 GHz", "30 GHz", "31 GHz"]
[evolution]
population = 4
start = "{word}"
[[objective]]
metric = "gain_dbi"
at_least = {gain}
"""
HORN = """
[antenna.horn]
length = { min = "5 mm", max = "80 mm" }
aperture_radius = { min = "6 mm", max = "40 mm" }
wall = "1 mm"
"""
COMB = """
[antenna.horn]
slots = { min = 6, max = 60 }
pitch = "2 mm"
aperture_radius = { min = "6 mm", max = "30 mm" }
wavelength = { choices = ["9 mm", "10.5 mm"] }
wall = "1 mm"
sigma = { min = 0.45, max = 0.5 }
gamma = { min = 0.5, max = 2.0 }
"""
SPLINE = """
[antenna.horn]
length = { min = "5 mm", max = "80 mm" }
radii = { count = 4, min = "3.6 mm", max = "30 mm" }
wall = "1 mm"
"""


def written(folder: Path, family: str, table: str, word: str, gain: float = 20.0) -> Path:
    path = folder / "study.toml"
    path.write_text(f'[antenna]\nfamily = "{family}"\n{FEED}{table}{REST.format(word=word, gain=gain)}')
    return path


def test_balanis_is_the_optimum_horn(tmp_path: Path) -> None:
    """Of 20 dBi: D = 5.1572 d^2 - 0.6451 d + 1.3645 and L = 0.3232 d^2 - 0.0475 d + 0.0052 from the apex."""
    experiment = load_experiment(written(tmp_path, "conical_horn", HORN, "balanis"))
    (planted,) = experiment.start
    lam = c / 30e9
    d = 2 * planted["horn.aperture_radius"] / lam
    assert 5.1572 * d**2 - 0.6451 * d + 1.3645 == pytest.approx(100.0, rel=1e-6)
    assert 0.5 < planted["horn.length"] / lam / (0.3232 * d**2) < 1.0  # the feed cuts the cone's tip off
    assert set(planted) == {"horn.length", "horn.aperture_radius"}
    again = type(experiment).from_resolved(json.loads(json.dumps(experiment.resolved())))
    assert again == experiment


def test_closed_form_of_a_horn_is_that_of_the_atlas(tmp_path: Path) -> None:
    """The same design as `antennaopt new` plants; Balanis' horn of 11 dBi is 30 % longer."""
    lam = c / 30e9
    lengths = {}
    for word in ("closed_form", "balanis"):
        (planted,) = load_experiment(written(tmp_path, "conical_horn", HORN, word, 15.0)).start
        lengths[word] = planted["horn.length"] / lam
        if word == "closed_form":
            assert (2 * planted["horn.aperture_radius"] / lam, lengths[word]) == pytest.approx(optimum_horn(10**1.5))
    assert lengths["balanis"] > 1.1 * lengths["closed_form"]


def test_values_are_clipped_to_the_genes(tmp_path: Path) -> None:
    """Whole numbers, the nearest choice, an end of a range; what the closed form has not is left out."""
    (planted,) = load_experiment(written(tmp_path, "corrugated_horn", COMB, "granet")).start
    assert planted["horn.sigma"] == 0.45 and planted["horn.wavelength"] == 10.5e-3
    assert planted["horn.slots"] == round(planted["horn.slots"]) and "horn.gamma" not in planted
    (narrow,) = load_experiment(
        written(tmp_path, "corrugated_horn", COMB, "closed_form"),
        ('antenna.horn.aperture_radius={min="6 mm", max="8 mm"}',),
    ).start
    assert narrow["horn.aperture_radius"] == 8e-3 < planted["horn.aperture_radius"]


def test_lists_of_another_length(tmp_path: Path) -> None:
    """Four radii of a spline that the closed form gives six of: both ends, and between them what lies there."""
    (planted,) = load_experiment(written(tmp_path, "spline_horn", SPLINE, "closed_form")).start
    entries: Any = RULES["spline_horn"].make(100.0).entries
    six = next(one for one in entries if one.name == "horn.radii").best
    found = [planted[f"horn.radii.{place}"] / (c / 30e9) for place in range(4)]
    assert (found[0], found[-1]) == (pytest.approx(six[0]), pytest.approx(six[-1]))
    assert six[1] < found[1] < six[2] and six[3] < found[2] < six[4]


def test_sections_of_a_horn_have_no_closed_form(tmp_path: Path) -> None:
    """A closed form of the whole length is none of a section."""
    path = written(tmp_path, "profile_horn", HORN + "rho = { min = 0.6, max = 3.0 }\n", "closed_form")
    sections = (
        'antenna.horn.length={count=2, min="5 mm", max="40 mm"}',
        'antenna.horn.aperture_radius=["6 mm", { min="9 mm", max="30 mm" }]',
    )
    assert set(load_experiment(path).start[0]) == {"horn.length", "horn.aperture_radius", "horn.rho"}
    assert set(load_experiment(path, sections).start[0]) == {"horn.rho"}


def test_a_gain_beyond_the_rule_is_its_last_one(tmp_path: Path) -> None:
    wide = ('antenna.horn.aperture_radius={min="6 mm", max="400 mm"}', 'antenna.horn.length={min="6 mm", max="4 m"}')
    (high,) = load_experiment(written(tmp_path, "conical_horn", HORN, "balanis", 40.0), wide).start
    (last,) = load_experiment(written(tmp_path, "conical_horn", HORN, "balanis", 28.0), wide).start
    assert high == last


@pytest.mark.parametrize(
    ("family", "table", "word", "change", "says"),
    [
        (
            "conical_horn",
            HORN,
            "granet",
            (),
            'evolution.start = "granet" is no closed form of conical_horn; use "balanis"',
        ),
        (
            "conical_horn",
            HORN,
            "ballanis",
            (),
            'evolution.start = "ballanis" is no closed form; use one of closed_form',
        ),
        ("conical_horn", HORN, "balanis", ("objective.0.metric=s11_db",), 'evolution.start = "balanis" needs a gain'),
        ("spline_horn", SPLINE, "balanis", (), 'evolution.start = "balanis" is no closed form of spline_horn'),
    ],
)
def test_bad_words(family: str, table: str, word: str, change: tuple[str, ...], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_experiment(written(tmp_path, family, table, word), change)
    assert f": {says}" in str(refused.value) and "\n" not in str(refused.value)


def test_a_family_without_closed_form(tmp_path: Path) -> None:
    path = written(tmp_path, "open_waveguide", "", "closed_form")
    path.write_text(path.read_text().replace('outer_radius = "4 mm"', 'outer_radius = { min = "4 mm", max = "5 mm" }'))
    with pytest.raises(ConfigurationError, match="open_waveguide has no closed form; write designs"):
        load_experiment(path)
