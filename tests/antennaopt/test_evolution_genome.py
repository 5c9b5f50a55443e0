"""The decoder from [0, 1] to SI values, and its inverse."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antennaopt.errors import ConfigurationError
from antennaopt.run.memory import design_digest, design_digests
from antennaopt.search import decode, design_key, encode
from antennaopt.search.candidate import decode_all


def gene(name="lens.radius", low=8e-3, high=20e-3, kind="real", choices=()):
    return SimpleNamespace(name=name, low=low, high=high, kind=kind, choices=choices)


REAL, WHOLE = gene(), gene("corrugations", 2.0, 6.0, "integer")
CHOICE = gene("lens.permittivity", 2.0, 3.8, "choice", (2.1, 2.53, 3.8))
unit = st.floats(0.0, 1.0)


@given(x=unit, low=st.floats(-1e3, 1e3), span=st.floats(0.0, 1e3))
def test_real_genes_stay_in_their_range(x, low, span):
    one = gene(low=low, high=low + span)
    assert one.low <= decode([one], [x])[one.name] <= one.high


@given(genomes=st.lists(st.tuples(unit, unit, unit), max_size=8), low=st.floats(-1e3, 1e3), span=st.floats(0.0, 1e3))
def test_many_genomes_are_decoded_as_each_is(genomes, low, span):
    genes = [gene("lens.length", low, low + span), WHOLE, CHOICE]
    each = [list(decode(genes, one).values()) for one in genomes]
    assert repr(decode_all(genes, genomes).tolist()) == repr(each)
    digests = [design_digest(decode(genes, one), level=1) for one in genomes]
    assert design_digests(decode_all(genes, genomes), level=1) == digests


@pytest.mark.parametrize("genome", [(0.5, 0.5), (0.5, 1.5, 0.5), (0.5, float("nan"), 0.5)])
def test_many_genomes_are_refused_as_each_is(genome):
    genes = [REAL, WHOLE, CHOICE]
    with pytest.raises(ValueError) as each:
        decode(genes, genome)
    with pytest.raises(ValueError) as many:
        decode_all(genes, [(0.5, 0.5, 0.5), genome])
    assert str(many.value) == str(each.value)


def test_the_ends_are_reached_exactly():
    assert decode([REAL], [0.0]) == {"lens.radius": 8e-3}
    assert decode([REAL], [1.0]) == {"lens.radius": 20e-3}


@given(x=unit)
def test_integer_and_choice_genes_take_their_values_only(x):
    values = decode([WHOLE, CHOICE], [x, x])
    assert values["corrugations"] in {2.0, 3.0, 4.0, 5.0, 6.0}
    assert values["lens.permittivity"] in CHOICE.choices


@given(x=st.tuples(unit, unit, unit))
def test_encode_undoes_decode(x):
    genes = [REAL, WHOLE, CHOICE]
    values = decode(genes, x)
    encoded = encode(genes, values)
    again = decode(genes, [encoded[index] for index in range(3)])
    assert again["corrugations"] == values["corrugations"]
    assert again["lens.permittivity"] == values["lens.permittivity"]
    assert again["lens.radius"] == pytest.approx(values["lens.radius"], rel=1e-12)


def test_planted_values_outside_the_range_are_refused():
    with pytest.raises(ConfigurationError, match=r"lens.radius = 0.03 lies outside"):
        encode([REAL], {"lens.radius": 30e-3})
    with pytest.raises(ConfigurationError, match="not a gene"):
        encode([REAL], {"lens.extension": 3e-3})
    with pytest.raises(ConfigurationError, match="none of"):
        encode([CHOICE], {"lens.permittivity": 2.2})


@pytest.mark.parametrize("ulp", [-1, 0, 1])
def test_planted_values_at_the_ends_of_the_range_are_the_ends(ulp):
    """Text read in another unit may miss a bound by its last bit; the design is the bound."""
    for bound, x in ((8e-3, 0.0), (20e-3, 1.0)):
        planted = encode([REAL], {"lens.radius": bound + ulp * math.ulp(bound)})
        assert planted[0] == pytest.approx(x, abs=1e-15)
        assert 0.0 <= planted[0] <= 1.0
        assert decode([REAL], [planted[0]])["lens.radius"] == pytest.approx(bound, rel=1e-15)


@pytest.mark.parametrize("value", [20e-3 * (1 + 2e-9), 8e-3 - 20e-3 * 2e-9, 20.001e-3, 7.999e-3])
def test_planted_values_just_outside_the_range_are_refused_with_the_number(value):
    with pytest.raises(ConfigurationError, match=f"lens.radius = {value:.12g} lies outside its range 0.008 to 0.02"):
        encode([REAL], {"lens.radius": value})


def test_planted_values_between_whole_numbers_are_refused():
    """5.5 in a range of 1.5 to 5.5 was rounded to 6, a gene above 1."""
    fractional = gene("corrugations", 1.5, 5.5, "integer")
    for value in (1.5, 3.4, 5.5):
        with pytest.raises(ConfigurationError, match=rf"corrugations = {value:g} is no whole number \(2 to 5 are\)"):
            encode([fractional], {"corrugations": value})
    assert decode([fractional], [encode([fractional], {"corrugations": 5.0})[0]])["corrugations"] == 5.0


def test_genomes_outside_the_unit_cube_are_a_bug():
    with pytest.raises(ValueError, match="outside"):
        decode([REAL], [1.0 + 1e-12])
    with pytest.raises(ValueError, match="genome has 2"):
        decode([REAL], [0.5, 0.5])


def test_duplicates_share_a_key_even_when_their_genes_differ():
    assert design_key(decode([WHOLE], [0.41])) == design_key(decode([WHOLE], [0.42]))
    assert design_key(decode([REAL], [0.41])) != design_key(decode([REAL], [0.42]))
