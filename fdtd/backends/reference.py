"""The oracle: axisymmetric FDTD in plain NumPy, float64, one step at a time, written to be read rather than to be fast.

It keeps the physical components (E_phi and H_phi, not r times them) on arrays that include the conducting walls as
planes of zeros, takes finite differences with `np.diff`, and only turns to the stored unknowns of `Problem` where
something is recorded. It shares no index arithmetic with the other backends, so that agreement means something.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.constants import epsilon_0

from fdtd.axisymmetric.grid import AxisymmetricGrid
from fdtd.axisymmetric.problem import Problem, Records, Watch
from fdtd.cpml import AxialLayer

_COMPONENTS = ("e_r", "e_phi", "e_z", "h_r", "h_phi", "h_z")


def run(problem: Problem, *, watch: Watch | None = None) -> Records:
    """Step a batch to its energy stop or step limit.

    Args:
        problem: What to solve; see `Problem` for the unknowns and the recursion.
        watch: Called at every look at the energy.

    Returns:
        What was recorded. `energy` is infinite for an antenna whose fields stopped being finite, zero for one that
        never had any.
    """
    sampling = problem.sampling
    stepper = Stepper(problem)
    recorder = _Recorder(problem)
    with np.errstate(over="ignore", invalid="ignore"):
        for n in range(sampling.steps):
            stepper.step()
            if (n + 1) % sampling.record_every == 0:
                recorder.record(stepper, n)
            if problem.snapshots is not None and problem.snapshots.due(n + 1):
                recorder.snapshot(stepper)
            if (n + 1) % sampling.check_every == 0:
                recorder.look(stepper, n)
                if watch is not None:
                    watch(n + 1, float(recorder.ratio[0]))
            if not recorder.active.any():
                break
        return recorder.records(stepper)


class Stepper:
    """Fields of a batch and the update that takes them one time step on.

    Attributes:
        fields: Physical components, E times the edge's open part, H times the free-space impedance. With walls: e_r
            [batch, nz + 1, nr], e_phi [batch, nz + 1, nr + 1], e_z [batch, nz, nr + 1], h_r [batch, nz, nr], h_phi
            [batch, nz, nr], h_z [batch, nz, nr].
        steps: Steps taken so far.
    """

    def __init__(self, problem: Problem) -> None:
        grid, batch = problem.grid, problem.media.batch
        self.problem, self.grid, self.order = problem, grid, grid.azimuthal_order
        self.steps = 0
        self.node = np.arange(grid.nr, dtype=float)  # radii in cells
        self.half = self.node + 0.5
        shapes = dict.fromkeys(_COMPONENTS, (batch, grid.nz, grid.nr))
        shapes |= {"e_r": (batch, grid.nz + 1, grid.nr), "e_phi": (batch, grid.nz + 1, grid.nr + 1)}
        shapes |= {"e_z": (batch, grid.nz, grid.nr + 1)}
        self.fields = {name: np.zeros(shape) for name, shape in shapes.items()}
        self.keep, self.gain = _loss_coefficients(problem)
        self.face = {name: problem.media.open_area[:, c] for c, name in enumerate(("h_r", "h_phi", "h_z"))}
        self.radial = _radial_filters(problem)
        self.axial = [_AxialFilter(layer, grid) for layer in problem.axial_layers]
        if problem.initial is not None:
            self._start(problem.initial)

    def _start(self, initial: np.ndarray) -> None:
        """Set the fields from the stored unknowns, shape (batch, 6, nz, nr); conductors and the axis rules win."""
        nz, nr = self.grid.nz, self.grid.nr
        for c, name in enumerate(_COMPONENTS):
            self.fields[name][:, :nz, :nr] = initial[:, c]
        self.fields["e_phi"][:, :nz, 1:nr] /= self.node[1:]
        self.fields["h_phi"] /= self.half
        for name in ("e_r", "e_phi", "e_z"):
            self.fields[name][:, :nz, :nr] *= self.gain[name] > 0
        for name in ("e_r", "e_phi"):
            self.fields[name][:, 0] = 0.0
        for name in ("e_phi", "h_r") if self.order == 0 else ("e_phi", "h_r", "e_z"):
            self.fields[name][:, :, 0] = 0.0

    def step(self) -> None:
        """E from n dt to (n + 1) dt, the source, then H from (n + 1/2) dt to (n + 3/2) dt."""
        self._step_e()
        self._drive()
        self._step_h()
        self.steps += 1

    def _step_e(self) -> None:
        m, f, node, half = self.order, self.fields, self.node, self.half
        nz, nr = self.grid.nz, self.grid.nr
        courant = self.grid.courant_number
        # d/dz at the planes 1 ... nz - 1; the row of zeros stands for the wall k = 0.
        dz_h_phi = self._stretched("h_phi", np.pad(np.diff(f["h_phi"], axis=1), ((0, 0), (1, 0), (0, 0))))
        dz_h_r = self._stretched("h_r", np.pad(np.diff(f["h_r"], axis=1), ((0, 0), (1, 0), (0, 0))))
        dr_h_z = np.pad(np.diff(f["h_z"], axis=2), ((0, 0), (0, 0), (1, 0)))  # the axis column is overwritten below
        dr_rh_phi = np.pad(np.diff(half * f["h_phi"], axis=2), ((0, 0), (0, 0), (1, 0)))
        drive = {
            "e_r": self.radial["e_r"](m * f["h_z"] - half * dz_h_phi),
            "e_phi": self.radial["e_phi"](dz_h_r - dr_h_z),
            "e_z": self.radial["e_z"](dr_rh_phi - m * f["h_r"]),
        }
        drive["e_phi"][:, :, 0] = 0.0
        # Ampere's law on the disc of radius d/2: circumference over area is 4 / d.
        drive["e_z"][:, :, 0] = 4.0 * f["h_phi"][:, :, 0] if m == 0 else 0.0
        drive["e_phi"][:, :, 1:] /= node[1:]  # the filter speaks of r E_phi
        coupled = self._coupled(drive["e_r"], drive["e_z"])
        for name, curl in drive.items():
            inner = f[name][:, :nz, :nr]
            inner[...] = self.keep[name] * inner + courant * self.gain[name] * curl
            if name in coupled:
                inner += courant * coupled[name]
        for name in ("e_r", "e_phi"):
            f[name][:, 0] = 0.0

    def _coupled(self, curl_r: np.ndarray, curl_z: np.ndarray) -> dict[str, np.ndarray]:
        """Return what the r-z entry of the inverse permittivity adds to e_r and to e_z from the other one's curl."""
        x = self.problem.media.coupling
        if x is None:
            return {}
        below = np.pad(curl_z[:, :-1], ((0, 0), (1, 0), (0, 0)))
        inside = np.pad(curl_r[:, :, :-1], ((0, 0), (0, 0), (1, 0)))
        at_nodes_z = np.pad(x * self.node * (curl_z + below), ((0, 0), (0, 0), (0, 1)))
        at_nodes_r = np.pad(x * (curl_r + inside), ((0, 0), (0, 1), (0, 0)))
        return {
            "e_r": (at_nodes_z[:, :, :-1] + at_nodes_z[:, :, 1:]) / (4 * self.half),
            "e_z": (at_nodes_r[:, :-1] + at_nodes_r[:, 1:]) / 4,
        }

    def _drive(self) -> None:
        source = self.problem.source
        if source is None or self.steps >= len(source.waveform):
            return
        amplitude, columns = source.waveform[self.steps], source.profile_r.shape[-1]
        radii = np.where(self.node > 0, self.node, np.inf)[:columns]
        self.fields["e_r"][:, source.plane, :columns] -= source.profile_r * amplitude
        self.fields["e_phi"][:, source.plane, :columns] -= source.profile_phi / radii * amplitude

    def _step_h(self) -> None:
        m, f = self.order, self.fields
        nz, nr = self.grid.nz, self.grid.nr
        courant = self.grid.courant_number
        radii = np.arange(nr + 1.0)
        dz_e_phi = self._stretched("e_phi", np.diff(f["e_phi"], axis=1)[:, :, :nr])
        dz_e_r = self._stretched("e_r", np.diff(f["e_r"], axis=1))
        dr_e_z = np.diff(f["e_z"], axis=2)
        dr_re_phi = np.diff(radii * f["e_phi"][:, :nz], axis=2)
        curl_r = self.radial["h_r"](self.node * dz_e_phi + m * f["e_z"][:, :, :nr])
        curl_r[:, :, 0] = 0.0
        f["h_r"] += courant / self.face["h_r"] * curl_r
        f["h_phi"] += courant / self.face["h_phi"] * self.radial["h_phi"](dr_e_z - dz_e_r) / self.half
        curl_z = self.radial["h_z"](dr_re_phi + m * f["e_r"][:, :nz])
        curl_z[:, :, 0] /= self.grid.axis_permeability
        f["h_z"] -= courant / self.face["h_z"] * curl_z

    def _stretched(self, name: str, difference: np.ndarray) -> np.ndarray:
        """The difference along z of one component inside every axial layer's stretched z."""
        for layer in self.axial:
            difference = layer(name, difference)
        return difference

    def stored(self) -> np.ndarray:
        """The unknowns of `Problem`, shape (batch, 6, nz, nr)."""
        nz, nr = self.grid.nz, self.grid.nr
        physical = np.stack([self.fields[name][:, :nz, :nr] for name in _COMPONENTS], axis=1)
        physical[:, 1] *= self.node
        physical[:, 4] *= self.half
        return physical

    def energy(self) -> np.ndarray:
        """Electric plus magnetic energy in units of the lattice, walls and conductors left out, shape (batch,)."""
        nz, nr = self.grid.nz, self.grid.nr
        node_weight, axis_weight = self.node.copy(), self.node.copy()
        if self.order == 0:
            axis_weight[0] = 1 / 8  # half of the disc of radius d/2
        weights = {"e_r": self.half, "e_phi": node_weight, "e_z": axis_weight}
        h_z_weight = self.half.copy()
        h_z_weight[0] *= self.grid.axis_permeability
        weights |= {"h_r": node_weight, "h_phi": self.half, "h_z": h_z_weight}
        total = np.zeros(self.problem.media.batch)
        for b in range(len(total)):
            for name, weight in weights.items():
                square = self.fields[name][b, :nz, :nr] ** 2 * weight
                if name in self.gain:
                    gain = self.gain[name][b]
                    square = np.divide(square, gain, out=np.zeros_like(square), where=gain > 0)
                total[b] += square.sum()
        return total


