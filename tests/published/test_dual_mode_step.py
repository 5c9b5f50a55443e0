"""A dual-mode horn's step, 1.0333 to 1.3000 wavelengths in diameter: share and phase of TM11 beyond it.

Published FDTD: share 0.180794 / 0.178353 / 0.177698 and phase 40.576 / 40.928 / 41.014 degrees at 60 / 120 / 180 cells.
The share is TM11's part of the power that the step passes on. The phase is that of TM11's transverse E on the axis over
that of TE11, in the plane of the step, exp(+jwt), on the side of the wide guide: TM11 is ahead.

The guide beyond the step ends in a flare, which reflects. With modes a (forward) and b (backward) in the plane of the
step, a_i = s_i + sum_j R_ij b_j, where s_i is what a matched guide would show; three lengths of the guide give s and R.

Reference: mode matching of this file, 40 modes in the narrow guide: share 0.17680, phase 41.149 degrees; with 100 modes
0.17686 and 41.146. Measured, cells a wavelength, share, phase: 20: 0.18022, 40.71; 40: 0.17727, 41.07; 60: 0.17686,
41.12; 90: 0.17687, 41.14; 120: 0.17685, 41.13. From 40 on the share is within 0.25 % of the reference and the phase
within 0.1 degrees; from 60 on within 0.05 % and 0.05 degrees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pytest
from scipy.special import jn_zeros, jnp_zeros, jv, jvp

from antennaopt.settings import ReportedModes, SolverSettings
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.plan import plan

WAVELENGTH = 10e-3
FREQUENCY = 299792458.0 / WAVELENGTH
WAVENUMBER = 2 * np.pi / WAVELENGTH
NARROW, WIDE = 31 / 60 * WAVELENGTH, 39 / 60 * WAVELENGTH
SECTIONS = (0.8, 1.1, 1.4)  # wavelengths


@dataclass(frozen=True, kw_only=True)
class GuideModes:
    """Modes of order 1 of a guide, in order of their cutoffs.

    Attributes:
        radius: m.
        zeros: Kind and k_c a of each.
        scales: Factors that give each unit norm.
        admittances: Over that of free space, of waves exp(-gamma z), exp(+jwt).
    """

    radius: float
    zeros: list[tuple[str, float]]
    scales: np.ndarray
    admittances: np.ndarray

    @classmethod
    def of(cls, radius: float, count: int) -> GuideModes:
        zeros = [*(("TE", float(x)) for x in jnp_zeros(1, count)), *(("TM", float(x)) for x in jn_zeros(1, count))]
        zeros.sort(key=lambda one: one[1])
        gamma = np.emath.sqrt(np.array([(x / radius) ** 2 - WAVENUMBER**2 for _, x in zeros]))
        te = np.array([kind == "TE" for kind, _ in zeros])
        r, weights = radii(radius)
        bare = cls(radius=radius, zeros=zeros, scales=np.ones(len(zeros)), admittances=gamma)
        norms = (bare.fields(r) ** 2 * weights).sum(axis=(1, 2))
        admittances = np.where(te, gamma / (1j * WAVENUMBER), 1j * WAVENUMBER / gamma)
        return replace(bare, scales=1 / np.sqrt(norms), admittances=admittances)

    def fields(self, r: np.ndarray) -> np.ndarray:
        """E_r and E_phi of each mode at some radii, (modes, 2, radii), E_x > 0 on the axis."""
        found = []
        for (kind, zero), scale in zip(self.zeros, self.scales, strict=True):
            x = zero / self.radius * r
            along, across = (jv(1, x) / x, jvp(1, x)) if kind == "TE" else (jvp(1, x), jv(1, x) / x)
            found.append(scale * np.stack([along, -across]))
        return np.stack(found)


def radii(radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Radii and weights of an integral over r dr (Gauss and Legendre)."""
    points, steps = np.polynomial.legendre.leggauss(160)
    r = (points + 1) * radius / 2
    return r, steps * radius / 2 * r


