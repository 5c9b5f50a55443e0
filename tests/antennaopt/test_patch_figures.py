"""Figures of merit of boards from patterns that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from antennaopt.metrics import METRICS
from antennaopt.solve.yee_figures import IMPEDANCE, SolvedBoard, figures_of

THETA = np.linspace(-180.0, 180.0, 181)
PHI = np.deg2rad([0.0, 45.0, 90.0])


def solved(along_theta, along_phi, radiated, s11=0.5):
    """Return a board with E_theta and E_phi, functions of theta in degrees and phi in radians."""
    far = np.stack([np.stack([along_theta(THETA, phi), along_phi(THETA, phi)], axis=-1) for phi in PHI])
    ones = np.ones(1)
    return SolvedBoard(
        s11=np.array([s11 + 0j]),
        accepted=2 * radiated * ones,
        radiated=radiated * ones,
        dissipated=radiated * ones,
        through_box=radiated * ones,
        far_field=far[None].astype(complex),
        theta_deg=THETA,
    )


def huygens(theta, _=0.0):
    return 1 + np.cos(np.deg2rad(theta))


RADIATED = 2 * np.pi * (8 / 3) / (2 * IMPEDANCE)  # int_0^pi (1 + cos)^2 sin = 8/3


def test_a_huygens_source():
    """E_theta = (1 + cos) cos(phi), E_phi = -(1 + cos) sin(phi): directivity 3, no cross-polarisation.

    It falls to half of its power at (1 + cos)^2 = 2, 65.53 degrees from the axis; on the 2-degree grid, between whose
    points a line in dB is drawn, within 0.02 (measured 0.014).
    """
    found = figures_of(solved(lambda t, p: huygens(t) * np.cos(p), lambda t, p: -huygens(t) * np.sin(p), RADIATED))
    assert set(found) == set(METRICS)
    assert found["directivity_dbi"] == [pytest.approx(10 * np.log10(3), abs=1e-9)]
    assert found["max_directivity_dbi"] == [pytest.approx(10 * np.log10(3), abs=1e-9)]
    assert found["gain_dbi"] == [pytest.approx(10 * np.log10(1.5), abs=1e-9)]
    assert found["realized_gain_dbi"] == [pytest.approx(10 * np.log10(3 * RADIATED), abs=1e-9)]  # of 1 W
    width = 2 * np.degrees(np.arccos(np.sqrt(2) - 1))
    assert found["hpbw_e_deg"] == [pytest.approx(width, abs=0.02)]
    assert found["hpbw_h_deg"] == [pytest.approx(width, abs=0.02)]
    assert found["crosspol_db"][0] < -100.0 and found["front_to_back_db"][0] > 100.0
    assert found["sidelobe_db"] == [None]
    assert found["power_balance"] == [1.0] and found["contour_balance"] == [1.0]


def test_a_small_dipole_is_cross_polar_at_45_degrees():
    """E_theta = cos(theta) cos(phi), E_phi = -sin(phi): at 45 degrees (cos - 1)/2 over 1, so half, -6.02 dB, at 90."""
    found = figures_of(
        solved(lambda t, p: np.cos(np.deg2rad(t)) * np.cos(p), lambda t, p: -np.sin(p) + 0 * t, RADIATED)
    )
    assert found["crosspol_db"] == [pytest.approx(20 * np.log10(0.5), abs=1e-9)]
    assert found["front_to_back_db"] == [pytest.approx(0.0, abs=1e-9)]


@pytest.mark.parametrize(("ripple_db", "level"), [(0.044, None), (0.2, 0.0)])
def test_the_ripple_of_a_lattice_is_no_side_lobe(ripple_db, level):
    """The H plane of a dipole is a circle; one of 0.044 dB is what a coarse lattice makes of it, one of 0.2 dB is real.

    All its maxima, on the axis and at 90 degrees, have the same level.
    """

    def circle(theta):
        return 10 ** (-ripple_db / 40 * (1 - np.cos(np.deg2rad(4 * theta))))

    found = figures_of(solved(lambda t, p: np.cos(np.deg2rad(t)) * np.cos(p), lambda t, p: -circle(t) * np.sin(p), 1.0))
    assert found["sidelobe_db"] == [level if level is None else pytest.approx(level, abs=1e-6)]


def test_a_tilted_beam_has_widths_of_both_sides_and_no_side_lobe():
    """A beam whose maximum is 10 degrees off the axis is no side lobe of itself."""

    def tilted(theta, _=0.0):
        return np.exp(-(((theta - 10.0) / 40.0) ** 2))

    board = solved(lambda t, p: tilted(t) * np.cos(p), lambda t, p: -tilted(t) * np.sin(p), RADIATED)
    found = figures_of(board)
    assert found["sidelobe_db"] == [None]
    # exp(-2 ((t - 10) / 40)^2) is half of its value at 0 where (t - 10)^2 = 100 + 800 ln 2
    reach = np.sqrt(100 + 800 * np.log(2))
    assert found["hpbw_e_deg"] == [pytest.approx(2 * reach, abs=0.05)]
    assert found["max_directivity_dbi"][0] > found["directivity_dbi"][0]


def test_both_planes_begin_with_the_same_amplitude():
    board = solved(lambda t, p: huygens(t) * np.cos(p), lambda t, p: -huygens(t) * np.sin(p), RADIATED)
    middle = len(THETA) // 2
    assert board.e_plane[0, middle] == pytest.approx(board.h_plane[0, middle])
    assert abs(board.e_plane[0, middle]) ** 2 == pytest.approx(3.0)


def test_side_lobes_do_not_depend_on_the_other_frequencies():
    """Five beams tilted by other angles, their cuts read together and each alone: the same bits, one without a lobe."""
    tilts, widths = (0.0, 14.0, -8.0, 14.0, 3.0), (30.0, 30.0, 40.0, 55.0, 200.0)

    def board(chosen):
        far = np.zeros((len(chosen), 3, len(THETA), 2), dtype=complex)
        for place, at in enumerate(chosen):
            far[place, 0, :, 0] = np.sinc((THETA - tilts[at]) / widths[at])
            far[place, 2, :, 1] = -np.sinc((THETA + tilts[at] / 2) / (1.3 * widths[at]))
        ones = np.ones(len(chosen))
        return SolvedBoard(
            s11=0.5 * ones,
            accepted=ones,
            radiated=ones,
            dissipated=ones,
            through_box=ones,
            far_field=far,
            theta_deg=THETA,
        )

    together = figures_of(board(range(5)))["sidelobe_db"]
    assert together == [figures_of(board([at]))["sidelobe_db"][0] for at in range(5)]
    assert together[0] == pytest.approx(-13.26, abs=0.02)  # of sinc(x): 20 lg 0.21723 at x = 1.4303
    assert together[4] is None
