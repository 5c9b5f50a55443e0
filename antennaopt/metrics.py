"""Figures of merit of an antenna: one table for solver, goals, rows, tables and reports.

A new metric is an entry of `METRICS`; a figure of the pattern has its function in `fdtd.farfield`. Runs record the
metrics of their rows in the manifest, so that older run folders stay readable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import partial

import numpy as np

from antennaopt.quantities import general, number, signed
from antennaopt.registry import read_as
from fdtd.farfield import (
    cross_polarisation,
    decibels,
    front_to_back,
    half_power_beamwidth,
    or_none,
    side_lobe,
)


class Extrapolation(Enum):
    """Methods to extrapolate a metric to a cell of zero; see `antennaopt.solve.extrapolate`."""

    RECOMPUTED = "computed from the extrapolated S11, cuts and efficiency"
    LINEAR = "extrapolated as it is, with the order of the efficiency"
    POWER = "extrapolated as a power ratio, with the order of the pattern"


class Place(IntEnum):
    """Places where a metric is reported; each place shows the metrics of the places after it too."""

    EVERYWHERE = 0
    """Tables of all metrics: `simulate`, the report's bands, CSV, rows."""
    FIGURE = 1
    """The table in the figure of `simulate --plot`."""
    COMPARISON = 2
    """`compare`, run against run."""
    SUMMARY = 3
    """The end of `run`: the best antenna next to the first generation's."""
    HEADLINE = 4
    """The report's first table, whatever the goals."""


@dataclass(frozen=True, kw_only=True)
class GoalKind:
    """Goals that an experiment may have for a metric.

    Attributes:
        usual: Levels that are usual, lowest and highest; None where the size of the antenna decides.
        either: Both bounds make sense; otherwise only the one towards the better antenna does.
        ratio: The shortfall is 10 log10 of the ratio to the goal: for a plain ratio, or an angle.
        met_when_absent: An antenna without a value meets the goal (no side lobe at all).
        floor: No antenna has less.
        ceiling: No antenna has more.
        forward: Floor and ceiling hold only where the main beam is on boresight: the metric is relative to it.
    """

    usual: tuple[float, float] | None = None
    either: bool = False
    ratio: bool = False
    met_when_absent: bool = False
    floor: float = -math.inf
    ceiling: float = math.inf
    forward: bool = False


def _absent() -> np.ndarray:
    return np.array(np.nan)


