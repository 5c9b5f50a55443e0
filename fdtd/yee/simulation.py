"""Solve a scene on a lattice: S11, impedance, powers and far field."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.constants import epsilon_0, mu_0, speed_of_light

from fdtd.backends import YEE_BACKENDS, gathering, step_batch
from fdtd.checks import check_stop, checked_frequencies
from fdtd.errors import ConfigError
from fdtd.farfield.box import HuygensBox
from fdtd.farfield.polarisation import LINEAR
from fdtd.farfield.rings import Rings, rings_of
from fdtd.waveforms import GaussianPulse, Pulse
from fdtd.yee.grid import Grid
from fdtd.yee.layers import Absorber
from fdtd.yee.media import Media, fill
from fdtd.yee.mesh import check_inside, huygens_box
from fdtd.yee.ports import Feed, port_columns
from fdtd.yee.problem import Look, Problem, Records, Sampling
from fdtd.yee.ringing import continued, ringing_rates
from fdtd.yee.scene import GuidePort, LumpedPort, Scene, check_faces
from fdtd.yee.spectrum import FITTED
from fdtd.yee.sphere import Directions, directions_of, sphere_order
from fdtd.yee.surface import Far, Gatherer, Surface
from fdtd.yee.waveguide import guide_mode

_ETA = float(np.sqrt(mu_0 / epsilon_0))
_SAMPLES_PER_PERIOD = 1.1  # of the sum of the highest frequencies of pulse and transform
_LOOK = 160  # steps between looks at the energy, at least
_FINER = 4  # times as many samples of the port's voltage, for the rates
_PERIODS = 400  # of the lowest frequency, at most
_ON_LATTICE: dict[type, Callable[[Any, Grid, Media], Feed]] = {LumpedPort: port_columns, GuidePort: guide_mode}
_CUT_THETA_DEG = np.arange(-180.0, 181.0, 2.0)


@dataclass(frozen=True, kw_only=True)
class Stepper:
    """What steps the fields.

    Attributes:
        backend: One of `fdtd.backends.YEE_BACKENDS`.
        precision: "float32" or "float64"; the reference is always float64.
        extrapolate: Continue what still rings at the last step as damped waves, see `fdtd.yee.ringing`.
        devices: That share each lattice; several with "cuda" alone, see `fdtd.backends.cuda.yee.run_split`.
    """

    backend: str = "cpu"
    precision: str = "float32"
    extrapolate: bool = True
    devices: int = 1

    def __post_init__(self) -> None:
        if self.backend not in YEE_BACKENDS:
            raise ConfigError(f"backend = {self.backend!r} is unknown (allowed: {', '.join(YEE_BACKENDS)})")
        if self.precision not in (known := ("float32", "float64")):
            raise ConfigError(f"precision = {self.precision!r} is unknown (allowed: {', '.join(known)})")
        if not isinstance(self.devices, Integral) or self.devices < 1 or (self.devices > 1 and self.backend != "cuda"):
            raise ConfigError(
                f"devices = {self.devices} is not allowed with backend {self.backend} (needs 1, or more with cuda)"
            )


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """Where `solve_batch` reports.

    Attributes:
        progress: Called at every look at the energy, on a device of the first antenna alone.
        stages: Where to add the seconds spent in `rasterise`, `step` and `transform`.
        rasterised: Called once all antennas are.
    """

    progress: Look | None = None
    rasterised: Callable[[], None] | None = None
    stages: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """One antenna, solved. Time convention exp(+jwt); all powers and fields for 1 W available from the port.

    Powers are of the whole antenna where walls are symmetry planes, and of the space in front of other electric walls.

    Attributes:
        status: "ok", "undecayed" (energy above `decay_db` at the step limit) or "diverged".
        steps: Steps taken.
        seconds: Spent stepping.
        decay_db: Energy at the last look over its largest at any, dB.
        frequencies: Hz, (F,).
        s11: (F,).
        impedance: Of the antenna at the port, ohm, (F,); E over H of the mode at the reference plane of a guide.
        accepted_power: 1 - |S11|^2, less what an uneven field loses in a lumped port's resistance, W, (F,).
        radiated_power: Far field integrated over the sphere, W, (F,).
        box_power: Flux of the fields through the Huygens box, W, (F,).
        dissipated_power: In lossy dielectrics, W, (F,); zero without any.
        theta_deg: Of the cuts, (T,).
        far_field: E_theta and E_phi of the cuts phi = 0, 45 and 90 degrees, (F, 3, T, 2), peak V: |E|^2 / (2 eta0) is
            W/sr. The phase's origin is that of the coordinates.
        voltage: Across the port's columns after every step, V for a pulse of 1 V, (steps,); longer where it is
            extrapolated. Of a port in a guide the mode's field in its two planes, (steps, 2), V/m.
    """

    status: str
    steps: int
    seconds: float
    decay_db: float
    frequencies: np.ndarray
    s11: np.ndarray
    impedance: np.ndarray
    accepted_power: np.ndarray
    radiated_power: np.ndarray
    box_power: np.ndarray
    dissipated_power: np.ndarray
    theta_deg: np.ndarray
    far_field: np.ndarray
    voltage: np.ndarray
    _spectrum: _Spectrum = field(repr=False)
    _directions: Directions = field(repr=False)
    _port: Feed = field(repr=False)
    _pulse: np.ndarray = field(repr=False)

    def reflection(self, frequencies: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return S11 at any frequencies of the pulse, Hz, complex, same shape."""
        wanted = np.asarray(frequencies, dtype=float)
        return self._port.read(self.voltage, self._pulse, self._spectrum.surface.box.grid.dt, wanted).s11

    def field_towards(self, theta_deg: np.ndarray, phi_deg: np.ndarray) -> np.ndarray:
        """Return E_theta and E_phi in any directions as in `far_field`, (F, directions, 2)."""
        return self._spectrum.towards(np.deg2rad(theta_deg), np.deg2rad(phi_deg))

    def rings(self, polarisation: str = LINEAR) -> Rings:
        """Return means and largest values over phi, from the directions that the power was integrated over.

        Amplitudes are such that their squares are directivity. No direction is added.

        Args:
            polarisation: The wanted one, of `fdtd.farfield.polarisation.POLARISATIONS`.

        Raises:
            ConfigError: The antenna stands next to an electric wall, behind which there is no field.
        """
        box, first = self._spectrum.surface.box, math.prod(self._directions.cuts)
        if any(kind == "electric" for _, _, kind in box.walls):
            raise ConfigError("means over phi are of antennas with a field all round; open the electric walls")
        rings, power = self._directions.rings, np.maximum(self.radiated_power, np.finfo(float).tiny)
        scale = self._spectrum.scale * np.sqrt(2 * np.pi / (_ETA * power))
        field = self._spectrum.far.field[:, first:] * scale[:, None, None]
        return rings_of(
            field.reshape(len(field), *rings, 2),
            2 * np.pi * self.frequencies / speed_of_light,
            centre=box.centre,
            intervals=180 * math.ceil(rings[0] / 90),  # powers have twice the degrees of waves
            polarisation=polarisation,
        )

    @property
    def directivity(self) -> np.ndarray:
        """4 pi U / radiated power of the cuts, a ratio, (F, 3, T)."""
        intensity = (np.abs(self.far_field) ** 2).sum(axis=-1) / (2 * _ETA)
        return 4 * np.pi * intensity / self.radiated_power[:, None, None]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Spectrum:
    """Samples of the box at the frequencies, and the factor to fields for 1 W available, (F,)."""

    surface: Surface
    far: Far
    scale: np.ndarray

    def towards(self, theta: np.ndarray, phi: np.ndarray) -> np.ndarray:
        found = self.surface.box.radiate(self.far.spectra(), self.surface.frequencies, theta, phi)
        return found * self.scale[:, None, None]


