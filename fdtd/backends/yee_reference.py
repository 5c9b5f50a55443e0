"""The oracle of the rectilinear lattice: the equations of `fdtd.yee.problem` with NumPy in float64, whole arrays."""

from __future__ import annotations

import time

import numpy as np

from fdtd.yee.problem import Look, Problem, Records, Taker, stop

# Component, and the derivatives in its curl: axis (of arrays, 0 for z), component that is differentiated, sign.
_CURL_E = {3: ((1, 2, 1), (0, 1, -1)), 4: ((0, 0, 1), (2, 2, -1)), 5: ((2, 1, 1), (1, 0, -1))}
_CURL_H = {0: ((1, 5, 1), (0, 4, -1)), 1: ((0, 3, 1), (2, 5, -1)), 2: ((2, 4, 1), (1, 3, -1))}


class _Derivative:
    """One stretched derivative along one array axis, to half nodes (of E) or to nodes (of H); keeps its convolution."""

    def __init__(self, problem: Problem, axis: int, *, half: bool) -> None:
        self._axis, self._half = axis, half
        along = 2 - axis
        spacing = np.append(problem.grid.spacing(along), np.inf) if half else problem.grid.dual(along)
        column = [1, 1, 1]
        column[axis] = -1
        self._distance = spacing.reshape(column)
        filters = problem.absorber.filters(problem.grid, along, half=half)
        self._gain, self._decay, self._drive = (row.reshape(column) for row in filters)
        self._psi: np.ndarray | float = 0.0

    def __call__(self, field: np.ndarray) -> np.ndarray:
        width = [(0, 0)] * 3
        width[self._axis] = (0, 1) if self._half else (1, 0)
        slope = np.diff(np.pad(field, width), axis=self._axis) / self._distance
        self._psi = self._decay * self._psi + self._drive * slope
        return self._gain * slope + self._psi


def run(problem: Problem, take: Taker | None = None, look: Look | None = None) -> Records:
    """Step a problem to its end in float64.

    Args:
        problem: What to step.
        take: Gets every sample of the box.
        look: Called at every look at the energy.
    """
    grid, sampling = problem.grid, problem.sampling
    opened = ~problem.media.metal
    magnetic = np.stack([grid.inside(name) for name in ("h_x", "h_y", "h_z")])
    live = np.concatenate([opened, magnetic])
    state = np.zeros(live.shape) if problem.initial is None else np.where(live, problem.initial, 0.0)
    ca, cb = problem.factors()
    curls = {
        target: [(_Derivative(problem, axis, half=target > 2), part, sign) for axis, part, sign in terms]
        for target, terms in (_CURL_E | _CURL_H).items()
    }
    light = 299792458.0 * grid.dt
    sums, energy, start = [], [], time.perf_counter()
    for step in range(sampling.steps):
        for target in (3, 4, 5):
            curl = sum(sign * slope(state[part]) for slope, part, sign in curls[target])
            state[target] = np.where(live[target], state[target] - light * curl, 0.0)
        for target in (0, 1, 2):
            curl = sum(sign * slope(state[part]) for slope, part, sign in curls[target])
            state[target] = np.where(live[target], ca[target] * state[target] + cb[target] * curl, 0.0)
        source = problem.source
        if source is not None and step < len(source.waveform):
            np.add.at(state, tuple(source.points.T), source.gains * source.waveform[step])
        if problem.probe is not None:
            sums.append(problem.probe.weights @ state[tuple(problem.probe.points.T)])
        done = step + 1
        if problem.box is not None and take is not None and done % sampling.record_every == 0:
            take(done // sampling.record_every - 1, state.reshape(-1)[problem.box][None])
        if sampling.check_every and done % sampling.check_every == 0:
            energy.append(field_energy(problem, state))
            if stop(energy, done, sampling, look):
                break
    return Records(
        steps=step + 1,
        sums=np.array(sums).reshape(step + 1, -1),
        final=state,
        energy=np.array(energy),
        finite=bool(np.isfinite(state).all()),
        seconds=time.perf_counter() - start,
    )


def field_energy(problem: Problem, state: np.ndarray) -> float:
    """Return eps |E|^2 + |H|^2 summed over the lattice, V^2 m; E and H as they are, half a step apart."""
    grid = problem.grid
    total = 0.0
    for number, name in enumerate(("e_x", "e_y", "e_z", "h_x", "h_y", "h_z")):
        lengths = []
        for along in range(3):
            between = (name[2] == "xyz"[along]) == (name[0] == "e")
            lengths.append(np.append(grid.spacing(along), 0.0) if between else grid.dual(along))
        density = state[number] ** 2 * (problem.media.permittivity[number] if number < 3 else 1.0)
        total += float(np.einsum("kji,k,j,i->", density, lengths[2], lengths[1], lengths[0]))
    return total