def _loss_coefficients(problem: Problem) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Semi-implicit E coefficients: what is kept of the old field, and the gain on the curl; zero in conductors."""
    media = problem.media
    keep, gain = {}, {}
    for c, name in enumerate(("e_r", "e_phi", "e_z")):
        permittivity, opening = media.permittivity[:, c], media.open_length[:, c]
        loss = media.conductivity[:, c] * problem.grid.time_step / (2 * permittivity * epsilon_0)
        keep[name] = np.where(opening > 0, (1 - loss) / (1 + loss), 0.0)
        gain[name] = opening / (permittivity * (1 + loss))
    return keep, gain


@dataclass
class _RadialFilter:
    """One component's F(r): a gain everywhere, plus a sum of decaying memories in the layer's columns."""

    gain: np.ndarray
    start: int
    poles: list[tuple[np.ndarray, np.ndarray]]
    memory: list[np.ndarray] = field(default_factory=list)

    def __call__(self, curl: np.ndarray) -> np.ndarray:
        out = self.gain * curl
        outer = curl[:, :, self.start :]
        if not self.memory:
            self.memory = [np.zeros_like(outer) for _ in self.poles]
        for p, (decay, drive) in enumerate(self.poles):
            self.memory[p] = decay * self.memory[p] + drive * outer
            out[:, :, self.start :] += self.memory[p]
        return out


def _radial_filters(problem: Problem) -> dict[str, _RadialFilter]:
    """F_A, F_B, F_C of `fdtd.cpml` for the six components, on nodes or half nodes."""
    grid = problem.grid
    node, half = np.arange(grid.nr, dtype=float), np.arange(grid.nr) + 0.5
    over_node = np.divide(1.0, node, out=np.zeros(grid.nr), where=node > 0)
    plain = {"e_r": 1 / half, "e_phi": node, "e_z": over_node, "h_r": over_node, "h_phi": half, "h_z": 1 / half}
    if problem.radial_layer.cells == 0:
        return {name: _RadialFilter(gain, grid.nr, []) for name, gain in plain.items()}
    table = problem.radial_layer.filters(grid)
    rows = {"e_r": table.half_a, "e_phi": table.node_b, "e_z": table.node_c}
    rows |= {"h_r": table.node_a, "h_phi": table.half_b, "h_z": table.half_c}
    filters = {}
    for name, (layer_gain, *poles) in rows.items():
        gain = plain[name].copy()
        gain[table.start :] = layer_gain
        pairs = list(zip(poles[0::2], poles[1::2], strict=True))
        filters[name] = _RadialFilter(gain, table.start, pairs)
    return filters


class _AxialFilter:
    """1 / s_z of one layer, applied to a difference along z: planes for H, half planes for E."""

    def __init__(self, layer: AxialLayer, grid: AxisymmetricGrid) -> None:
        planes, halves = layer.filters(grid, 0.0), layer.filters(grid, 0.5)
        self.rows, self.columns = slice(*layer.rows), slice(0, layer.columns)
        self.coefficients = {"h_r": planes, "h_phi": planes, "e_r": halves, "e_phi": halves}
        self.memory: dict[str, np.ndarray] = {}

    def __call__(self, name: str, difference: np.ndarray) -> np.ndarray:
        inverse_kappa, decay, drive = (a[:, np.newaxis] for a in self.coefficients[name])
        inside = difference[:, self.rows, self.columns]
        self.memory[name] = decay * self.memory.get(name, np.zeros_like(inside)) + drive * inside
        out = difference.copy()
        out[:, self.rows, self.columns] = inverse_kappa * inside + self.memory[name]
        return out


class _Recorder:
    """Collects samples and energies; an antenna that has stopped is left alone from then on."""

    def __init__(self, problem: Problem) -> None:
        batch = problem.media.batch
        self.problem = problem
        self.active = np.ones(batch, dtype=bool)
        self.taken = np.zeros(batch, dtype=int)
        self.peak, self.ratio = np.zeros(batch), np.zeros(batch)
        self.finite = np.ones(batch, dtype=bool)
        self.port: list[list[np.ndarray]] = [[] for _ in range(batch)]
        self.contour: list[list[np.ndarray]] = [[] for _ in range(batch)]
        self.final = np.zeros((batch, 6, problem.grid.nz, problem.grid.nr))
        self.sums = None if problem.field_map is None else np.zeros((batch, *problem.field_map.shape))
        self.frames: list[np.ndarray] = []

    def record(self, stepper: Stepper, n: int) -> None:
        """Take the samples after step n."""
        fields = stepper.stored()
        for b in np.flatnonzero(self.active):
            self.port[b].append(self._port_sample(fields[b], int(b)))
            self.contour[b].append(self._contour_sample(fields[b]))
        if self.sums is not None and self.problem.field_map is not None:
            box = self.problem.field_map
            part = fields[:, :3, slice(*box.rows), slice(*box.columns)]
            phase = 2 * np.pi * np.asarray(box.frequencies) * (n + 1) * self.problem.grid.time_step
            for b in np.flatnonzero(self.active):
                for q, angle in enumerate(phase):
                    self.sums[b, q, 0] += part[b] * np.cos(angle)
                    self.sums[b, q, 1] -= part[b] * np.sin(angle)

    def snapshot(self, stepper: Stepper) -> None:
        """Keep the electric field as it is now, if its antenna is still being stepped."""
        wanted = self.problem.snapshots
        if wanted is not None and self.active[wanted.antenna]:
            self.frames.append(stepper.stored()[(wanted.antenna, slice(0, 3), *wanted.box)])

    def _port_sample(self, fields: np.ndarray, antenna: int) -> np.ndarray:
        port = self.problem.port
        if port is None:
            return np.zeros(2)
        weights = (port.v_r, port.v_phi, port.c_r, port.c_phi)
        v_r, v_phi, c_r, c_phi = (one[antenna] if one.ndim == 2 else one for one in weights)
        e_r, e, _, h_r, h, _ = fields[:, port.plane, : len(v_r)]
        return np.array([(v_r * e_r + v_phi * e).sum(), (c_r * h_r + c_phi * h).sum()])

    def _contour_sample(self, fields: np.ndarray) -> np.ndarray:
        box = self.problem.contour
        if box is None:
            return np.zeros(0)
        e_r, e, e_z, h_r, h, h_z = fields
        half, node = slice(0, box.column), slice(0, box.column + 1)
        levels, planes = slice(box.bottom, box.top), slice(box.bottom, box.top + 1)
        faces = []
        for plane, behind in ((box.top, box.top), (box.bottom, box.bottom - 1)):
            faces += [e_r[plane, half], e[plane, node], h_r[behind, node], h[behind, half]]
        faces += [e[planes, box.column], e_z[levels, box.column], h[levels, box.column], h_z[planes, box.column]]
        return np.concatenate(faces)

    def look(self, stepper: Stepper, n: int) -> None:
        """Compare the energy with its peak after step n, and stop what has decayed or is no longer finite."""
        sampling, energy = self.problem.sampling, stepper.energy()
        last = n + 1 == sampling.steps
        for b in np.flatnonzero(self.active):
            self.finite[b] = np.isfinite(energy[b])
            self.peak[b] = max(self.peak[b], energy[b])
            self.ratio[b] = (energy[b] / self.peak[b] if self.peak[b] > 0 else 0.0) if self.finite[b] else np.inf
            decayed = n + 1 >= sampling.settled and self.ratio[b] < sampling.decay
            if last or decayed or not self.finite[b]:
                self.active[b], self.taken[b] = False, n + 1
                self.final[b] = stepper.stored()[b]

    def records(self, stepper: Stepper) -> Records:
        """Everything collected so far."""
        for b in np.flatnonzero(self.active):  # a step limit that is no multiple of check_every
            self.taken[b], self.final[b] = stepper.steps, stepper.stored()[b]
        contour = self.problem.contour
        size = 0 if contour is None else contour.size
        return Records(
            steps=self.taken,
            energy=self.ratio,
            finite=self.finite,
            port=[np.reshape(samples, (len(samples), 2)) for samples in self.port],
            contour=[np.reshape(samples, (len(samples), size)) for samples in self.contour],
            field_map=self.sums,
            final=self.final,
            snapshots=self._frames(),
        )

    def _frames(self) -> np.ndarray | None:
        wanted, grid = self.problem.snapshots, self.problem.grid
        if wanted is None:
            return None
        shape = np.zeros((grid.nz, grid.nr))[wanted.box].shape
        return np.reshape(self.frames, (len(self.frames), 3, *shape))
