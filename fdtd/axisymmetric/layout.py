"""Layouts: place and size of everything on the lattice, chosen from the antenna's size.

Cell, domain, absorbing layers, source, port and contour; and when things are recorded.
A layout holds whole numbers and SI floats only, so it can be stored, sent to a worker and used again for the same bits.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from scipy.constants import speed_of_light
from scipy.special import jnp_zeros

from fdtd.axisymmetric.conductors import smallest_opening
from fdtd.axisymmetric.grid import AXIS_PERMEABILITY, AxisymmetricGrid, courant_limit
from fdtd.axisymmetric.monitors import HuygensContour, Sampling
from fdtd.axisymmetric.scene import Scene
from fdtd.axisymmetric.settings import Settings
from fdtd.cpml import AxialLayer, RadialLayer
from fdtd.errors import ConfigError
from fdtd.farfield.cuts import equal_angles, theta_intervals
from fdtd.waveforms import GaussianPulse, KaiserPulse, Pulse, pulse_for, short_pulse_for

_FEED_ABSORBER = 16  # cells; -110 dB at 60 degrees to the axis, where TE11 runs at 1.2 times its cutoff
ABOVE_CUTOFF = 1.02  # nearer to it the feed's waves hardly move, and the lattice's own cutoff may lie above
_MARGIN = 2  # cells between the antenna and the contour
_MOST_CELLS = 10_000_000  # from the aperture to an end of the antenna: no lattice with as many can be solved
_SAMPLES_PER_PERIOD = 5
_LOOK = 160  # standard time steps between two looks at the energy, at least
_LONG_FRACTION = 0.995  # of the stability limit, where `courant_fraction` has its default
_MAY_BE_FALSE = {"own_feeds", "short_pulse", "metal"}  # of a `Layout`; plans of before do not have them


@dataclass(frozen=True, kw_only=True)
class Extent:
    """Space that a study needs: the box around every antenna, its feed and its densest medium; m, feed at z < 0.

    Attributes:
        r_max, z_min, z_max: The box.
        feed_radius: Inner radius of the feed, of the widest where antennas differ.
        feed_length: Inside length of the feed.
        permittivity: Largest.
        narrowest: Inner radius of the narrowest feed; None where all have the same.
        own_feeds: Whether the feeds' walls or fillings differ from antenna to antenna.
        feed_permittivity: Smallest and largest of what fills the feeds.
        metal: Whether antennas have other metal than their feed's.
    """

    r_max: float
    z_min: float
    z_max: float
    feed_radius: float
    feed_length: float
    permittivity: float
    narrowest: float | None = None
    own_feeds: bool = False
    feed_permittivity: tuple[float, float] = (1.0, 1.0)
    metal: bool = False

    @property
    def narrow(self) -> float:
        """Inner radius of the narrowest feed, m."""
        return self.feed_radius if self.narrowest is None else self.narrowest


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One lattice for a whole study.

    Attributes:
        nr, nz, origin: Grid, layers included, and the plane of z = 0.
        cell, courant_number: Cell (m) and c dt/d.
        layer_cells: Thickness of the absorbing layers.
        layer_alpha: Pole shift of the absorbing layers, 1/s.
        feed_columns: Columns of the feed's inside; the node after the last conducts.
        feed_back: Plane of the feed's back wall; the feed's absorber stands in front of it, feed_absorber cells.
        source_plane, port_plane: Planes in the feed.
        contour_column, contour_bottom, contour_top: Huygens box.
        record_every, check_every, steps, settled: See `fdtd.axisymmetric.monitors.Sampling`.
        decay: Energy ratio at which an antenna is done; 0 runs all steps.
        frequencies: Frequencies of the results, Hz.
        design_frequency: Where loss tangents hold, Hz.
        pulse_centre, pulse_width: See `fdtd.waveforms`, Hz.
        surfaces: "full" permittivity tensor where dielectric surfaces cut cells, or its "diagonal" alone.
        own_feeds: Whether radii or fillings of feeds differ; `feed_columns` is that of the widest then.
        short_pulse: Whether the source's waveform is a `KaiserPulse`; else it is a `GaussianPulse`.
        metal: Whether antennas have other metal than their feed's; a device chooses its scheme by it.
    """

    nr: int
    nz: int
    origin: int
    cell: float
    courant_number: float
    layer_cells: int
    layer_alpha: float
    feed_columns: int
    feed_back: int
    feed_absorber: int
    source_plane: int
    port_plane: int
    contour_column: int
    contour_bottom: int
    contour_top: int
    record_every: int
    check_every: int
    steps: int
    settled: int
    decay: float
    frequencies: tuple[float, ...]
    design_frequency: float
    pulse_centre: float
    pulse_width: float
    surfaces: str
    own_feeds: bool = False
    short_pulse: bool = False
    metal: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, for JSON; what may be false where it is true."""
        return {name: value for name, value in asdict(self).items() if name not in _MAY_BE_FALSE or value}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Layout:
        """The layout that `to_dict` wrote; unknown keys are refused."""
        known = {field.name for field in fields(cls)}
        if set(data) | _MAY_BE_FALSE != known:
            wrong = sorted((set(data) | _MAY_BE_FALSE) ^ known)
            raise ConfigError(f"layout has keys {wrong} too many or too few; it is of another version")
        return cls(**{**data, "frequencies": tuple(data["frequencies"])})

    @property
    def grid(self) -> AxisymmetricGrid:
        """The lattice."""
        return _grid(self.courant_number, cell=self.cell, nr=self.nr, nz=self.nz, origin=self.origin)

    @property
    def radial_layer(self) -> RadialLayer:
        """In front of r_max."""
        return RadialLayer(cells=self.layer_cells, strength=0.8, alpha=self.layer_alpha)

    @property
    def axial_layers(self) -> tuple[AxialLayer, ...]:
        """In front of z_min, z_max and the feed's back wall."""
        n, alpha = self.layer_cells, self.layer_alpha
        return (
            AxialLayer(inner=n, outer=0, columns=self.nr, strength=0.8, alpha=alpha),
            AxialLayer(inner=self.nz - n, outer=self.nz, columns=self.nr, strength=0.8, alpha=alpha),
            AxialLayer(
                inner=self.feed_back + self.feed_absorber,
                outer=self.feed_back,
                columns=self.feed_columns,
                alpha=alpha,
            ),
        )

    @property
    def contour(self) -> HuygensContour:
        """The Huygens box."""
        return HuygensContour(column=self.contour_column, bottom=self.contour_bottom, top=self.contour_top)

    @property
    def theta_intervals(self) -> int:
        """Number of equal steps of the far field's angles, from the sphere that encloses the Huygens box."""
        sphere = math.hypot(self.contour_column, (self.contour_top - self.contour_bottom) / 2) * self.cell
        return theta_intervals(2 * math.pi * max(self.frequencies) / speed_of_light * sphere)

    @property
    def theta_deg(self) -> np.ndarray:
        """Angles of the far field, degrees, 0 ... 180; all antennas of a lattice have this very array."""
        return equal_angles(self.theta_intervals)

    @property
    def sampling(self) -> Sampling:
        """Times of recording, and the stop."""
        return Sampling(
            record_every=self.record_every,
            check_every=self.check_every,
            steps=self.steps,
            decay=self.decay,
            settled=self.settled,
        )

    @property
    def pulse(self) -> Pulse:
        """The source's waveform."""
        return (KaiserPulse if self.short_pulse else GaussianPulse)(centre=self.pulse_centre, width=self.pulse_width)