@dataclass(frozen=True, kw_only=True)
class Quantities:
    """Data that metrics are computed from: of one antenna or a batch, at F frequencies and T angles.

    Extrapolated antennas have only the first five, so a `RECOMPUTED` metric may read no others.

    Attributes:
        reflected: |S11|^2, (..., F).
        theta_deg: Angles of the cuts, (T,).
        e_plane_dbi: Directivity in the E plane, (..., F, T).
        h_plane_dbi: Directivity in the H plane, (..., F, T).
        efficiency: Radiated over accepted power, (..., F).
        a: Far field in the E plane, complex, (..., F, T); see `fdtd.farfield`.
        b: Far field in the H plane.
        radiated: Power in the far field, W, (..., F).
        dissipated: Power lost in the dielectrics, W, (..., F).
        accepted: Power through the port, W, (..., F).
        through_contour: Power through the contour, W, (..., F).
        returned: Part of the incident power that comes back at the port in all modes, (..., F); NaN where the port
            carries TE11 alone, and `reflected` says it. Extrapolated antennas have it too.
    """

    reflected: np.ndarray
    theta_deg: np.ndarray
    e_plane_dbi: np.ndarray
    h_plane_dbi: np.ndarray
    efficiency: np.ndarray
    a: np.ndarray = field(default_factory=_absent)
    b: np.ndarray = field(default_factory=_absent)
    radiated: np.ndarray = field(default_factory=_absent)
    dissipated: np.ndarray = field(default_factory=_absent)
    accepted: np.ndarray = field(default_factory=_absent)
    through_contour: np.ndarray = field(default_factory=_absent)
    returned: np.ndarray = field(default_factory=_absent)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One figure of merit, a value a frequency.

    Attributes:
        key: Its name in outcomes, files and goals, and the beginning of its columns; the unit is in it.
        label: Its name inside a sentence, `directivity on axis`.
        unit: `dBi`, `dB`, `deg`, or empty for a plain number.
        larger_is_better: Whether the smallest value of a band is the worst.
        compute: From quantities to values, (..., F); NaN where the metric is not defined.
        extrapolation: Method of extrapolation to a cell of zero.
        typical: Value of a lens at Ka band.
        goal: Goals for it; None for a check of the solution, which no goal may use.
        place: Place where it is reported.
        decimals: Digits after the point.
        absent: Text in place of a value that is not defined; empty for a metric that always is.
    """

    key: str
    label: str
    unit: str
    larger_is_better: bool
    compute: Callable[[Quantities], np.ndarray]
    extrapolation: Extrapolation = Extrapolation.RECOMPUTED
    typical: float
    goal: GoalKind | None
    place: Place = Place.EVERYWHERE
    decimals: int = 2
    absent: str = ""

    @property
    def title(self) -> str:
        """The label at the beginning of a line."""
        return self.label[:1].upper() + self.label[1:]

    @property
    def heading(self) -> str:
        """The label with its unit, `directivity on axis (dBi)`."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def absent_text(self) -> str:
        """Text in place of a value that is not defined."""
        return self.absent or "not defined"

    @property
    def bound(self) -> str:
        """The bound of a usual goal."""
        return "at_least" if self.larger_is_better else "at_most"

    @property
    def unusual_bound(self) -> str | None:
        """The bound of a goal that favours a worse antenna; None where both bounds make sense."""
        if self.goal is None or self.goal.either:
            return None
        return "at_most" if self.larger_is_better else "at_least"

    @property
    def usual_text(self) -> str:
        """Usual goals in words: `at_most, -10 to -30 dB`."""
        if self.goal is None or self.goal.usual is None:
            return ""
        levels = f"{self.goal.usual[0]:g} to {self.goal.usual[1]:g} {self.unit}".rstrip()
        return levels if self.goal.either else f"{self.bound}, {levels}"

    def plain(self, values: np.ndarray) -> list:
        """Return computed values as plain numbers, None where a metric that may be absent is not defined."""
        return or_none(values) if self.absent else values.tolist()

    def text(self, value: float | None) -> str:
        """Write a value with its unit."""
        return self.absent_text if value is None else f"{number(value, self.decimals)} {self._symbol}".rstrip()

    def bare(self, value: float | None) -> str:
        """Write a value for a table whose heading has the unit."""
        return self.absent_text if value is None else number(value, self.decimals)

    def level(self, value: float) -> str:
        """Write the level of a goal with its unit, with the fewest digits."""
        return f"{number(value, 4).rstrip('0').rstrip('.')} {self._symbol}".rstrip()

    def difference(self, value: float) -> str:
        """Write a difference of two values with its sign and unit: dBi differ by dB."""
        return f"{signed(value, self.decimals)} {self._symbol.replace('dBi', 'dB')}".rstrip()

    def amount(self, size: float) -> str:
        """Write the size of a difference with its unit; one that rounds to nothing keeps two digits."""
        text = number(size, self.decimals)
        text = general(size, 2) if size and not float(text) else text
        return f"{text} {self._symbol.replace('dBi', 'dB')}".rstrip()

    def worst(self, values: Iterable[float | None]) -> float | None:
        """Return the worst of the values that are defined, None when none is."""
        there = [value for value in values if value is not None]
        if not there:
            return None
        return min(there) if self.larger_is_better else max(there)

    @property
    def _symbol(self) -> str:
        return "\N{DEGREE SIGN}" if self.unit == "deg" else self.unit


def _directivity(q: Quantities) -> np.ndarray:
    return q.e_plane_dbi[..., 0]


def _returned(q: Quantities) -> np.ndarray:
    return np.where(np.isnan(q.returned), q.reflected, q.returned)


_DIRECTIVITY = partial(Metric, unit="dBi", larger_is_better=True, goal=GoalKind())
_BEAMWIDTH = partial(
    Metric,
    unit="deg",
    larger_is_better=False,
    goal=GoalKind(usual=(5, 120), either=True, ratio=True, floor=0.0, ceiling=360.0),
    place=Place.FIGURE,
    absent="not defined",
)
_BALANCE = partial(Metric, unit="", larger_is_better=True, extrapolation=Extrapolation.LINEAR, goal=None, decimals=4)

METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        _DIRECTIVITY(
            key="directivity_dbi",
            label="directivity on axis",
            compute=_directivity,
            typical=20.0,
            place=Place.HEADLINE,
        ),
        _DIRECTIVITY(
            key="max_directivity_dbi",
            label="largest directivity",
            compute=lambda q: np.maximum(q.e_plane_dbi, q.h_plane_dbi).max(axis=-1),
            typical=20.0,
        ),
        _DIRECTIVITY(
            key="gain_dbi",
            label="gain on axis",
            compute=lambda q: _directivity(q) + decibels(q.efficiency),
            typical=19.98,
            place=Place.FIGURE,
        ),
        _DIRECTIVITY(
            key="realized_gain_dbi",
            label="realised gain on axis",
            compute=lambda q: _directivity(q) + decibels(q.efficiency * (1.0 - _returned(q))),
            typical=19.93,
        ),
        Metric(
            key="radiation_efficiency",
            label="radiation efficiency",
            unit="",
            larger_is_better=True,
            compute=lambda q: q.efficiency,
            extrapolation=Extrapolation.LINEAR,
            typical=0.995,
            goal=GoalKind(usual=(0.5, 0.99), ratio=True, floor=0.0, ceiling=1.0),
            place=Place.COMPARISON,
            decimals=4,
        ),
        Metric(
            key="s11_db",
            label="S11",
            unit="dB",
            larger_is_better=False,
            compute=lambda q: decibels(q.reflected),
            typical=-19.03,
            goal=GoalKind(usual=(-10, -30), ceiling=0.0),
            place=Place.HEADLINE,
        ),
        _BEAMWIDTH(
            key="hpbw_e_deg",
            label="beamwidth, E plane",
            compute=lambda q: half_power_beamwidth(q.e_plane_dbi, q.theta_deg),
            typical=14.2,
        ),
        _BEAMWIDTH(
            key="hpbw_h_deg",
            label="beamwidth, H plane",
            compute=lambda q: half_power_beamwidth(q.h_plane_dbi, q.theta_deg),
            typical=14.9,
        ),
        Metric(
            key="sidelobe_db",
            label="side lobe",
            unit="dB",
            larger_is_better=False,
            compute=lambda q: side_lobe(q.e_plane_dbi, q.h_plane_dbi, q.theta_deg),
            typical=-21.7,
            goal=GoalKind(usual=(-13, -30), met_when_absent=True, ceiling=0.0, forward=True),
            place=Place.HEADLINE,
            absent="none",
        ),
        Metric(
            key="front_to_back_db",
            label="front to back",
            unit="dB",
            larger_is_better=True,
            compute=lambda q: front_to_back(q.e_plane_dbi),
            typical=27.1,
            goal=GoalKind(usual=(10, 40), floor=0.0, forward=True),
            place=Place.SUMMARY,
        ),
        Metric(
            key="crosspol_db",
            label="cross-polarisation",
            unit="dB",
            larger_is_better=False,
            compute=lambda q: cross_polarisation(q.a, q.b, q.theta_deg),
            extrapolation=Extrapolation.POWER,
            typical=-31.0,
            goal=GoalKind(usual=(-15, -40), ceiling=0.0, forward=True),
            place=Place.COMPARISON,
        ),
        _BALANCE(
            key="power_balance",
            label="power balance",
            compute=lambda q: (q.radiated + q.dissipated) / q.accepted,
            typical=1.001,
            absent="not measured",
        ),
        _BALANCE(
            key="contour_balance",
            label="contour balance",
            compute=lambda q: q.radiated / q.through_contour,
            typical=0.999,
        ),
    )
}
"""All metrics by key, in the order of tables and columns."""

GOALS: dict[str, GoalKind] = {metric.key: metric.goal for metric in METRICS.values() if metric.goal is not None}
"""Metrics that a goal may have."""


def reported_in(place: Place, among: Collection[str] | None = None) -> list[Metric]:
    """Return the metrics that a place shows, in order.

    Args:
        place: Where.
        among: Keys that have values; all when None.
    """
    return [one for one in METRICS.values() if one.place >= place and (among is None or one.key in among)]


def metric_of(key: str) -> Metric:
    """Return a metric; one that the table does not have, of another version's run, is named by its key."""
    return METRICS.get(key) or Metric(
        key=key,
        label=key,
        unit="",
        larger_is_better=True,
        compute=lambda q: np.full(q.reflected.shape, np.nan),
        typical=math.nan,
        goal=None,
        decimals=4,
    )


read_as(__name__, METRICS)
