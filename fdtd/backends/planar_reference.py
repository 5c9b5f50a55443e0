"""The planar oracle: the equations of `fdtd.planar.problem` with NumPy in float64, whole arrays, nothing clever."""

from __future__ import annotations

import numpy as np
from scipy.constants import epsilon_0, mu_0

from fdtd.planar.problem import JacobiProblem, PlanarProblem, PlanarRecords, inverse_or_zero

_IMPEDANCE = np.sqrt(mu_0 / epsilon_0)


class _Stretched:
    """One derivative along one axis, stretched by the layers; keeps its convolution."""

    def __init__(self, filters: np.ndarray, axis: int) -> None:
        self._gain, self._decay, self._drive = (row[None, :, None] if axis == 1 else row[None, None] for row in filters)
        self._psi: np.ndarray | float = 0.0

    def __call__(self, difference: np.ndarray) -> np.ndarray:
        self._psi = self._decay * self._psi + self._drive * difference
        return self._gain * difference + self._psi


def _forward(field: np.ndarray, axis: int) -> np.ndarray:
    """Difference at half nodes; the padding gets zero."""
    out = np.zeros_like(field)
    front = np.s_[:, :-1] if axis == 1 else np.s_[:, :, :-1]
    out[front] = np.diff(field, axis=axis)
    return out


def _backward(field: np.ndarray, axis: int) -> np.ndarray:
    """Difference at nodes; the first gets zero."""
    out = np.zeros_like(field)
    back = np.s_[:, 1:] if axis == 1 else np.s_[:, :, 1:]
    out[back] = np.diff(field, axis=axis)
    return out


class _Fields:
    """State and coefficients common to both polarisations."""

    def __init__(self, problem: PlanarProblem) -> None:
        grid, media = problem.grid, problem.media
        self.courant = grid.courant_number
        self.live = problem.live()
        shape = (media.batch, 3, *grid.shape)
        self.state = np.zeros(shape) if problem.initial is None else problem.initial.astype(float)
        self.state *= self.live
        loss = media.conductivity * grid.time_step / (2 * media.permittivity * epsilon_0)
        self.ca = (1 - loss) / (1 + loss)
        self.cb = 1 / (media.permittivity * (1 + loss))
        layer = problem.layer
        self.node_x = _Stretched(layer.filters(grid, "x", 0.0), 2)
        self.half_x = _Stretched(layer.filters(grid, "x", 0.5), 2)
        self.node_y = _Stretched(layer.filters(grid, "y", 0.0), 1)
        self.half_y = _Stretched(layer.filters(grid, "y", 0.5), 1)


class _TM(_Fields):
    def __init__(self, problem: PlanarProblem) -> None:
        super().__init__(problem)
        self._inverse_x = inverse_or_zero(problem.media.open_x)
        self._inverse_y = inverse_or_zero(problem.media.open_y)

    def step_h(self) -> None:
        e_z = self.state[:, 0]
        self.state[:, 1] -= self.courant * self._inverse_y * self.half_y(_forward(e_z, 1))
        self.state[:, 2] += self.courant * self._inverse_x * self.half_x(_forward(e_z, 2))
        self.state[:, 1:] *= self.live[:, 1:]

    def step_e(self) -> None:
        curl = self.node_x(_backward(self.state[:, 2], 2)) - self.node_y(_backward(self.state[:, 1], 1))
        self.state[:, 0] = self.ca[:, 0] * self.state[:, 0] + self.cb[:, 0] * self.courant * curl
        self.state[:, 0] *= self.live[:, 0]


class _TE(_Fields):
    def __init__(self, problem: PlanarProblem) -> None:
        super().__init__(problem)
        media = problem.media
        self._open_x, self._open_y, self._coupling = media.open_x, media.open_y, media.coupling
        self._inverse_area = inverse_or_zero(media.open_area)

    def step_h(self) -> None:
        e_x, e_y = self.state[:, 1], self.state[:, 2]
        curl = self.half_x(_forward(self._open_y * e_y, 2)) - self.half_y(_forward(self._open_x * e_x, 1))
        self.state[:, 0] -= self.courant * self._inverse_area * curl
        self.state[:, 0] *= self.live[:, 0]

    def step_e(self) -> None:
        h_z = self.state[:, 0]
        curl_x = self.node_y(_backward(h_z, 1)) * self.live[:, 1]
        curl_y = -self.node_x(_backward(h_z, 2)) * self.live[:, 2]
        at_nodes_x, at_nodes_y = curl_x.copy(), curl_y.copy()  # sums of the two neighbours of each node
        at_nodes_x[:, :, 1:] += curl_x[:, :, :-1]
        at_nodes_y[:, 1:] += curl_y[:, :-1]
        to_x, to_y = self._coupling * at_nodes_y / 4, self._coupling * at_nodes_x / 4
        to_x[:, :, :-1] += to_x[:, :, 1:].copy()
        to_y[:, :-1] += to_y[:, 1:].copy()
        for part, (curl, coupled) in enumerate(((curl_x, to_x), (curl_y, to_y))):
            kept = self.ca[:, part] * self.state[:, 1 + part]
            self.state[:, 1 + part] = kept + self.courant * (self.cb[:, part] * curl + coupled)
        self.state[:, 1:] *= self.live[:, 1:]


def run(problem: PlanarProblem) -> PlanarRecords:
    """Step a batch to its end in float64."""
    names = problem.grid.components
    fields = (_TM if problem.grid.polarisation == "TM" else _TE)(problem)
    state = fields.state
    samples = [np.zeros((len(state), problem.steps, len(probe.rows))) for probe in problem.probes]

    def impress(step: int, kind: str) -> None:
        for source in problem.sources:
            if source.component[0] != kind or step >= len(source.samples):
                continue
            change = problem.grid.courant_number * source.samples[step] / problem.grid.cell
            at = np.s_[:, names.index(source.component), source.row, source.column]
            if kind == "e":
                part = names[-fields.cb.shape[1] :].index(source.component) if len(fields.cb[0]) == 2 else 0
                state[at] -= _IMPEDANCE * fields.cb[:, part, source.row, source.column] * change
            else:
                state[at] -= change

    for step in range(problem.steps):
        fields.step_h()
        impress(step, "h")
        fields.step_e()
        impress(step, "e")
        for probe, record in zip(problem.probes, samples, strict=True):
            record[:, step] = state[:, names.index(probe.component), probe.rows, probe.columns]
    finite = np.array([bool(np.isfinite(one).all()) for one in state])
    return PlanarRecords(samples=tuple(samples), final=state, finite=finite)


def run_sum(problem: JacobiProblem) -> np.ndarray:
    """Return the five-point sums after the last step, (batch, rows, columns)."""
    values = problem.initial.astype(np.float64)
    for _ in range(problem.steps):
        total = values[:, 1:-1, 1:-1] + values[:, :-2, 1:-1] + values[:, 2:, 1:-1]
        total += values[:, 1:-1, :-2] + values[:, 1:-1, 2:]
        values = values.copy()
        values[:, 1:-1, 1:-1] = problem.weight * total
    return values
