"""TE11 in a straight circular guide: phase constant and wave impedance, measured between two planes of a matched guide.

A tube of radius 3.6 mm runs from end to end, with 20-cell absorbers in front of both; a pulse passes two planes 30
cells apart, in which tangential E and, half a cell outwards, tangential H are recorded. On the lattice (S = c dt/d, H
in units of the free-space admittance, K the cutoff as the lattice has it),

    (2 sin(w dt/2)/S)^2 = K^2 + (2 sin(b d/2))^2,   Z_TE = E_r/H_phi = -E_phi/H_r = sin(w dt/2) / (S sin(b d/2)),

and in space b^2 = k^2 - (1.8412/a)^2, Z_TE = k/b. Measured, largest over 28.5, 30, 31.5 GHz, against `GuideMode`: phase
over the 30 cells within 1.4e-5 to 3.3e-5 rad and Z within 1.6e-5 of itself, wherever the wall falls: the absorbers' -95
dB, r = 1.8e-5, may turn the phase by 2 r and change Z by 2 r of itself, hence the bound 4e-5. Against space, wall on
the lattice, 6, 12, 24 cells a radius: b 0.63 %, 0.16 %, 0.041 %, order 1.98; Z 0.58 %, 0.14 %, 0.038 %, order 1.97.

A permeability of 1 + p for H_z in the column at the axis, which long time steps need, changes the guide's k_c. H_z of
TE11 is proportional to J1(k_c r), about k_c d / 4 there, and by Rayleigh's quotient k_c^2 changes by the part -p (1/2)
(k_c d / 4)^2 of sum (i + 1/2) J1^2 = (a/d)^2 (1 - 1/x^2) J1(x)^2 / 2, x = k_c a = 1.8412. So k_c changes by -0.444 p
(d/a)^4 of itself: 3.4e-5 of itself for p = 2 and 12 cells a radius, where the lattice itself is 1.6e-3 off.

References:
    Pozar, Microwave Engineering, 4th ed., sec. 3.4; Taflove & Hagness, 3rd ed., ch. 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest
from scipy.constants import speed_of_light
from scipy.special import jnp_zeros

from fdtd.axisymmetric.conductors import open_parts
from fdtd.axisymmetric.grid import AXIS_PERMEABILITY, AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.media import Media
from fdtd.axisymmetric.monitors import HuygensContour, Sampling
from fdtd.axisymmetric.ports import GuideMode, lowest_te_mode
from fdtd.axisymmetric.problem import ModalSource, Problem
from fdtd.axisymmetric.scene import Scene, box
from fdtd.backends import cpu
from fdtd.cpml import AxialLayer, RadialLayer
from fdtd.waveforms import pulse_for

RADIUS = 3.6e-3
WAVENUMBER = float(jnp_zeros(1, 1)[0]) / RADIUS
CUTOFF = WAVENUMBER * speed_of_light / (2 * np.pi)
FREQUENCIES = np.array([28.5e9, 30e9, 31.5e9])
LAYER, APART = 20, 30
CELLS = (0.3e-3, 0.27e-3, 0.29e-3, 0.31e-3)  # wall on the lattice; between


@dataclass(frozen=True, kw_only=True)
class Guide:
    """What two planes of a guide show at the three frequencies.

    Attributes:
        grid, mode: The lattice, and the mode as the solver has it.
        advance: Phase of E_r from the first plane to the second, rad, (F,).
        impedance: E over H of the forward wave from (E_r, H_phi) and (E_phi, H_r), complex, (2, F).
    """

    grid: AxisymmetricGrid
    mode: GuideMode
    advance: np.ndarray
    impedance: np.ndarray


@lru_cache
def guide(cell: float) -> Guide:
    """Send a pulse through the guide."""
    nz = 2 * LAYER + APART + 20
    grid = AxisymmetricGrid(
        nr=int(np.ceil(RADIUS / cell)) + 3, nz=nz, cell=cell, origin=0, courant_number=0.98 * courant_limit(1)
    )
    far = np.array([1.0])
    lengths, areas = open_parts(grid, Scene(batch=1, conductors=(box(np.array([RADIUS]), far, -far, far),)))
    mode = lowest_te_mode(grid, lengths[0, :, 1], areas[0, :, 1])
    columns = len(mode.e_r)
    pulse = pulse_for(FREQUENCIES, CUTOFF)
    alpha = 0.1 * 2 * np.pi * 30e9
    settled = int((pulse.duration + 4 * nz * cell / (0.4 * speed_of_light)) / grid.time_step)
    planes = LAYER + 10, LAYER + 10 + APART
    contour = HuygensContour(column=columns, bottom=planes[0], top=planes[1])
    problem = Problem(
        grid=grid,
        media=Media(
            permittivity=np.ones_like(lengths),
            conductivity=np.zeros_like(lengths),
            open_length=lengths,
            open_area=areas,
        ),
        sampling=Sampling(record_every=4, check_every=400, steps=20 * settled, decay=1e-8, settled=settled),
        radial_layer=RadialLayer(cells=0),
        axial_layers=(
            AxialLayer(inner=LAYER, outer=0, columns=columns + 1, alpha=alpha),
            AxialLayer(inner=nz - LAYER, outer=nz, columns=columns + 1, alpha=alpha),
        ),
        source=ModalSource(
            plane=LAYER + 3, profile_r=mode.e_r, profile_phi=mode.e_phi, waveform=pulse.samples(grid.time_step)
        ),
        contour=contour,
    )
    samples = cpu.run(problem, precision="float64", threads=1).contour[0]
    at_e, at_h = problem.sampling.sample_times(grid, len(samples))
    sections = contour.sections()
    inner = columns // 2  # half way to the wall

    def field(face: str, name: str) -> np.ndarray:
        times = at_h if name.startswith("h") else at_e
        spectrum = np.exp(-2j * np.pi * FREQUENCIES[:, np.newaxis] * times) @ samples[:, sections[face, name]]
        radius = {"e": inner, "h": inner + 0.5}.get(name, 1.0)
        return spectrum[:, inner] / radius

    travel = field("top", "e_r") / field("bottom", "e_r")
    half = np.exp(0.5j * mode.phase_per_cell(grid, FREQUENCIES))  # H stands half a cell further
    impedance = np.stack(
        [
            field("top", "e_r") / (field("top", "h") * half),
            -field("top", "e") / (field("top", "h_r") * half),
        ]
    )
    return Guide(grid=grid, mode=mode, advance=-np.unwrap(np.angle(travel)), impedance=impedance)


@pytest.mark.parametrize("cell", CELLS)
def test_phase_constant(measured: Callable[..., float], cell: float) -> None:
    """Over 30 cells the wave turns by what the mode says; the whole turns are those of the mode."""
    found = guide(cell)
    expected = APART * found.mode.phase_per_cell(found.grid, FREQUENCIES)
    error = np.abs(np.angle(np.exp(1j * (found.advance - expected)))).max()
    measured("phase over 30 cells against the lattice's mode, rad", error, at_most=4e-5, cell_mm=cell * 1e3)


@pytest.mark.parametrize("cell", CELLS)
def test_wave_impedance(measured: Callable[..., float], cell: float) -> None:
    """Both ratios of transverse E to H, real and as the mode says."""
    found = guide(cell)
    error = np.abs(found.impedance * found.mode.admittance(found.grid, FREQUENCIES) - 1).max()
    measured("wave impedance against the lattice's mode, relative", error, at_most=4e-5, cell_mm=cell * 1e3)


def test_second_order_against_space(measured: Callable[..., float]) -> None:
    """Wall on the lattice: phase constant and impedance of the stepped wave against sqrt(k^2 - kc^2) and k/b."""
    k = 2 * np.pi * FREQUENCIES / speed_of_light
    beta = np.sqrt(k**2 - WAVENUMBER**2)
    cells, errors = (6, 12, 24), []
    for count in cells:
        found = guide(RADIUS / count)
        length = APART * RADIUS / count
        turns = np.round((beta * length - found.advance) / (2 * np.pi)) * 2 * np.pi
        phase = np.abs((found.advance + turns) / (beta * length) - 1).max()
        impedance = np.abs(found.impedance * beta / k - 1).max()
        errors.append((phase, impedance))
        for name, error in zip(("phase constant", "wave impedance"), errors[-1], strict=True):
            measured(f"relative error, {name}", error, cells_per_radius=count)
    for name, column in zip(("phase constant", "wave impedance"), np.transpose(errors), strict=True):
        slope = -np.polyfit(np.log(cells), np.log(column), 1)[0]
        measured(f"order, {name}", slope, at_least=1.9, at_most=2.1)


@pytest.mark.parametrize("cells", [6, 12, 24])
def test_permeability_at_the_axis(cells: int) -> None:
    """What long time steps need changes k_c by the fourth power of the cell, as derived above (measured within X %)."""
    found = []
    for permeability in (1.0, AXIS_PERMEABILITY):
        grid = AxisymmetricGrid(
            nr=cells + 3, nz=8, cell=RADIUS / cells, origin=0, courant_number=0.5, axis_permeability=permeability
        )
        far = np.array([1.0])
        lengths, areas = open_parts(grid, Scene(batch=1, conductors=(box(np.array([RADIUS]), far, -far, far),)))
        found.append(lowest_te_mode(grid, lengths[0, :, 1], areas[0, :, 1]).cutoff_per_cell)
    change = float(1 - found[1] / found[0]) * cells**4 / (AXIS_PERMEABILITY - 1)
    assert change == pytest.approx(0.444, rel=0.03)