def solve(
    scene: Scene,
    grid: Grid,
    frequencies: Sequence[float] | np.ndarray,
    *,
    decay_db: float = -50.0,
    max_steps: int | None = None,
    theta_deg: np.ndarray | None = None,
    stepper: Stepper | None = None,
    progress: Look | None = None,
) -> Solution:
    """Solve one antenna.

    Args:
        scene: What stands in space, with a port.
        grid: Its lattice, as `layout` makes it.
        frequencies: Hz, (F,). S11 at further frequencies costs nothing: see `Solution.reflection`.
        decay_db: Stop once the energy has fallen to this, dB of its largest; below 0.
        max_steps: Step limit, from 1; default is 400 periods of the lowest frequency.
        theta_deg: Angles of the cuts, negative ones on the far side; default is -180 to 180 in steps of 2.
        stepper: Backend and precision; default is the CPU in float32.
        progress: Called at every look at the energy.

    Raises:
        ConfigError: There is no port, it touches no metal, its mode is not alone in the guide, a sheet lies between
            lattice planes, the scene reaches through the Huygens box, faces of scene and lattice differ, or frequencies
            or limits are not as above.
    """
    return solve_batch(
        [scene],
        [grid],
        frequencies,
        decay_db=decay_db,
        max_steps=max_steps,
        theta_deg=theta_deg,
        stepper=stepper,
        hooks=Hooks(progress=progress),
    )[0]


