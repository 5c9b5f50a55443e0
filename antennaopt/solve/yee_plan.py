"""Plan a study in three dimensions: common frequencies, cell, layers and stop; each antenna has its own lattice.

A lattice plane stands on each edge of metal, and edges move with the genes. So there is no lattice for all antennas of
a study: `shape` is that of the largest one, for estimates of time and memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.constants import speed_of_light

from antennaopt.families import Family, kind
from antennaopt.families.narrow import edge_cell, shortest_wave, too_narrow
from antennaopt.families.spatial import Board, Cylinder, Guide, Port
from antennaopt.families.spatial import Tube as Walls
from antennaopt.quantities import ROUNDED, format_length
from antennaopt.settings import CELLS_PER_WAVELENGTH, SolverSettings
from fdtd.errors import ConfigError, TooClose
from fdtd.farfield.polarisation import LINEAR
from fdtd.waveforms import pulse_for
from fdtd.yee import FACES, Block, Dielectric, Grid, GuidePort, LumpedPort, Scene, Sheet, Tube, halved, layout
from fdtd.yee.mesh import check_inside
from fdtd.yee.scene import te10_band

BYTES_PER_CELL = 160
"""Fields, coefficients and layers, in single precision, about."""
LARGEST = 3.0
"""Largest cells in the densest medium over those at edges, where `solver.cell` is given."""
STRIPS = 40
"""Rectangles along x that a cylinder is made of; their faces fall between lattice planes, where media are averaged."""
BETWEEN = 3.0
"""Cells between two edges of metal, at least, on a mesh that halves none."""
ROOM = 2.0
"""Cells of air between an antenna and its layers that are enough for the box on which the far field is computed."""
_NEWER = ("between", "parts", "whole", "rings", "levels", "polarisation")
_STEEPEST = 0.25
"""Least sin(BL) of the two planes of a port in a guide, L apart. The port itself refuses 0.2, with the lattice's B."""
PERIODS = 150
"""Step limit without `max_steps`, in periods of the lowest frequency: energy in a resonance of quality factor 80 falls
by 50 dB in it."""
AFTER = 1.5
"""The same in durations of the source's pulse, where that is more: the slow waves near the cutoff of a guide's mode."""
TRAVEL = 50
"""The same in wavelengths in air that waves of the lowest frequency travel in a guide, where that is more."""


@dataclass(frozen=True, kw_only=True)
class YeePlan:
    """What the antennas of a study share.

    Attributes:
        frequencies: Hz.
        design_frequency: At which loss tangents hold, Hz.
        cell: At the edges of metal, m; elsewhere cells grow, to `cells_per_wavelength`.
        cells_per_wavelength: In each medium, at the highest frequency, at least.
        layers: Cells of the absorbing layers.
        margin: Distance from the antenna to them, m; None for the solver's own.
        decay_db: Energy over its peak at the stop, dB, positive.
        max_steps: Step limit.
        shape: Cells along x, y and z of the largest antenna, layers included.
        time_step: Of that antenna, s.
        precision: "float32" or "float64".
        between: Cells between two edges of metal, at least; edges closer than that have smaller cells than `cell`.
            Layers, guides and gaps of ports, whose cells follow from their own size, have cells in proportion to it.
        parts: How many parts like the one on the lattice the antenna has: 2 where a half is solved, 4 for a quarter.
        whole: Whether boards that are symmetric about y = 0 are solved whole all the same, to compare.
        rings: Whether outcomes have the far field's means over phi, see `antennaopt.solve.rings`.
        levels: Whether these have the smallest and largest co-polar powers too.
        polarisation: Wanted one, which cuts and figures of merit are of: `linear`, `rhcp` or `lhcp`.
    """

    frequencies: tuple[float, ...]
    design_frequency: float
    cell: float
    cells_per_wavelength: float
    layers: int
    margin: float | None
    decay_db: float
    max_steps: int
    shape: tuple[int, int, int]
    time_step: float
    precision: str
    between: float = BETWEEN
    parts: int = 1
    whole: bool = False
    rings: bool = False
    levels: bool = False
    polarisation: str = LINEAR

    @property
    def memory_bytes(self) -> int:
        """Memory that one antenna takes while it is solved, about."""
        return math.prod(self.shape) * BYTES_PER_CELL * (1 if self.precision == "float32" else 2)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; `solver`, `memory_bytes`, `decay` and `settled` are for reading only."""
        about = {
            "solver": "yee",
            "memory_bytes": self.memory_bytes,
            "decay": 10 ** (-self.decay_db / 10),
            "settled": 0,
        }
        return {**self._plain, "frequencies": list(self.frequencies), "shape": list(self.shape), **about}

    @property
    def _plain(self) -> dict[str, Any]:
        """Its values by name; newer ones only where they are asked for, so that other plans are as they always were."""
        plain = {"rings": False, "levels": False, "polarisation": LINEAR}
        return {name: value for name, value in asdict(self).items() if name not in plain or value != plain[name]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> YeePlan:
        """Return the plan that `to_dict` wrote; other keys are left out.

        Older plans have defaults for newer keys, but for `whole`: their boards were solved whole.
        """
        own = {name: data[name] for name in cls.__dataclass_fields__ if name in data or name not in _NEWER}
        return cls(**{"whole": True, **own, "frequencies": tuple(data["frequencies"]), "shape": tuple(data["shape"])})

    def within(self, max_steps: int | None) -> YeePlan:
        """Return the same plan with another step limit; None for its own."""
        return self if max_steps is None else replace(self, max_steps=min(max_steps, self.max_steps))

    @property
    def deciding(self) -> dict[str, Any]:
        """What decides an antenna's numbers; the shape of the largest one does not."""
        return {name: value for name, value in self._plain.items() if name not in ("shape", "time_step", "parts")}


