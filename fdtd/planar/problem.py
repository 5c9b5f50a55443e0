"""Planar fields, d/dz = 0: the lattice, one initial-value problem for a batch, and its result.

Arrays are [ny + 1, nx + 1], x fastest; index [j, i] names the node (i d, j d) and the half nodes after it, so the last
row or column of a component at half nodes is padding. With S = c dt/d and H scaled by the free-space impedance,

    TM_z: e_z at (i, j), h_x at (i, j + 1/2), h_y at (i + 1/2, j)
        h_x -= S/l_y dy e_z          h_y += S/l_x dx e_z          eps de_z = S (dx h_y - dy h_x)
    TE_z: h_z at (i + 1/2, j + 1/2), e_x at (i + 1/2, j), e_y at (i, j + 1/2)
        eps de_x = S dy h_z          eps de_y = -S dx h_z         h_z -= S/A (dx (l_y e_y) - dy (l_x e_x)),

l_x and l_y the open parts of the segments between nodes, A of the cells between them. E has the semi-implicit loss
ca = (1 - x)/(1 + x), cb = 1/(eps (1 + x)), x = sigma dt/(2 eps eps0). Where `coupling` q, the off-diagonal part of the
inverse permittivity, is not zero, with c_x = dy h_z and c_y = -dx h_z on open segments (zero on closed ones),

    e_x(i+1/2, j) += S/4 sum over n = i, i+1 of q(n, j) (c_y(n, j+1/2) + c_y(n, j-1/2))
    e_y(i, j+1/2) += S/4 sum over m = j, j+1 of q(i, m) (c_x(i+1/2, m) + c_x(i-1/2, m)).

All derivatives carry the layers' stretching 1/s, a recursive convolution. The outer walls are perfect conductors. One
step: H to (n + 1/2) dt, magnetic currents, E to (n + 1) dt, electric currents, sampling.

References:
    Elsherbeni & Demir, The FDTD Method for Electromagnetics, 2nd ed., ch. 16; Dey & Mittra, IEEE MGWL 7 (1997) 273
    (conductors); Roden & Gedney, Microw. Opt. Tech. Lett. 27 (2000) 334 (layers).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.constants import speed_of_light

from fdtd.errors import ConfigError
from fdtd.stencils import COUPLED_TEZ, JACOBI5, TEZ, TMZ, PlanarStencil

COMPONENTS = {"TM": ("e_z", "h_x", "h_y"), "TE": ("h_z", "e_x", "e_y")}
_HALF = {"e_z": (0, 0), "h_x": (0, 1), "h_y": (1, 0), "h_z": (1, 1), "e_x": (1, 0), "e_y": (0, 1)}


@dataclass(frozen=True, kw_only=True)
class PlanarGrid:
    """Square cells in (x, y).

    Attributes:
        nx: Cells along x, absorbing layers included.
        ny: Cells along y, absorbing layers included.
        cell: Cell size d, m.
        courant_number: c dt / d.
        polarisation: "TM" (e_z, h_x, h_y) or "TE" (h_z, e_x, e_y).
    """

    nx: int
    ny: int
    cell: float
    courant_number: float = 0.5
    polarisation: str = "TM"

    def __post_init__(self) -> None:
        if self.polarisation not in COMPONENTS:
            raise ConfigError(f"polarisation = {self.polarisation!r} is unknown (allowed: {', '.join(COMPONENTS)})")
        if min(self.nx, self.ny) < 4:
            raise ConfigError(f"grid = {self.nx} x {self.ny} cells is too small (needs >= 4 x 4); enlarge it")
        if not self.cell > 0:
            raise ConfigError(f"cell = {self.cell} m must be > 0")
        if not self.courant_number > 0:
            raise ConfigError(f"courant_number = {self.courant_number} must be > 0")

    @property
    def time_step(self) -> float:
        """Time step dt, s."""
        return self.courant_number * self.cell / speed_of_light

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of every component's array, padding included."""
        return self.ny + 1, self.nx + 1

    @property
    def components(self) -> tuple[str, str, str]:
        """Names in the order of the state."""
        return COMPONENTS[self.polarisation]

    def positions(self, component: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of a component: x and y, cells, each of `shape`."""
        half_x, half_y = _HALF[component]
        y, x = np.mgrid[: self.ny + 1, : self.nx + 1].astype(float)
        return x + half_x / 2, y + half_y / 2

    def inside(self, component: str) -> np.ndarray:
        """Return where a component is stepped: neither padding nor tangential E in the outer walls, bool of `shape`."""
        x, y = self.positions(component)
        inside = (x < self.nx) | (x == self.nx) & (_HALF[component][0] == 0)
        inside &= (y < self.ny) | (y == self.ny) & (_HALF[component][1] == 0)
        if component in ("e_z", "e_y"):
            inside &= (x > 0) & (x < self.nx)
        if component in ("e_z", "e_x"):
            inside &= (y > 0) & (y < self.ny)
        return inside


@dataclass(frozen=True, kw_only=True)
class PlanarMedia:
    """Media and conductors of a batch; every array is (batch, ..., ny + 1, nx + 1).

    Attributes:
        permittivity: Relative, on each E component's own node, (batch, E components, ...): e_z, or e_x and e_y.
        conductivity: S/m, of the same shape.
        open_node: False where a node is metal, bool. TM only.
        open_x: Open part of the segment from node i to i + 1; 0 is metal. In TM the distance from an open node to the
            metal beyond it, which may exceed 1.
        open_y: The same along y.
        open_area: Open part of the cell after the node; 0 is metal. TE only.
        coupling: Off-diagonal part of the inverse relative permittivity at nodes. TE only.
    """

    permittivity: np.ndarray
    conductivity: np.ndarray
    open_node: np.ndarray
    open_x: np.ndarray
    open_y: np.ndarray
    open_area: np.ndarray
    coupling: np.ndarray

    @property
    def batch(self) -> int:
        """Number of problems stepped side by side."""
        return len(self.permittivity)


@dataclass(frozen=True, kw_only=True)
class PlanarLayer:
    """Absorbing layers in front of all four walls.

    The defaults send back -112 dB or less of a pulse at 25 cells a wavelength whose source is 10 or 20 cells away
    (tests/physics/test_planar_absorbing_layers.py). They are the best of what was tried there with 10 cells, and no
    more than that: strength 0.6 gives -98, 0.8 -107, 1.0 -100; grading 3 or 5, -90 at best.

    Attributes:
        cells: Thickness, cells; 0 leaves bare conductors.
        order: Polynomial grading of sigma and kappa - 1.
        strength: sigma at the wall over the optimum 0.8 (n + 1) / (eta0 d) (Taflove, eq. 7.67).
        kappa: Largest kappa.
        alpha: Pole shift at the layer's face, 1/s; falls linearly to zero at the wall.
    """

    cells: int = 10
    order: float = 4.0
    strength: float = 0.7
    kappa: float = 1.0
    alpha: float = 0.0

    def filters(self, grid: PlanarGrid, axis: str, offset: float) -> np.ndarray:
        """Coefficients of 1/s along an axis.

        Args:
            grid: The lattice.
            axis: "x" or "y".
            offset: 0 for nodes, 0.5 for half nodes.

        Returns:
            1/kappa, b and c, (3, cells + 1): (1/s) d -> d/kappa + psi with psi <- b psi + c d once a step; 1, 0, 0
            outside the layers.
        """
        count = grid.nx if axis == "x" else grid.ny
        place = np.arange(count + 1) + offset
        depth = np.maximum(self.cells - place, place - (count - self.cells)) / max(self.cells, 1)
        depth = np.clip(depth, 0.0, 1.0)
        peak = self.strength * 0.8 * (self.order + 1) * grid.courant_number
        sigma, kappa = peak * depth**self.order, 1 + (self.kappa - 1) * depth**self.order
        rate = sigma / kappa + self.alpha * grid.time_step * (1 - depth)
        b = np.exp(-rate)
        c = np.where(sigma > 0, sigma / kappa**2 / np.where(sigma > 0, rate, 1.0) * np.expm1(-rate), 0.0)
        layered = (depth > 0) & (self.cells > 0)
        return np.where(layered, [1 / kappa, b, c], np.array([[1.0], [0.0], [0.0]]))


@dataclass(frozen=True, kw_only=True)
class PointCurrent:
    """An impressed current at one point: electric on an E component, magnetic on an H component.

    Attributes:
        component: Field that it drives.
        row: Index j.
        column: Index i.
        samples: Current density times the cell's area, A (electric, at (n + 1/2) dt) or V (magnetic, at n dt), (n,).
    """

    component: str
    row: int
    column: int
    samples: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Samples of one component at points, after every step.

    Attributes:
        component: Field that is sampled.
        rows: Indices j, (points,).
        columns: Indices i, (points,).
    """

    component: str
    rows: np.ndarray
    columns: np.ndarray


@dataclass(frozen=True, kw_only=True)
class PlanarProblem:
    """Everything that a backend needs to step a batch; all but the media is shared by the batch.

    Attributes:
        steps: Time steps.
        initial: Start fields (batch, 3, ny + 1, nx + 1), or None for zero; what stands in metal is ignored.
    """

    grid: PlanarGrid
    media: PlanarMedia
    layer: PlanarLayer
    steps: int
    sources: tuple[PointCurrent, ...] = ()
    probes: tuple[Probe, ...] = ()
    initial: np.ndarray | None = None

    def __post_init__(self) -> None:
        ny, nx = self.grid.shape
        parts = 1 if self.grid.polarisation == "TM" else 2
        media, batch = self.media, self.media.batch
        for name in ("permittivity", "conductivity"):
            _check_shape(name, getattr(media, name), (batch, parts, ny, nx))
        for name in ("open_node", "open_x", "open_y", "open_area", "coupling"):
            _check_shape(name, getattr(media, name), (batch, ny, nx))
        if self.initial is not None:
            _check_shape("initial", self.initial, (batch, 3, ny, nx))
        if not (media.permittivity > 0).all():
            raise ConfigError(f"permittivity = {media.permittivity.min()} must be > 0 everywhere")
        if 2 * self.layer.cells + 2 > min(self.grid.nx, self.grid.ny):
            raise ConfigError(
                f"pml_cells = {self.layer.cells} leaves nothing of {self.grid.nx} x {self.grid.ny} cells; enlarge the "
                "grid or thin the layers"
            )
        limit = courant_limit(self.grid, media)
        if self.grid.courant_number > limit:
            raise ConfigError(
                f"courant_number = {self.grid.courant_number} is not stable with these media "
                f"(needs c dt/d <= {limit:.4f}); lower it"
            )
        self._check_points()

    def _check_points(self) -> None:
        live = self.live()
        for point in (*self.sources, *self.probes):
            if point.component not in self.grid.components:
                raise ConfigError(
                    f"component = {point.component!r} is no field of {self.grid.polarisation} "
                    f"(allowed: {', '.join(self.grid.components)})"
                )
        for source in self.sources:
            at = self.grid.components.index(source.component)
            if not (0 <= source.row <= self.grid.ny and 0 <= source.column <= self.grid.nx):
                raise ConfigError(f"source at row {source.row}, column {source.column} is outside the grid; move it")
            if not live[:, at, source.row, source.column].all():
                raise ConfigError(f"source at row {source.row}, column {source.column} is in metal; move it")
        for probe in self.probes:
            rows, columns = np.asarray(probe.rows), np.asarray(probe.columns)
            if rows.shape != columns.shape or rows.ndim != 1:
                raise ConfigError(
                    f"probe has {rows.shape} rows but {columns.shape} columns (needs one of each a point)"
                )
            if rows.size and not (
                rows.min() >= 0 and rows.max() <= self.grid.ny and columns.min() >= 0 and columns.max() <= self.grid.nx
            ):
                raise ConfigError("a probe's point is outside the grid; move it")

    @property
    def stencil(self) -> PlanarStencil:
        """Update equations; nodes are coupled only where some inside the walls are."""
        if self.grid.polarisation == "TM":
            return TMZ
        return COUPLED_TEZ if self.media.coupling[:, 1:, 1:].any() else TEZ

    @property
    def lattices(self) -> tuple[int, int, int]:
        """Number of lattices stepped side by side, their rows and columns, padding included."""
        return self.media.batch, *self.grid.shape

    @property
    def layer_cells(self) -> int:
        """Cells of the absorbing layers."""
        return self.layer.cells

    def live(self) -> np.ndarray:
        """Return where the fields are stepped, neither padding nor metal, bool (batch, 3, ny + 1, nx + 1)."""
        x, y = self.media.open_x > 0, self.media.open_y > 0
        opened = (self.media.open_node, y, x) if self.grid.polarisation == "TM" else (self.media.open_area > 0, x, y)
        inside = np.stack([self.grid.inside(name) for name in self.grid.components])
        return np.stack(opened, axis=1) & inside


@dataclass(frozen=True, kw_only=True)
class JacobiProblem:
    """Five-point sums, the smallest problem with the dependences of a leapfrog.

        u(j, i) <- w (u(j, i) + u(j - 1, i) + u(j + 1, i) + u(j, i - 1) + u(j, i + 1)),

    all inner points at once; the rim stays as it is. With w = 1 it is the pseudo-2-D Jacobi stencil of Barigou, which
    grows without bound; w = 1/5 is a mean.

    References:
        Barigou, Acceleration of real-life stencil codes on GPUs (2011), algorithm 4.

    Attributes:
        initial: Start values (batch, rows, columns).
        steps: Times the sum is taken.
        weight: Of each of the five values, w.
    """

    initial: np.ndarray
    steps: int
    weight: float = 0.2

    def __post_init__(self) -> None:
        if self.initial.ndim != 3 or min(self.initial.shape[1:]) < 3:
            raise ConfigError(f"initial has shape {self.initial.shape} (needs (batch, rows, columns), >= 3 x 3 points)")
        if self.steps < 0:
            raise ConfigError(f"steps = {self.steps} must be >= 0")

    @property
    def stencil(self) -> PlanarStencil:
        """Update equations."""
        return JACOBI5

    @property
    def lattices(self) -> tuple[int, int, int]:
        """Number of lattices stepped side by side, their rows and columns, padding included."""
        return self.initial.shape[0], self.initial.shape[1], self.initial.shape[2]

    @property
    def layer_cells(self) -> int:
        """No absorbing layer."""
        return 0


@dataclass(frozen=True, kw_only=True)
class PlanarRecords:
    """Records of a batch.

    Attributes:
        samples: Samples of each probe, (batch, steps, points); E, V/m, at (n + 1) dt; H times the impedance of free
            space, V/m, at (n + 1/2) dt.
        final: Fields after the last step, (batch, 3, ny + 1, nx + 1).
        finite: Whether the fields stayed finite, (batch,).
    """

    samples: tuple[np.ndarray, ...]
    final: np.ndarray
    finite: np.ndarray


def _check_shape(name: str, array: np.ndarray, expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise ConfigError(f"{name} has shape {array.shape} (needs {expected})")


def inverse_or_zero(values: np.ndarray) -> np.ndarray:
    """1 / values, and 0 where they are 0: metal."""
    return np.where(values > 0, 1 / np.where(values > 0, values, 1.0), 0.0)


def courant_limit(grid: PlanarGrid, media: PlanarMedia) -> float:
    """A stable c dt/d: Gershgorin's bound on the discrete curl-curl, 1/sqrt(2) in free space.

    It uses the smallest permittivity for all nodes, so it is on the safe side.
    """
    if grid.polarisation == "TM":
        # Rows of div grad at open nodes: each segment counts on the diagonal, and once more if its other end is open.
        total = np.zeros(media.open_node.shape)
        for axis, length in ((2, media.open_x), (1, media.open_y)):
            weight = inverse_or_zero(length)
            both = media.open_node & np.roll(media.open_node, -1, axis)
            total += weight * (1 + both) + np.roll(weight * (1 + both), 1, axis)
        total = np.where(media.open_node, total, 0.0)
    else:
        around = media.open_x + np.roll(media.open_x, -1, 1) + media.open_y + np.roll(media.open_y, -1, 2)
        total = 2 * around * inverse_or_zero(media.open_area)
    inside = np.s_[:, 1:-1, 1:-1]
    return float(2 / np.sqrt(total[inside].max(initial=1e-300) / media.permittivity.min()))
