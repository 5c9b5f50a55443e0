"""Progress of one solution: steps and time left, from the energy's decay, on a terminal and elsewhere."""

import math
import sys

import pytest

from antennaopt.cli import simulate
from antennaopt.cli.simulate import LINE_EVERY_S, Pace

PLAN = {"max_steps": 10_000, "layout": {"decay": 1e-6, "settled": 1_000}}


class Clock:
    """Steps of a clock that only this test moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def energies(peak, end, last, every=160):
    """Yield looks at an energy that stands at its peak and then falls evenly in dB, to 60 dB at `end`."""
    for steps in range(every, last + 1, every):
        yield steps, 1.0 if steps <= peak else 10.0 ** (-6.0 * (steps - peak) / (end - peak))


def test_an_even_decay_is_expected_at_its_end():
    clock = Clock()
    pace = Pace(PLAN, clock)
    for steps, energy in energies(peak=960, end=4_160, last=4_000):
        clock.now = 30.0 + 0.01 * steps  # the first look comes late: kernels are compiled before it
        estimate = pace.at(steps, energy)
        if steps <= 960:
            assert (estimate.total, estimate.at_most) == (10_000, True)
        else:
            assert (estimate.total, estimate.at_most) == (pytest.approx(4_160, abs=1), False)
            assert estimate.seconds_left == pytest.approx(0.01 * (4_160 - steps), abs=0.02)
    assert estimate.left() == "about 2 s left"
    assert estimate.share == pytest.approx(4_000 / 4_160, rel=1e-3)


def test_the_step_limit_and_the_pulses_end_bound_what_is_expected():
    slow, quick = Pace(PLAN, Clock()), Pace(PLAN, Clock())
    for steps, energy in energies(peak=160, end=50_000, last=1_600):
        assert slow.at(steps, energy).total == 10_000
    for steps, energy in energies(peak=160, end=400, last=320):
        estimate = quick.at(steps, energy)
    assert estimate.total == 1_000


def test_a_fixed_number_of_steps_is_known_from_the_beginning():
    clock = Clock()
    pace = Pace({"max_steps": 6_000, "layout": {"decay": 0.0, "settled": 1_000}}, clock)
    assert pace.at(160, 1.0).left() == ""
    clock.now = 1.0
    estimate = pace.at(320, 0.5)
    assert (estimate.total, estimate.at_most) == (6_000, False)
    assert estimate.seconds_left == pytest.approx((6_000 - 320) / 160.0)


@pytest.mark.parametrize("energy", [math.nan, 0.0, 1.0])
def test_an_energy_that_says_nothing_leaves_the_step_limit(energy):
    assert Pace(PLAN, Clock()).at(160, energy).total == 10_000


def test_without_a_terminal_there_is_a_line_every_ten_seconds(capsys):
    clock = Clock()
    watch = simulate.lines(Pace(PLAN, clock), clock)
    for steps, energy in energies(peak=960, end=4_160, last=4_000):
        clock.now = 0.01 * steps
        watch(steps, energy)
    out, err = capsys.readouterr()
    printed = err.splitlines()
    assert out == ""
    assert len(printed) == int(40.0 / (LINE_EVERY_S + 1.6))  # the first look after each ten seconds
    assert printed[0] == "27%  1120 of about 4160 steps  about 30 s left"


def test_quiet_says_nothing_and_asks_for_nothing(capsys):
    with simulate.working("solving", PLAN, quiet=True) as watch:
        assert watch is None
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_a_bar_shows_the_share_and_the_time_left(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    with simulate.working("solving 64 x 96 cells", PLAN, quiet=False) as watch:
        for steps, energy in energies(peak=160, end=3_360, last=1_760):
            watch(steps, energy)
    text = capsys.readouterr().err
    assert "solving 64 x 96 cells" in text
    assert "52%" in text
    assert "left" in text
