"""Quantities: text to SI and back, each checked for its dimension."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antennaopt.quantities import (
    DIMENSIONS,
    FREQUENCY,
    LENGTH,
    TIME,
    QuantityError,
    duration,
    format_frequency,
    format_length,
    format_quantity,
    parse_quantity,
)

FINITE = st.floats(min_value=1e-9, max_value=1e9, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "dimension", "si"),
    [
        ("3.6 mm", LENGTH, 0.0036),
        ("0.3 mm", LENGTH, 0.0003),
        ("3.6mm", LENGTH, 0.0036),
        ("  36e-1\tmm ", LENGTH, 0.0036),
        ("1 in", LENGTH, 0.0254),
        ("5 mil", LENGTH, 0.000127),
        ("12 µm", LENGTH, 12e-6),
        (".5 cm", LENGTH, 0.005),
        ("-2 m", LENGTH, -2.0),
        ("28.5 GHz", FREQUENCY, 28.5e9),
        ("1 kHz", FREQUENCY, 1e3),
        ("8 h", TIME, 28800.0),
        ("1.5 min", TIME, 90.0),
        ("2 ns", TIME, 2e-9),
    ],
)
def test_reads_the_float_nearest_to_what_is_written(text, dimension, si):
    assert parse_quantity(text, dimension) == si


@pytest.mark.parametrize(
    ("value", "proposed"),
    [
        (30, "30 GHz"),
        ("28.5", "28.5 GHz"),
        (30e9, "30 GHz"),
        ("2.45e9", "2.45 GHz"),
        (1575420000, "1.57542 GHz"),
        ("28.123456789", "28.123456789 GHz"),
        (12345678901.0, "12.345678901 GHz"),
        (433.92e6, "433.92 MHz"),
    ],
)
def test_a_bare_frequency_may_be_in_hertz(value, proposed):
    """It said "3e+10 GHz": who copied that had 10^9 times the frequency."""
    with pytest.raises(QuantityError, match=f'has no unit; .*for example "{re.escape(proposed)}"'):
        parse_quantity(value, FREQUENCY)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("3.6 GHz", 'is a frequency, not a length; write for example "3.6 mm"'),
        ("3.6", 'has no unit; write for example "3.6 mm"'),
        (3.6, 'has no unit; write it as text with one, for example "3.6 mm"'),
        (4, '"4 mm"'),
        ("3.6 Mm", 'did you mean "3.6 mm"?'),
        ("3.6 furlong", "use one of m, cm, mm"),
        ("nan mm", "is not finite"),
        ("inf", "is not finite"),
        ("-Infinity mm", "is not finite"),
        (math.nan, "is not finite"),
        (math.inf, "is not finite"),
        (10**400, "is not finite"),
        (-(10**400), "is not finite"),
        ("1e9999 mm", "too large"),
        (True, "is not a length"),
        (None, "is not a length"),
        (["3 mm"], "is not a length"),
        ("", "is not a length"),
        ("mm", "is not a length"),
        ("3,6 mm", "is not a length"),
        ("3.6 mm and more", "is not a length"),
        ("0x10 mm", "is not a length"),
        ("__import__('os')", "is not a length"),
        ("٣ mm", "is not a length"),
    ],
)
def test_refuses_what_is_no_length(value, says):
    with pytest.raises(QuantityError) as refused:
        parse_quantity(value, LENGTH)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@given(FINITE, st.sampled_from(DIMENSIONS))
def test_what_is_shown_reads_back(value, dimension):
    shown = format_quantity(value, dimension, digits=12)
    assert math.isclose(parse_quantity(shown, dimension), value, rel_tol=1e-11)


@given(FINITE, st.sampled_from(DIMENSIONS), st.data())
def test_every_unit_scales_by_itself(number, dimension, data):
    unit = data.draw(st.sampled_from(sorted(dimension.units)))
    expected = number * float(dimension.units[unit])
    assert math.isclose(parse_quantity(f"{number!r} {unit}", dimension), expected, rel_tol=1e-15)


@given(st.text(max_size=20), st.sampled_from(DIMENSIONS))
def test_any_text_is_a_finite_number_or_refused(text, dimension):
    try:
        value = parse_quantity(text, dimension)
    except QuantityError:
        return
    assert math.isfinite(value)


@pytest.mark.parametrize(
    ("si", "text"),
    [(0.0036, "3.6 mm"), (0.0002, "0.2 mm"), (1.5, "1.5 m"), (2e-6, "2 um"), (0.0, "0 mm"), (-0.001, "-1 mm")],
)
def test_lengths_read_well(si, text):
    assert format_length(si) == text


def test_frequencies_read_well():
    assert format_frequency(28.5e9) == "28.5 GHz"
    assert format_frequency(24403.7e6) == "24.4037 GHz"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(4.23, "4 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (200, "3 min 20 s"), (7500, "2 h 05 min")],
)
def test_spans_of_time_read_well(seconds, text):
    assert duration(seconds) == text
    assert duration(seconds, tenths=True) == ("4.2 s" if seconds < 10 else text)
