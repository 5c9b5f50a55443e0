"""Circuits of microstrip lines: solve a scene with ports on a lattice for the scattering parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral

import numpy as np

from fdtd.backends import step_batch
from fdtd.checks import check_stop, checked_frequencies
from fdtd.errors import ConfigError
from fdtd.waveforms import short_pulse_for
from fdtd.yee.grid import Grid
from fdtd.yee.layers import Absorber
from fdtd.yee.media import fill
from fdtd.yee.microstrip import LinePort, drive, line_on_lattice, of_port
from fdtd.yee.problem import Problem, Sampling
from fdtd.yee.scene import Scene, check_faces
from fdtd.yee.simulation import Stepper

_LOOK = 200  # steps between looks at the energy
_PERIODS = 200  # of the lowest frequency, at most
_LEAST = 5  # frequencies that the phase constant is fitted over


@dataclass(frozen=True, kw_only=True, eq=False)
class CircuitSolution:
    """A circuit driven at one of its P ports, at F frequencies. Time convention exp(+jwt).

    Attributes:
        status: "ok", or "undecayed": energy above `decay_db` at the step limit.
        steps: Steps taken.
        decay_db: Energy at the last look over its largest at any, dB.
        frequencies: Hz, (F,).
        driven: Which port has the source.
        s: Power waves that come out of each port over the one that goes into the driven one, complex, (P, F): a column
            of the scattering matrix, each port referred to its line's own wave resistance.
        resistance: Wave resistance of each port's line, voltage over current, ohm, complex, (P, F).
        permittivity: Effective permittivity of each port's line, (P, F).
        returned: Largest wave that the layer behind a port that is not driven sends back, over the one into the driven
            port, (F,); zero with one port. The error of `s` is larger. Measured at a step in width from 6 to 12 cells,
            3 to 8 GHz: `returned` is at most 0.0005, S21 and S12 differ by 0.002 to 0.007, and the sum of |S|^2 is
            0.994 to 1.006, most where layers and planes are near (decision record 0057).
    """

    status: str
    steps: int
    decay_db: float
    frequencies: np.ndarray
    driven: int
    s: np.ndarray
    resistance: np.ndarray
    permittivity: np.ndarray
    returned: np.ndarray


def solve_circuit(
    scene: Scene,
    grid: Grid,
    ports: Sequence[LinePort],
    frequencies: Sequence[float] | np.ndarray,
    *,
    driven: int = 0,
    decay_db: float = -60.0,
    max_steps: int | None = None,
    stepper: Stepper | None = None,
) -> CircuitSolution:
    """Solve a circuit of microstrip lines.

    Args:
        scene: What stands in space, without a port. Lines run on into the layers, so strip, ground and substrate of a
            port have infinite ends there.
        grid: Its lattice.
        ports: One a line.
        frequencies: Hz, (F,), in any order; at least 5 different ones over the band, as the phase constant is fitted
            over them.
        driven: Which port has the source.
        decay_db: Stop once the energy has fallen to this, dB of its largest; below 0.
        max_steps: Step limit, from 1; default is 200 periods of the lowest frequency.
        stepper: Backend and precision; default is the CPU in float32. Nothing is extrapolated.

    Raises:
        ConfigError: The scene has a port of its own, a port does not fit lattice or scene, two ports stand in one line
            the same way, `driven` is no port, frequencies or limits are not as above, faces of scene and lattice
            differ, several devices are to share the lattice, or the fields diverge.
    """
    stepper = stepper or Stepper()
    wanted = checked_frequencies(frequencies, grid.dt)
    check_stop(decay_db, max_steps)
    check_faces(scene, grid)
    if scene.port is not None:
        raise ConfigError(f"scene.port is a {type(scene.port).__name__}, and a circuit has line ports; leave it out")
    if (different := len(np.unique(wanted))) < _LEAST:
        raise ConfigError(
            f"different frequencies are {different} (need {_LEAST} or more): the phase constant is fitted over them"
        )
    if not isinstance(driven, Integral) or not 0 <= driven < len(ports):
        raise ConfigError(f"driven = {driven!r} is no port (there are {len(ports)}, from 0)")
    if stepper.devices > 1:
        raise ConfigError(f"devices = {stepper.devices} is not allowed for a circuit (needs 1); leave it out")
    for (one, first), (other, second) in combinations(enumerate(ports), 2):
        if first.shares_line(second):
            raise ConfigError(f"ports {one} and {other} stand in the same line and the same way; leave one out")
    media = fill(scene, grid)
    lines = [line_on_lattice(port, grid, media) for port in ports]
    waveform = short_pulse_for(wanted, 0.0).samples(grid.dt)
    most = math.ceil(_PERIODS / (wanted.min() * grid.dt)) if max_steps is None else max_steps
    sampling = Sampling.until(decay_db, most, settled=len(waveform), look=_LOOK)
    absorber = Absorber.around((wanted.min() + wanted.max()) / 2)
    problem = Problem(grid=grid, media=media, sampling=sampling, absorber=absorber)
    problem = drive(problem, lines, driven, waveform)
    (records,) = step_batch(stepper.backend, [problem], [lambda *_: None], stepper.precision, None)
    if not records.finite:
        raise ConfigError(f"the fields are not finite after {records.steps} steps; check the scene's media")
    waves = [one.waves(of_port(records.sums, at), wanted) for at, one in enumerate(lines)]
    into = waves[driven].forward
    others = [np.abs(one.forward / np.sqrt(one.resistance)) for at, one in enumerate(waves) if at != driven]
    scale = np.sqrt(waves[driven].resistance)
    return CircuitSolution(
        status="ok" if records.decay < sampling.decay else "undecayed",
        steps=records.steps,
        decay_db=10 * math.log10(max(records.decay, 1e-30)),
        frequencies=wanted,
        driven=driven,
        s=np.array([one.backward / np.sqrt(one.resistance) for one in waves]) * scale / into,
        resistance=np.array([one.resistance for one in waves]),
        permittivity=np.array([one.effective_permittivity(wanted) for one in waves]),
        returned=np.max(others, axis=0) / np.abs(into / scale) if others else np.zeros(len(wanted)),
    )