def plan(
    family: str | Family,
    lower: Mapping[str, float],
    upper: Mapping[str, float],
    solver: SolverSettings | Mapping[str, Any],
    *,
    halving: YeePlan | None = None,
    whole: bool = False,
) -> YeePlan:
    """Choose cell and steps for every antenna between two designs.

    Args:
        family: One that is solved in three dimensions.
        lower: Design at the lower ends of all ranges, SI, by dotted name.
        upper: The same at the upper ends.
        solver: The experiment's settings, or a table of them.
        halving: The plan whose cell these settings halve. All cells are halved then: at edges and between close
            ones, in each medium, across layers, guides and gaps of ports.
        whole: See `YeePlan`.

    Raises:
        ConfigError: Nothing fits, or one antenna alone does not fit its cells.
    """
    settings, known = SolverSettings.of(solver), kind(family).of(upper)
    cell, density = edge_cell(known, lower, upper, settings), settings.cells_per_wavelength or CELLS_PER_WAVELENGTH
    if settings.cell is not None and settings.cells_per_wavelength is None:  # edges make those between finer too
        density = max(CELLS_PER_WAVELENGTH, shortest_wave(known, upper, settings) / (LARGEST * cell))
    made = YeePlan(
        frequencies=tuple(settings.frequencies),
        design_frequency=settings.design_frequency,
        cell=cell,
        cells_per_wavelength=density,
        layers=settings.pml_cells,
        margin=settings.pml_distance,
        decay_db=settings.stop_db,
        max_steps=settings.max_steps or 1,
        shape=(1, 1, 1),
        time_step=1.0,
        precision=settings.precision,
        whole=whole,
    )
    if halving is not None:
        density = max(density, 2 * halving.cells_per_wavelength)
        made = replace(made, cells_per_wavelength=density, between=2 * halving.between, whole=halving.whole)
        made = replace(made, polarisation=halving.polarisation)
    if lower == upper:
        grids = [_fitting(made, known, upper)]
    else:
        middle = {name: (value + lower[name]) / 2 for name, value in upper.items()}
        grids = _buildable(made, known, (lower, middle, upper))
    largest = max(grids, key=lambda grid: grid.cells)
    shortest_step = min(grid.dt for grid in grids)
    steps = settings.max_steps or math.ceil(_longest(known, (lower, upper), settings.frequencies) / shortest_step)
    nx, ny, nz = (int(count) for count in largest.counts)
    return replace(made, max_steps=steps, shape=(nx, ny, nz), time_step=float(largest.dt), parts=largest.copies)


def _longest(family: Family, designs: Sequence[Mapping[str, float]], frequencies: Sequence[float]) -> float:
    """Return how long an antenna is solved at most, s; near a guide's cutoff the pulse takes hundreds of periods."""
    guides = [one.port for one in map(family.board, designs) if one is not None and isinstance(one.port, Guide)]
    lowest, cutoffs = min(frequencies), [te10_band(one.width, one.height)[0] for one in guides]
    slow = [one for one in cutoffs if one < lowest]
    pulses = [AFTER * pulse_for(np.array(frequencies), one).duration for one in slow]
    travels = [TRAVEL / lowest / math.sqrt(1 - (one / lowest) ** 2) for one in slow]  # at the group velocity
    return max([PERIODS / lowest, *pulses, *travels])


