"""The table of figures: options, computation, unit and label of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.constants import c

from antennaopt.metrics import GOALS, METRICS, GoalKind, Metric, Place
from antennaopt.quantities import format_angle, format_length
from fdtd.farfield import beams, decibels, feeds, masks
from fdtd.farfield.cuts import Circles, Cuts
from fdtd.farfield.masks import MASK_PLANES, Mask, mask_excess_db
from fdtd.farfield.rings import Rings, axial_ratio_of_rings_db, crosspol_of_rings_db, flatness_of_rings_db

Options = Mapping[str, Any]
"""Options of a figure by key, SI: angles in rad, lengths in m, densities in kg/m^3."""

PLANE_NAMES = {"e": "E plane", "h": "H plane", "both": "both planes", "co": "co-polar", "cross": "cross-polar"}
BEAM_PLANES = ("e", "h", "co")
LEVEL_DB = 3.0
"""Level of a beamwidth below boresight where none is given, dB."""


def _wavenumber(frequencies: Sequence[float]) -> np.ndarray:
    return 2 * np.pi / c * np.array(frequencies)


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """Data of a batch of B antennas at F frequencies.

    Attributes:
        frequencies: Hz, (F,).
        cuts: Amplitudes whose squares are directivities, (B, F, T).
        efficiency: Radiated over accepted power, (B, F).
        sizes: Of each antenna, SI, (B, 1) each: `length`, `diameter`, `aperture`, `metal` and `dielectric` (volumes);
            empty where no figure asks for them.
    """

    frequencies: Sequence[float]
    cuts: Cuts
    efficiency: np.ndarray
    sizes: Mapping[str, np.ndarray]

    @cached_property
    def wavenumber(self) -> np.ndarray:
        """In free space, rad/m, (F,)."""
        return _wavenumber(self.frequencies)

    @cached_property
    def gain(self) -> Cuts:
        """Amplitudes whose squares are gains."""
        return self.cuts.scaled(self.efficiency)

    @cached_property
    def feeds(self) -> dict[float, feeds.FeedEfficiencies]:
        """Efficiencies by half angle, as far as they were asked for: figures share them."""
        return {}

    def everywhere(self, values: np.ndarray) -> np.ndarray:
        """Return values (B, 1) at all frequencies, (B, F)."""
        return np.broadcast_to(values, self.efficiency.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class SolvedInSpace:
    """Data of a batch of B antennas in space at F frequencies.

    Attributes:
        frequencies: Hz, (F,).
        cuts: Amplitudes whose squares are directivities, (B, F, N).
        efficiency: Radiated over accepted power, (B, F).
        rings: The field's means over phi, (B, F, T); None where no figure needs them.
        areas: Of the apertures, m^2, (B, 1); None where no figure needs them.
    """

    frequencies: Sequence[float]
    cuts: Circles
    efficiency: np.ndarray
    rings: Rings | None = None
    areas: np.ndarray | None = None

    @cached_property
    def wavenumber(self) -> np.ndarray:
        """In free space, rad/m, (F,)."""
        return _wavenumber(self.frequencies)

    def everywhere(self, values: np.ndarray) -> np.ndarray:
        """Return values (B, 1) at all frequencies, (B, F)."""
        return np.broadcast_to(values, self.cuts.e.shape[:-1])

    @cached_property
    def feeds(self) -> dict[float, feeds.FeedEfficiencies]:
        """Efficiencies by half angle, as far as they were asked for: figures share them."""
        return {}


@dataclass(frozen=True, kw_only=True)
class FigureKind:
    """Options of a figure, and how it is computed.

    Attributes:
        metric: Label, unit and goals.
        compute: Values (B, F) from data and options, NaN where it is not defined; None where it is a metric of every
            row and takes no options.
        in_space: The same of antennas that are solved in three dimensions; None where they have not this figure.
        needs: Options that must be given.
        takes: Options that may be given.
        words: End of the label: options, each with the text around it.
        planes: Allowed values of `plane`.
        geometric: It reads `Solved.sizes`, in three dimensions `SolvedInSpace.areas`.
        band: One value for all frequencies of a goal.
        rings: In three dimensions it reads `SolvedInSpace.rings`.
        levels: It reads their smallest or largest powers.
        circular: In three dimensions it is of circular polarisation alone.
    """

    metric: Metric
    compute: Callable[[Solved, Options], np.ndarray] | None = None
    in_space: Callable[[SolvedInSpace, Options], np.ndarray] | None = None
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    planes: tuple[str, ...] = ()
    geometric: bool = False
    band: bool = False
    rings: bool = False
    levels: bool = False
    circular: bool = False


def mask_of(options: Options) -> Mask:
    """Return the mask of a `pattern_db` with limits.

    Raises:
        ConfigError: Its limits are damaged, too short, or cross.
    """
    return Mask.of(
        plane=options["plane"],
        theta=options.get("theta"),
        at_most=options.get("at_most"),
        at_least=options.get("at_least"),
        absolute=options["absolute"],
    )


def _rings(data: SolvedInSpace) -> Rings:
    assert data.rings is not None  # noqa: S101 - a kind with `rings` is computed with them alone
    return data.rings


def _pattern(data: Solved | SolvedInSpace, options: Options) -> np.ndarray:
    """Excess over a mask; of a single level the largest, or smallest, level."""
    side = options.get("side")
    if side is None:
        return mask_excess_db(data.cuts, mask_of(options))
    sign = 1.0 if side == "at_most" else -1.0
    return sign * mask_excess_db(data.cuts, mask_of({**options, side: 0.0}))


def _beamwidth(data: Solved | SolvedInSpace, options: Options) -> np.ndarray:
    return beams.beamwidth_deg(data.cuts, options["plane"], options.get("level_db", LEVEL_DB))


def _symmetry(data: Solved | SolvedInSpace, options: Options) -> np.ndarray:
    return beams.beam_symmetry_db(data.cuts, options.get("theta"))


def _taper(data: Solved | SolvedInSpace, options: Options) -> np.ndarray:
    return beams.edge_taper_db(data.cuts, options["theta"], options.get("plane"))


def _centre(data: Solved | SolvedInSpace, options: Options) -> np.ndarray:
    return 1e3 * feeds.phase_centre(data.cuts, data.wavenumber, options.get("theta"))


def _spread(data: Solved | SolvedInSpace, options: Options) -> np.ndarray:
    wanted = options.get("frequencies") or data.frequencies
    near = [any(math.isclose(hz, one, rel_tol=1e-9) for one in wanted) for hz in data.frequencies]
    return data.everywhere(feeds.phase_centre_spread(_centre(data, options)[:, near])[:, None])


def _feed(part: str, data: Solved | SolvedInSpace, options: Options) -> np.ndarray:
    theta = options["theta"]
    if theta not in data.feeds:
        if isinstance(data, Solved):
            data.feeds[theta] = feeds.feed_efficiencies(data.cuts, theta, data.wavenumber)
        else:
            centre = feeds.phase_centre(data.cuts, data.wavenumber, theta)
            data.feeds[theta] = feeds.feed_efficiencies(_rings(data), theta, data.wavenumber, centre=centre)
    return getattr(data.feeds[theta], part)


def _isoflux(data: SolvedInSpace, options: Options) -> np.ndarray:
    return masks.isoflux_db(_rings(data), options["height"], options["elevation"]) - decibels(data.efficiency)


def _sec2(data: SolvedInSpace, options: Options) -> np.ndarray:
    return masks.sec2_db(_rings(data), options["theta"]) - decibels(data.efficiency)


def _mouth_efficiency(data: SolvedInSpace, options: Options) -> np.ndarray:
    assert data.areas is not None  # noqa: S101 - `figures_fault` refuses families without a mouth
    return beams.area_efficiency(data.cuts, data.areas, data.wavenumber)


def _size(data: Solved, scale: float, *names: str) -> np.ndarray:
    return data.everywhere(scale * np.sum([data.sizes[name] for name in names], axis=0))


def _mass(data: Solved, options: Options) -> np.ndarray:
    density = options["density"]
    metal, dielectric = density if isinstance(density, tuple) else (density, density)
    return data.everywhere(1e3 * (metal * data.sizes["metal"] + dielectric * data.sizes["dielectric"]))


def _of_no_row(_: Any) -> np.ndarray:
    raise NotImplementedError("a figure is computed by its kind")


_METRIC = partial(
    Metric, compute=_of_no_row, typical=math.nan, larger_is_better=False, place=Place.COMPARISON, goal=GoalKind()
)
_DB = partial(_METRIC, unit="dB")
_SHORTFALL = GoalKind(floor=0.0, usual=(1.0, 6.0))
"""The ideal pattern holds all power within its edge, so nothing is above it everywhere."""
_SIZE = partial(_METRIC, goal=GoalKind(ratio=True, floor=0.0), decimals=3)
_SHARE = partial(
    _METRIC,
    unit="",
    larger_is_better=True,
    goal=GoalKind(usual=(0.5, 0.95), ratio=True, floor=0.0, ceiling=1.0),
    decimals=4,
)
_WITHIN = (("theta", " within {}"),)
_WITHIN_ANGLE = partial(FigureKind, needs=("theta",), words=_WITHIN)
_WITHIN_ANGLE_OR_BEAM = partial(FigureKind, takes=("theta",), words=_WITHIN)
_OF_REFLECTOR = partial(FigureKind, needs=("theta",), words=(("theta", ", half angle {}"),))

_KINDS = (
    FigureKind(
        metric=METRICS["crosspol_db"],
        compute=lambda data, settings: beams.crosspol_db(data.cuts, settings["theta"]),
        in_space=lambda data, settings: crosspol_of_rings_db(_rings(data), settings["theta"]),
        takes=("theta",),
        words=_WITHIN,
        rings=True,
    ),
    _WITHIN_ANGLE(
        metric=_DB(key="axial_ratio_db", label="axial ratio", goal=GoalKind(floor=0.0)),
        compute=lambda data, settings: beams.axial_ratio_db(data.cuts, settings["theta"]),
        in_space=lambda data, settings: axial_ratio_of_rings_db(_rings(data), settings["theta"]),
        rings=True,
        circular=True,
    ),
    FigureKind(
        metric=_DB(key="pattern_db", label="level"),
        compute=_pattern,
        in_space=_pattern,
        takes=("theta", "plane", "absolute"),
        planes=MASK_PLANES,
    ),
    _WITHIN_ANGLE(
        metric=_DB(key="flatness_db", label="flatness of the co-polar level", goal=GoalKind(floor=0.0)),
        compute=lambda data, settings: beams.flatness_db(data.cuts, settings["theta"]),
        in_space=lambda data, settings: flatness_of_rings_db(_rings(data), settings["theta"]),
        rings=True,
        levels=True,
    ),
    FigureKind(
        metric=_DB(key="isoflux_db", label="isoflux shortfall", goal=_SHORTFALL),
        compute=lambda data, settings: masks.isoflux_db(data.gain, settings["height"], settings["elevation"]),
        in_space=_isoflux,
        needs=("height", "elevation"),
        words=(("height", " from {}"), ("elevation", " to {} elevation")),
        rings=True,
        levels=True,
    ),
    FigureKind(
        metric=_DB(key="sec2_db", label="sec^2 shortfall", goal=_SHORTFALL),
        compute=lambda data, settings: masks.sec2_db(data.gain, settings["theta"]),
        in_space=_sec2,
        needs=("theta",),
        words=(("theta", " to {}"),),
        rings=True,
        levels=True,
    ),
    _WITHIN_ANGLE_OR_BEAM(
        metric=_METRIC(
            key="phase_centre_mm", label="phase centre", unit="mm", goal=GoalKind(), decimals=3, absent="not defined"
        ),
        compute=_centre,
        in_space=_centre,
    ),
    _WITHIN_ANGLE_OR_BEAM(
        metric=_METRIC(
            key="phase_centre_spread_mm", label="spread of the phase centre", unit="mm", goal=GoalKind(floor=0.0),
            decimals=3, absent="not defined",
        ),
        compute=_spread,
        in_space=_spread,
        band=True,
    ),
    *(
        _OF_REFLECTOR(
            metric=_SHARE(key=f"{part}_efficiency", label=f"{part.replace('bor1', 'BOR1')} efficiency"),
            compute=partial(_feed, part),
            in_space=partial(_feed, part),
            rings=True,
        )
        for part in ("spillover", "bor1", "polarisation", "illumination", "phase", "feed")
    ),
    FigureKind(
        metric=_DB(key="edge_taper_db", label="edge taper"),
        compute=_taper,
        in_space=_taper,
        needs=("theta",),
        takes=("plane",),
        words=(("theta", " at {}"), ("plane", ", {}")),
        planes=BEAM_PLANES,
    ),
    FigureKind(
        metric=_METRIC(
            key="beamwidth_deg", label="beamwidth", unit="deg", goal=GoalKind(ratio=True, floor=0.0, ceiling=360.0),
            absent="not defined",
        ),
        compute=_beamwidth,
        in_space=_beamwidth,
        needs=("plane",),
        takes=("level_db",),
        words=(("plane", ", {}"), ("level_db", ", {}")),
        planes=BEAM_PLANES,
    ),
    _WITHIN_ANGLE_OR_BEAM(
        metric=_DB(
            key="beam_symmetry_db", label="difference of E and H plane", goal=GoalKind(floor=0.0), absent="not defined"
        ),
        compute=_symmetry,
        in_space=_symmetry,
    ),
    FigureKind(
        metric=_SHARE(key="aperture_efficiency", label="aperture efficiency"),
        compute=lambda data, settings: beams.aperture_efficiency(data.cuts, data.sizes["aperture"], data.wavenumber),
        in_space=_mouth_efficiency,
        geometric=True,
    ),
    FigureKind(
        metric=_SIZE(key="length_mm", label="length", unit="mm"),
        compute=lambda data, settings: _size(data, 1e3, "length"),
        geometric=True,
    ),
    FigureKind(
        metric=_SIZE(key="diameter_mm", label="diameter", unit="mm"),
        compute=lambda data, settings: _size(data, 1e3, "diameter"),
        geometric=True,
    ),
    FigureKind(
        metric=_SIZE(key="volume_cm3", label="volume", unit="cm3"),
        compute=lambda data, settings: _size(data, 1e6, "metal", "dielectric"),
        geometric=True,
    ),
    FigureKind(
        metric=_SIZE(key="mass_g", label="mass", unit="g"), compute=_mass, needs=("density",), geometric=True
    ),
)  # fmt: skip

KINDS: dict[str, FigureKind] = {key: FigureKind(metric=METRICS[key]) for key in GOALS} | {
    kind.metric.key: kind for kind in _KINDS
}
"""All that an objective may name, by key: metrics of every row, and figures with options."""


def described(metric: str, options: Options, name: str) -> Metric:
    """Return label, unit and decimals of a figure.

    Args:
        metric: Key of `KINDS`.
        options: SI.
        name: Of the figure.
    """
    kind = KINDS[metric]
    base, label = kind.metric, kind.metric.label
    if metric == "pattern_db":
        base, label = _pattern_label(options)
    settings = {key: option_text(key, value) for key, value in options.items()}
    if metric == "axial_ratio_db" and options.get("theta") == 0.0:
        return replace(base, key=name, label=f"{label} on the axis")
    label += "".join(text.format(settings[key]) for key, text in kind.words if key in settings)
    return replace(base, key=name, label=label)


def _pattern_label(options: Options) -> tuple[Metric, str]:
    base, side = KINDS["pattern_db"].metric, options.get("side")
    plane = PLANE_NAMES[options["plane"]]
    if "theta" in options:
        low, high = options["theta"]
    else:
        line = mask_of(options)
        low, high = (line.at_most or line.at_least)[0][0], (line.at_most or line.at_least)[-1][0]
    where = f"{plane}, {np.rad2deg(low):.6g} to {format_angle(high)}"
    if side is None:
        return base, f"excess over the mask, {where}"
    unit = "dBi" if options["absolute"] else "dB"
    word = "highest" if side == "at_most" else "lowest"
    return replace(base, unit=unit, larger_is_better=side == "at_least"), f"{word} level, {where}"


def option_text(key: str, value: Any) -> str:
    """Write an option for people: `20 deg`, `600 km`, `E plane`."""
    if key in ("theta", "elevation"):
        return format_angle(value) if isinstance(value, float) else ""
    if key == "height":
        return f"{value / 1e3:.6g} km" if value >= 1e3 else format_length(value)
    if key == "level_db":
        return f"{value:g} dB"
    return PLANE_NAMES[value] if key == "plane" else str(value)