@lru_cache
def mode_matching(modes: int) -> tuple[float, float, float]:
    """Share, phase (degrees) and |S11|^2 of the step, with a number of TE and TM modes in the narrow guide.

    With E matched over the wide guide and H over the narrow one: c = P (i + r), P^T Y_w c = Y_n (i - r).

    References:
        Wexler, IEEE Trans. MTT 15 (1967) 508.
    """
    narrow, wide = GuideModes.of(NARROW, modes), GuideModes.of(WIDE, round(modes * WIDE / NARROW))
    r, weights = radii(NARROW)
    overlap = np.tensordot(wide.fields(r) * weights, narrow.fields(r), axes=((1, 2), (1, 2)))
    own, load = np.diag(narrow.admittances), overlap.T @ (wide.admittances[:, None] * overlap)
    incident = np.eye(1, len(narrow.zeros), dtype=complex)[0]
    reflected = np.linalg.solve(load + own, (own - load) @ incident)
    passed = overlap @ (incident + reflected)
    power = np.abs(passed[:2]) ** 2 * np.real(wide.admittances[:2])
    phase = np.degrees(np.angle(passed[1] / passed[0]))
    return float(power[1] / power.sum()), float(phase), float(abs(reflected[0]) ** 2)


def measured(cells: int) -> tuple[float, float, float]:
    """Share, phase (degrees) and |R12 - R21| of the step on a lattice, by its cells a wavelength."""
    waves = []
    for length in SECTIONS:
        design = {
            "feed.inner_radius": NARROW, "feed.outer_radius": NARROW + 0.05 * WAVELENGTH,
            "feed.length": 1.5 * WAVELENGTH, "horn.step_radius": WIDE, "horn.phasing": length * WAVELENGTH,
            "horn.flare": WAVELENGTH, "horn.aperture_radius": 0.9 * WAVELENGTH, "horn.wall": 0.05 * WAVELENGTH,
        }  # fmt: skip
        settings = SolverSettings(
            frequencies=(FREQUENCY,), design_frequency=FREQUENCY, cell=WAVELENGTH / cells, cells_per_wavelength=None,
            report_modes=(ReportedModes(plane=1e-7),),  # just beyond the step
        )  # fmt: skip
        (outcome,) = evaluate("dual_mode_horn", [design], plan("dual_mode_horn", design, design, settings).to_dict())
        assert outcome.modes is not None
        waves.append({(one["name"], one["direction"]): complex(*one["s"]) for one in outcome.modes[0]})
    names = ("TE11", "TM11")
    known = np.array([[1.0, *(one[name, "backward"] for name in names)] for one in waves])
    found = np.linalg.solve(known, np.array([[one[name, "forward"] for name in names] for one in waves]))
    (te11, tm11), reflections = found[0], found[1:]
    share = abs(tm11) ** 2 / (abs(te11) ** 2 + abs(tm11) ** 2)
    return share, float(np.degrees(np.angle(tm11 / te11))), abs(reflections[0, 1] - reflections[1, 0])


def test_mode_matching_converges() -> None:
    few, many = mode_matching(20), mode_matching(40)
    assert many[0] == pytest.approx(0.1769, rel=1e-3) and many[1] == pytest.approx(41.15, abs=0.01)
    assert few == pytest.approx(many, rel=2e-3)


def test_a_coarse_step_is_near() -> None:
    """20 cells a wavelength: 1.9 % in share and 0.44 degrees, measured."""
    share, phase, _ = measured(20)
    exact = mode_matching(40)
    assert share == pytest.approx(exact[0], rel=0.025) and phase == pytest.approx(exact[1], abs=0.6)


@pytest.mark.slow
def test_share_and_phase_of_tm11() -> None:
    """The issue's 0.177 within 0.3 % and 41.1 within 0.2 degrees, and the reference, nearer with every finer mesh."""
    exact = mode_matching(40)
    found = {cells: measured(cells) for cells in (40, 60, 90)}
    for share, phase, asymmetry in found.values():
        assert share == pytest.approx(0.177, rel=3e-3) and phase == pytest.approx(41.1, abs=0.2)
        assert asymmetry < 0.01  # reciprocity
    errors = np.array([[abs(share / exact[0] - 1), abs(phase - exact[1])] for share, phase, _ in found.values()])
    assert (np.diff(errors[:, 1]) < 0).all() and errors[2, 0] < errors[0, 0]
    assert errors[1:, 0].max() < 1e-3 and errors[1:, 1].max() < 0.05