def _grid(courant_number: float, **others: Any) -> AxisymmetricGrid:
    """Return the lattice of a time step: those longer than the plain lattice allows need a permeability at the axis."""
    permeability = 1.0 if courant_number <= courant_limit(1) else AXIS_PERMEABILITY
    return AxisymmetricGrid(courant_number=courant_number, axis_permeability=permeability, **others)


def check_bodies(layout: Layout, scene: Scene) -> None:
    """Refuse dielectrics that cut the contour or reach into the absorbing layers; a cell beside them must be free.

    Raises:
        ConfigError: One does; the message gives the place where it would have to end.
    """
    d, n = layout.cell, layout.layer_cells
    for body in scene.dielectrics:
        reaches = (
            ("r", body.r_max, layout.contour_column - 1, layout.nr - n),
            ("z", body.z_max, layout.contour_top - layout.origin - 1, layout.nz - n - layout.origin),
            ("-z", -body.z_min, layout.origin - layout.contour_bottom - 1, layout.origin - n),
        )
        for axis, end, furthest, layer in reaches:
            if end > (furthest + 1e-6) * d:
                past = "reaches into the absorbing layers" if end > layer * d else "cuts the Huygens contour"
                raise ConfigError(
                    f"a dielectric that ends at {axis} = {end * 1e3:.4g} mm {past} "
                    f"(must end at {axis} <= {furthest * d * 1e3:.4g} mm); lay out a larger lattice"
                )