def solve_batch(
    scenes: Sequence[Scene],
    grids: Sequence[Grid],
    frequencies: Sequence[float] | np.ndarray,
    *,
    decay_db: float = -50.0,
    max_steps: int | None = None,
    theta_deg: np.ndarray | None = None,
    stepper: Stepper | None = None,
    hooks: Hooks | None = None,
) -> list[Solution]:
    """Solve antennas, each on its own lattice; a device steps them together, a CPU one after the other.

    A solution does not depend on the other antennas, to the bit.

    Args:
        scenes: As `solve` takes them.
        grids: Of each scene.
        frequencies: Hz, (F,), the same for all.
        decay_db: See `solve`.
        max_steps: See `solve`.
        theta_deg: See `solve`.
        stepper: See `solve`.
        hooks: Where to report.

    Raises:
        ConfigError: See `solve`.
    """
    stepper = stepper or Stepper()
    wanted = checked_frequencies(frequencies)
    check_stop(decay_db, max_steps)
    hooks = hooks or Hooks()
    spent = hooks.stages
    theta = _CUT_THETA_DEG if theta_deg is None else np.asarray(theta_deg, dtype=float)
    with _timed(spent, "rasterise"):
        angles = tuple(theta.tolist())
        ready = [_Ready.of(pair, wanted, angles, (decay_db, max_steps)) for pair in zip(scenes, grids, strict=True)]
    if hooks.rasterised is not None:
        hooks.rasterised()
    with _timed(spent, "step"):
        samples = gathering(stepper.backend, [one.surface for one in ready])
        problems = [one.problem for one in ready]
        records = step_batch(
            stepper.backend, problems, samples.takers, stepper.precision, hooks.progress, stepper.devices
        )
    with _timed(spent, "transform"):
        each = zip(ready, records, samples.takers, strict=True)
        voltages = [one.voltage(left, taker, stepper) for one, left, taker in each]
        answers = zip(ready, records, voltages, samples.far(), strict=True)
        return [one.solution(left, voltage, far, decay_db) for one, left, voltage, far in answers]