def _fitting(plan: YeePlan, family: Family, design: Mapping[str, float]) -> Grid:
    """Return the lattice of one design.

    Raises:
        ConfigError: It cannot be built, or does not fit the cells.
    """
    fault = next(iter(family.faults(design)), None) or narrow_fault(plan, family, design)
    if fault:
        raise ConfigError(f"antenna.{fault}")
    board = family.board(design)
    fault = f"a {family.name} is a body of revolution" if board is None else port_fault(plan, board)
    if board is None or fault:
        raise ConfigError(fault)
    return laid_out(plan, board)[1]


def _buildable(plan: YeePlan, family: Family, designs: Sequence[Mapping[str, float]]) -> list[Grid]:
    """Return the lattices of those designs that can be built; the others would be rows `infeasible`.

    Raises:
        ConfigError: None can.
    """
    grids, why = [], ""
    for design in designs:
        try:
            grids.append(_fitting(plan, family, design))
        except ConfigError as error:
            why = str(error)
    if not grids:
        raise ConfigError(f"neither the ends nor the middle of all ranges can be built: {why}; change the ranges")
    return grids


def narrow_fault(plan: YeePlan, family: Family, design: Mapping[str, float]) -> str | None:
    """Return which length of a design is too short for the plan's cells, and what would do; None if none is."""
    return next((one.refusal() for one in too_narrow(family, design, design, plan.cell)), None)


def port_fault(plan: YeePlan, board: Board) -> str | None:
    """Return why a board's port does not do at the plan's frequencies, and what would; None if it does."""
    return _unfit(board.port, plan.frequencies) if isinstance(board.port, Guide) else None


def _unfit(guide: Guide, frequencies: Sequence[float]) -> str | None:
    """Return why a port in a guide cannot be at frequencies, Hz, and what would do; None if it can."""
    first, second = te10_band(guide.width, guide.height)
    alone = f"TE10 is alone from {first / 1e9:.4g} to {second / 1e9:.4g} GHz in a guide of "
    alone += f"{format_length(guide.width)} x {format_length(guide.height)}"
    for one in frequencies:
        if not first < one < second:
            return f"solver.frequencies have {one / 1e9:g} GHz, but {alone}; change them or antenna.feed.width"
    sine = math.sin(_apart(guide, frequencies) * _phase_constant(guide, min(frequencies)))
    if sine < _STEEPEST:
        return (
            f"solver.frequencies from {min(frequencies) / 1e9:g} to {max(frequencies) / 1e9:g} GHz begin too close to "
            f"the cutoff for one port ({alone}); raise the lowest one or widen antenna.feed.width"
        )
    return None


def _phase_constant(guide: Guide, frequency: float) -> float:
    """Return that of TE10, rad/m."""
    from scipy.constants import c

    return math.sqrt((2 * math.pi * frequency / c) ** 2 - (math.pi / guide.width) ** 2)


def _apart(guide: Guide, frequencies: Sequence[float]) -> float:
    """Return the distance of two planes a quarter of a guide's wavelength apart in the middle of a band, m."""
    return math.pi / sum(_phase_constant(guide, one) for one in (min(frequencies), max(frequencies)))


def scene_of(board: Board, design_frequency: float, frequencies: Sequence[float] = (), *, whole: bool = False) -> Scene:
    """Return a board as the solver takes it, loss as conductivity at the design frequency.

    All faces are open, unless it is symmetric: then the half y >= 0 stands next to a magnetic wall. A board fed by a
    guide has two planes of symmetry: the quarter x >= 0, y >= 0 stands next to an electric wall, which E is normal to,
    and a magnetic one.

    Args:
        board: One antenna.
        design_frequency: Hz.
        frequencies: Hz, for which a port in a guide has its planes; default is the design frequency alone.
        whole: Whether to return all of a symmetric board that no guide feeds.

    Raises:
        ConfigError: The board says that it is symmetric, and is not.
    """
    from scipy.constants import epsilon_0

    def conductivity(permittivity: float, loss_tangent: float) -> float:
        return 2 * math.pi * design_frequency * epsilon_0 * permittivity * loss_tangent

    parts = [(slab, slab.face) for slab in board.slabs]
    parts += [(rod, face) for rod in board.rods for face in rod.strips(STRIPS)]
    blocks = [
        Block(
            x=face.x,
            y=face.y,
            z=one.z,
            material=Dielectric(
                permittivity=one.permittivity, conductivity=conductivity(one.permittivity, one.loss_tangent)
            ),
            lines=not isinstance(one, Cylinder),
        )
        for one, face in parts
    ]
    port = board.port
    if isinstance(port, Guide):
        return Scene(
            blocks=tuple(blocks),
            tubes=tuple(_endless(tube) for tube in board.tubes),
            port=_in_guide(port, frequencies or (design_frequency,)),
            open_faces=tuple(face for face in FACES if face not in ("x-", "y-")),
            magnetic_faces=("y-",),
            mirror_faces=("x-",),
        )
    if port.pin > port.z[1]:
        blocks.append(Block(x=(port.x, port.x), y=(port.y, port.y), z=(port.z[1], port.pin)))
    scene = Scene(
        blocks=tuple(blocks),
        sheets=tuple(Sheet(z=sheet.z, x=one.x, y=one.y) for sheet in board.sheets for one in sheet.rectangles),
        port=_lumped(port),
        open_faces=FACES,
    )
    return halved(scene) if board.symmetric and not whole else scene