def choose_cell(extent: Extent, highest: float, cells_per_wavelength: float) -> float:
    """The largest cell that resolves the densest medium and puts the feed's wall on the lattice, m."""
    coarsest = speed_of_light / (highest * math.sqrt(extent.permittivity) * cells_per_wavelength)
    return fitted_to(extent.feed_radius, coarsest)


def fitted_to(feed_radius: float, coarsest: float) -> float:
    """The largest cell up to `coarsest` that puts the feed's wall on the lattice, m."""
    return feed_radius / math.ceil(feed_radius / coarsest - 1e-9)


def lay_out(extent: Extent, settings: Settings) -> Layout:
    """Choose a layout.

    Args:
        extent: What must fit.
        settings: Frequencies, mesh, layers, and when to stop.

    Raises:
        ConfigError: Something does not fit, or the feed is below cutoff.
    """
    d = settings.cell or choose_cell(extent, max(settings.frequencies), settings.cells_per_wavelength)
    cutoff = _feed_cutoff(extent, settings, d)
    box = _box(extent, settings, d)
    courant = _courant_number(settings)
    lattice = _grid(courant, cell=d, nr=box["nr"], nz=box["nz"], origin=box["origin"])
    return Layout(
        cell=d,
        courant_number=courant,
        layer_cells=settings.layer_cells,
        layer_alpha=0.1 * 2 * math.pi * settings.design_frequency,
        frequencies=tuple(float(f) for f in settings.frequencies),
        design_frequency=settings.design_frequency,
        surfaces=settings.surfaces,
        short_pulse=settings.pulse == "short",
        own_feeds=extent.own_feeds,
        metal=extent.metal,
        **box,
        **_feed(extent, lattice),
        **_times(extent, settings, cutoff, lattice),
    )


def _courant_number(settings: Settings) -> float:
    """Return c dt/d."""
    if settings.time_step == "standard":
        return settings.courant_fraction * courant_limit(1)
    fraction = _LONG_FRACTION / Settings.courant_fraction * settings.courant_fraction
    return min(fraction, 1.0) * courant_limit(1, axis_permeability=AXIS_PERMEABILITY)


def _feed_cutoff(extent: Extent, settings: Settings, d: float) -> float:
    """Return the cutoff of the feed's TE11, Hz; of several feeds' the highest.

    Raises:
        ConfigError: Cells of size d do not resolve the feed, or a frequency is too low for it.
    """
    if extent.narrow < 3.5 * d:
        raise ConfigError(
            f"cell = {d * 1e3:g} mm leaves fewer than 4 cells across the feed's inner radius of "
            f"{extent.narrow * 1e3:g} mm; refine it"
        )
    lowest = min(settings.frequencies)
    cutoff = float(jnp_zeros(1, 1)[0]) * speed_of_light / (2 * math.pi * extent.narrow)
    cutoff /= math.sqrt(extent.feed_permittivity[0])
    if lowest < ABOVE_CUTOFF * cutoff:
        raise ConfigError(
            f"frequency {lowest / 1e9:g} GHz is below or near the feed's cutoff, {cutoff / 1e9:.4g} GHz "
            f"(needs >= {ABOVE_CUTOFF * cutoff / 1e9:.4g} GHz); raise it or widen feed.inner_radius"
        )
    return cutoff


def check_samples(layout: Layout) -> None:
    """Refuse a run that ends before the fields are first sampled: it has no far field.

    Raises:
        ConfigError: It does.
    """
    if layout.steps < layout.record_every:
        raise ConfigError(
            f"steps = {layout.steps} ends before the first sample of the fields (must be >= {layout.record_every}); "
            "raise it or leave it out"
        )