@contextmanager
def _timed(stages: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    stages[name] = stages.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ready:
    """An antenna that can be stepped, and what its records become."""

    grid: Grid
    media: Media
    port: Feed
    waveform: np.ndarray
    problem: Problem
    surface: Surface
    directions: Directions

    @classmethod
    def of(
        cls, placed: tuple[Scene, Grid], frequencies: np.ndarray, theta_deg: tuple[float, ...],
        limits: tuple[float, int | None],
    ) -> _Ready:  # fmt: skip
        """Rasterise a scene on a lattice; angles are those of the cuts, `limits` the decay in dB and the step limit."""
        scene, grid = placed
        if scene.port is None:
            raise ConfigError("scene.port is missing; give the scene a LumpedPort or a GuidePort")
        checked_frequencies(frequencies, grid.dt)
        check_faces(scene, grid)
        check_inside(scene, grid)
        media = fill(scene, grid)
        port = _ON_LATTICE[type(scene.port)](scene.port, grid, media)
        loaded = port.loaded(media)
        lossy = np.nonzero(((loaded.conductivity > 0) & ~media.metal).ravel())[0]
        of_port = replace(media, conductivity=loaded.conductivity - media.conductivity)
        pulse = port.pulse(frequencies)
        waveform = pulse.samples(grid.dt)
        box = HuygensBox(grid, huygens_box(grid), port.hole)
        problem = Problem(
            grid=grid,
            media=loaded,
            sampling=_sampling(grid, frequencies, pulse, limits),
            absorber=Absorber.around((frequencies.min() + frequencies.max()) / 2),
            box=np.concatenate([box.indices, lossy]),
        )
        directions = directions_of(theta_deg, sphere_order(box, frequencies))
        return cls(
            grid=grid,
            media=media,
            port=port,
            waveform=waveform,
            problem=port.drive(problem, waveform),
            surface=Surface(
                box=box,
                lossy=np.stack(
                    [
                        *(_losses(grid, one, lossy) for one in (media, of_port)),
                        port.lengths_at(lossy, media.metal.shape),
                    ]
                ),
                frequencies=frequencies,
                interval=problem.sampling.record_every * grid.dt,
                theta=directions.theta,
                phi=directions.phi,
            ),
            directions=directions,
        )

    def voltage(self, records: Records, taker: Gatherer, stepper: Stepper) -> np.ndarray:
        """Return the port's record, continued where it rings on; the samples' spectra are continued as well."""
        voltage = self.port.voltage(records.sums)
        if self.port.continued and stepper.extrapolate and records.finite:
            return _ring_on(self.problem, taker, voltage, len(self.waveform))
        return voltage

    def solution(self, records: Records, voltage: np.ndarray, far: Far, decay_db: float) -> Solution:
        """Return what the records say."""
        grid, port, wanted, cuts = self.grid, self.port, self.surface.frequencies, self.directions.cuts
        images = grid.copies
        reading = port.read(voltage, self.waveform, grid.dt, wanted, images)
        power = np.abs(reading.scale) ** 2
        on_cuts, on_sphere = far.field[:, : cuts[0] * cuts[1]], far.field[:, cuts[0] * cuts[1] :]
        uneven = port.uneven(far.losses[:, 1], far.voltage, grid.dt, wanted)
        intensity = (np.real(on_sphere) ** 2 + np.imag(on_sphere) ** 2).sum(axis=-1) / (2 * _ETA)
        return Solution(
            status=_status(records, decay_db),
            steps=records.steps,
            seconds=records.seconds,
            decay_db=10 * math.log10(max(records.decay, 1e-30)) if records.finite else math.nan,
            frequencies=wanted,
            s11=reading.s11,
            impedance=reading.impedance,
            accepted_power=1 - np.abs(reading.s11) ** 2 - power * images * uneven,
            radiated_power=power * (intensity @ self.directions.in_front_of(self.surface.box)),
            box_power=power * images * far.flux / (2 * _ETA),
            dissipated_power=power * images * far.losses[:, 0],
            theta_deg=np.array(self.directions.theta_deg),
            far_field=(on_cuts * reading.scale[:, None, None]).reshape(len(wanted), *cuts, 2),
            voltage=voltage,
            _spectrum=_Spectrum(surface=self.surface, far=far, scale=reading.scale),
            _directions=self.directions,
            _port=port,
            _pulse=self.waveform,
        )


def _sampling(grid: Grid, frequencies: np.ndarray, pulse: Pulse, limits: tuple[float, int | None]) -> Sampling:
    decay_db, most = limits
    reach = 4 * pulse.deviation if isinstance(pulse, GaussianPulse) else pulse.width
    highest = pulse.centre + reach + float(frequencies.max())
    if most is None:
        most = math.ceil(_PERIODS / (float(frequencies.min()) * grid.dt))
    return Sampling.until(
        decay_db,
        most,
        settled=math.ceil(pulse.duration / grid.dt),
        look=_LOOK,
        record_every=max(1, int(1 / (_SAMPLES_PER_PERIOD * highest * grid.dt))),
    )


def _ring_on(problem: Problem, gather: Gatherer, voltage: np.ndarray, settled: int) -> np.ndarray:
    """Continue the box's spectrum, and return the port's voltage continued."""
    every, dt = problem.sampling.record_every, problem.grid.dt
    tail, stride = len(voltage) - settled, max(1, every // _FINER)
    after = voltage[settled:][(tail - 1) % stride :: stride]
    rates = ringing_rates(after, stride * dt, largest=float(np.abs(voltage).max()))
    gather.ring_on(rates, min(FITTED, tail // every))
    return continued(voltage, dt, rates, min(FITTED * every, tail))


def _status(records: Records, decay_db: float) -> str:
    if not records.finite:
        return "diverged"
    return "ok" if records.decay < 10 ** (decay_db / 10) else "undecayed"


def _losses(grid: Grid, media: Media, places: np.ndarray) -> np.ndarray:
    """Return what |E|^2 of edges weighs in the power lost, W/(V/m)^2: half of sigma over the edges' volumes.

    Args:
        grid: The lattice.
        media: On it.
        places: Flat indices of the edges, (edges,).
    """
    component, k, j, i = np.unravel_index(places, media.conductivity.shape)
    volume = np.ones(len(places))
    for axis, index in enumerate((i, j, k)):
        both = np.stack([grid.dual(axis), np.append(grid.spacing(axis), 0.0)])
        volume *= both[(component == axis).astype(int), index]
    return media.conductivity.ravel()[places] * volume / 2