def _endless(tube: Walls) -> Tube:
    """Return a tube whose guide, up to z = 0, comes from infinity."""
    kept = [at for at, z in enumerate(tube.z) if z >= 0]
    x, y = (tuple(half[at] for at in (kept[0], *kept)) for half in (tube.x, tube.y))
    return Tube(z=(-math.inf, *(tube.z[at] for at in kept)), x=x, y=y, wall=tube.wall)


def _in_guide(guide: Guide, frequencies: Sequence[float]) -> GuidePort:
    """Return a port half a distance of its planes in front of z = 0, its source another whole one behind them."""
    apart = _apart(guide, frequencies)
    return GuidePort(
        x=(0.0, guide.height / 2),
        y=(0.0, guide.width / 2),
        source=-2.5 * apart,
        planes=(-1.5 * apart, -0.5 * apart),
        reference=0.0,
        field="x",
    )


def laid_out(plan: YeePlan, board: Board) -> tuple[Scene, Grid]:
    """Return one antenna as the solver takes it, and its lattice.

    Raises:
        ConfigError: As `scene_of` and `grid_of`, with the names of lengths whose ends are too close together.
    """
    scene = scene_of(board, plan.design_frequency, plan.frequencies, whole=plan.whole)
    try:
        return scene, grid_of(plan, scene)
    except TooClose as error:
        raise ConfigError(_too_close(plan, board, error)) from None


def _too_close(plan: YeePlan, board: Board, error: TooClose) -> str:
    """Return which lengths of a board end too close together, and what would do."""
    gap, axis = abs(error.places[1] - error.places[0]), "xy"[error.axis]
    same = 1e-3 * gap
    names = sorted(
        {
            f"antenna.{one.name}"
            for one in board.measures
            if not one.section and "." in one.name and one.start[error.axis] != one.stop[error.axis]
            for end in (one.start[error.axis], one.stop[error.axis])
            if any(abs(abs(end) - abs(place)) <= same for place in error.places)
        }
    )
    of = f" of {' and '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}" if names else ""
    enough, finer = format_length(error.cells * plan.cell), format_length(gap / error.cells)
    return (
        f"edges of metal at {axis} = {format_length(error.places[0])}, ends{of}, are {format_length(gap)} apart, too "
        f"close for cells of {format_length(plan.cell)} (must be >= {enough}); move them or use cells of at most "
        f"{finer} (solver.cell)"
    )


def _lumped(port: Port) -> LumpedPort:
    """Return a pin, a port as wide as its line, or one across a gap along x."""
    y = (port.y - port.width / 2, port.y + port.width / 2) if port.width else port.y
    if port.gap:
        x = (port.x - port.gap / 2, port.x + port.gap / 2)
        return LumpedPort(x=x, y=y, z=port.z[0], resistance=port.resistance, axis="x")
    return LumpedPort(x=port.x, y=y, z=port.z, resistance=port.resistance, radius=port.radius or None)


def grid_of(plan: YeePlan, scene: Scene) -> Grid:
    """Return the lattice of one antenna.

    Raises:
        ConfigError: None can be laid out, or the antenna reaches through the Huygens box.
    """
    made = layout(
        scene,
        plan.frequencies,
        cell=plan.cell,
        cells_per_wavelength=plan.cells_per_wavelength,
        margin=plan.margin,
        layers=plan.layers,
        between=plan.between,
        across=plan.between / BETWEEN,
    )
    try:
        check_inside(scene, made)
    except ConfigError:
        enough = ROOM * speed_of_light / max(plan.frequencies) / plan.cells_per_wavelength
        default = plan.margin is None
        margin = speed_of_light / min(plan.frequencies) / 5 if plan.margin is None else plan.margin
        if margin >= enough * (1 - ROUNDED):
            raise
        given = f"{format_length(margin)}{' (the default)' if default else ''}"
        raise ConfigError(
            f"solver.pml_distance = {given} leaves no room for the box around the antenna on which its far field is "
            f"computed; {format_length(enough)} are enough"
        ) from None
    return made