def _box(extent: Extent, settings: Settings, d: float) -> dict[str, int]:
    """Return size and origin of the lattice, and the contour in it: of a `Layout`, by name.

    Raises:
        ConfigError: The grid that was asked for is too small, or one would have more than ten million cells a side.
    """
    longest = float(np.max([extent.r_max, -extent.z_min, extent.z_max]))
    if not longest <= _MOST_CELLS * d:
        raise ConfigError(
            f"an antenna that reaches {longest:.4g} m from the feed's aperture has {longest / d:.3g} cells of "
            f"{d * 1e3:.4g} mm on the way (must be <= {_MOST_CELLS}); make it smaller, or the cells larger"
        )
    lowest, layer_cells = min(settings.frequencies), settings.layer_cells
    distance = speed_of_light / lowest / 4 if settings.layer_distance is None else settings.layer_distance
    gap = max(math.ceil(distance / d), _MARGIN + 3)
    columns = math.ceil(extent.r_max / d - 1e-6)
    below, above = math.ceil(-extent.z_min / d - 1e-6), math.ceil(extent.z_max / d - 1e-6)
    nr, nz = columns + gap + layer_cells, below + above + 2 * (gap + layer_cells)
    origin = below + gap + layer_cells
    if settings.shape is not None:
        wide, tall = settings.shape
        if wide < nr or tall < nz:
            raise ConfigError(
                f"grid = [{wide}, {tall}] is too small (needs >= [{nr}, {nz}]); enlarge it or leave it out"
            )
        origin += (tall - nz) // 2
        nr, nz = wide, tall
    return {
        "nr": nr,
        "nz": nz,
        "origin": origin,
        "contour_column": columns + _MARGIN,
        "contour_bottom": origin - below - _MARGIN,
        "contour_top": origin + above + _MARGIN,
    }


def _feed(extent: Extent, lattice: AxisymmetricGrid) -> dict[str, int]:
    """Return the feed's columns, and its planes from back wall to port: of a `Layout`, by name.

    Raises:
        ConfigError: The feed is too short for its absorber.
    """
    d, origin = lattice.cell, lattice.origin
    back = origin - math.floor(extent.feed_length / d + 1e-6)
    absorber = min(_FEED_ABSORBER, (origin - back) // 2)
    if absorber < 6:
        raise ConfigError(
            f"feed.length = {extent.feed_length * 1e3:g} mm is too short for cells of {d * 1e3:g} mm "
            f"(needs >= {12 * d * 1e3:g} mm); lengthen it or refine the mesh"
        )
    source = back + absorber + 1
    return {
        "feed_columns": math.ceil(extent.feed_radius / d - smallest_opening(lattice)),
        "feed_back": back,
        "feed_absorber": absorber,
        "source_plane": source,
        "port_plane": source + max(2, (origin - source) // 4),
    }


def _times(extent: Extent, settings: Settings, cutoff: float, lattice: AxisymmetricGrid) -> dict[str, Any]:
    """Return the source's pulse, when to record, and when to stop: of a `Layout`, by name."""
    dt = lattice.time_step
    lowest, highest = min(settings.frequencies), max(settings.frequencies)
    pulse = (short_pulse_for if settings.pulse == "short" else pulse_for)(np.array(settings.frequencies), cutoff)
    record_every = max(1, int(1 / (_SAMPLES_PER_PERIOD * highest * dt)))
    look = _LOOK if settings.time_step == "standard" else _LOOK * courant_limit(1) / lattice.courant_number
    check_every = record_every * math.ceil(look / record_every)
    transit = (extent.z_max - extent.z_min + extent.r_max) * math.sqrt(extent.permittivity) / speed_of_light
    settled = math.ceil((pulse.duration + transit) / dt)
    # Near its cutoff the feed holds energy for longer: its waves move that much slower than light.
    # Of fillings between two, one at an end has the slowest waves.
    thinnest = extent.feed_permittivity[0]
    slowness = max(
        math.sqrt(one) / math.sqrt(1 - thinnest / one * (cutoff / lowest) ** 2) for one in extent.feed_permittivity
    )
    ringing = transit + (slowness - 1) * extent.feed_length / speed_of_light
    most = settings.max_steps or settled + 60 * ringing / dt
    return {
        "record_every": record_every,
        "check_every": check_every,
        "steps": settings.exact_steps or check_every * math.ceil(most / check_every),
        "settled": settled,
        "decay": 0.0 if settings.exact_steps else 10 ** (-settings.decay_db / 10),
        "pulse_centre": pulse.centre,
        "pulse_width": pulse.width,
    }
