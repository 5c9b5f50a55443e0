"""A figure of merit of an objective: its name, its options, and their checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from antennaopt.figures.kinds import KINDS, FigureKind, Options, Solved, SolvedInSpace, described, mask_of
from antennaopt.metrics import METRICS, Metric
from fdtd.errors import ConfigError
from fdtd.farfield.cuts import Circles, Cuts
from fdtd.farfield.masks import Mask
from fdtd.farfield.polarisation import LINEAR
from fdtd.farfield.rings import Rings

OPTIONS = ("theta", "plane", "level_db", "absolute", "elevation", "height", "density")
"""Keys of an objective that say what a figure is, in addition to `metric` and `name`."""

EXAMPLES = {
    "theta": '"20 deg"',
    "plane": '"e"',
    "elevation": '"5 deg"',
    "height": '"600 km"',
    "density": '"2.7 g/cm3"',
}
"""For messages."""

RENAMED = {"realised_gain_dbi": "realized_gain_dbi"}
"""Other spellings of metrics."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
RESERVED = frozenset((
    "status", "error", "steps", "cells", "seconds", "stepping_seconds", "batch_seconds", "decay_db", "frequency_hz",
    "s11", "s11_re", "s11_im", "theta_deg", "e_plane", "h_plane", "e_plane_dbi", "h_plane_dbi", "older_dbi", "worker",
    "device", "attempt", "origin", "identity", "field", "sweep", "sphere", "rings", "film", "figures", "metrics",
    "modes",
))  # fmt: skip
"""Names that other data of an outcome have."""


class FigureError(ValueError):
    """A figure that cannot be.

    Attributes:
        key: Of the objective's entry at fault; empty for the objective itself.
        text: Reads on from the entry's name, and its value where it has one.
    """

    def __init__(self, text: str, key: str = "") -> None:
        super().__init__(f"{key} {text}".strip())
        self.key, self.text = key, text


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of merit of a run.

    Attributes:
        metric: Its kind, a key of `KINDS`.
        options: Pairs of key and value, SI, in order of the keys. A mask has `at_most` and `at_least`, numbers or
            corners; a single level has `side`, the bound that it is for.
        name: Beginning of its columns.
    """

    metric: str
    options: tuple[tuple[str, Any], ...] = ()
    name: str

    @property
    def settings(self) -> dict[str, Any]:
        """Options as a dict: value by key, SI."""
        return dict(self.options)

    @property
    def kind(self) -> FigureKind:
        """Its kind."""
        return KINDS[self.metric]

    @cached_property
    def about(self) -> Metric:
        """Label, unit and decimals."""
        found = described(self.metric, self.settings, self.name)
        own = self.name != default_name(self.metric, self.settings)
        return replace(found, label=f"{self.name}: {found.label}") if own else found

    @cached_property
    def mask(self) -> Mask | None:
        """Limits of the pattern; None of a single level, and of any other figure."""
        settings = self.settings
        return mask_of(settings) if "at_most" in settings or "at_least" in settings else None

    def fault_in_space(self, polarisation: str = LINEAR) -> str | None:
        """Return why antennas that are solved in three dimensions have not this figure; None where they have.

        Args:
            polarisation: Of the experiment.
        """
        if self.copied:
            return None
        if self.kind.circular and polarisation == LINEAR:
            return 'is of circular polarisation; write polarisation = "rhcp" or "lhcp" at the top of the file'
        if self.kind.in_space is None:
            known = ", ".join(name for name, one in KINDS.items() if one.in_space is not None)
            return f"is of bodies of revolution; of figures with options antennas in space have {known}"
        frequencies = self.settings.get("frequencies") or (1e9,)
        ones = np.ones((1, len(frequencies), 4), complex)
        level = np.abs(ones)
        made = SolvedInSpace(
            frequencies=frequencies,
            cuts=Circles(e=ones, h=ones),
            efficiency=level[..., 0],
            rings=Rings(co=ones, cross=level, power=level, order_one=level, ratio=level, least=level, most=level),
            areas=level[:, :1, 0],
        )
        try:
            self.kind.in_space(made, self.settings)
        except ConfigError as problem:
            return f"cannot be computed of antennas in space: {problem}"
        return None

    @property
    def copied(self) -> bool:
        """Whether it is a metric of every row under another name."""
        return self.metric in METRICS and not self.options

    @property
    def needs_rings(self) -> bool:
        """Whether it needs the far field's means over phi of an antenna that is solved in three dimensions."""
        return self.kind.rings and not self.copied

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        return {"metric": self.metric, "name": self.name, "options": {key: _listed(one) for key, one in self.options}}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Figure:
        """Return what `to_dict` wrote.

        Raises:
            ValueError: It is none.
        """
        name, metric = str(data["name"]), str(data["metric"])
        if metric not in KINDS or not NAME.fullmatch(name):
            raise ValueError(f"figure {name!r:.40} of metric {metric!r:.40} is not known")
        return cls(metric=metric, options=_options(data["options"]), name=name)


def metric_name(metric: str) -> str:
    """Return the one spelling of a metric."""
    return RENAMED.get(metric, metric)


def bounds_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return `at_least` and `at_most` of an objective, as far as it has them, whichever way they are written.

    Args:
        table: `at_least` and `at_most`, or `between`, or `target` with `tolerance`.
    """
    if table.get("between") is not None:
        low, high = table["between"]
        return {"at_least": low, "at_most": high}
    if table.get("target") is not None:
        target, tolerance = table["target"], table["tolerance"]
        return {"at_least": target - tolerance, "at_most": target + tolerance}
    return {key: table[key] for key in ("at_least", "at_most") if table.get(key) is not None}


def figure_of(table: Mapping[str, Any], polarisation: str = LINEAR) -> Figure | None:
    """Return the figure that an objective asks for; None where it is a metric of every row under its own name.

    Args:
        table: Of a resolved experiment: `metric`, and perhaps `name`, `OPTIONS`, bounds, `frequencies`; SI.
        polarisation: Of the experiment.

    Raises:
        FigureError: An option is missing or does not go with the metric, limits cross, or the name is taken.
    """
    metric = metric_name(str(table["metric"]))
    kind, name = KINDS[metric], table.get("name")
    settings = {key: table[key] for key in OPTIONS if table.get(key) is not None}
    _check_options(metric, kind, settings)
    bounds = bounds_of(table)
    if table.get("aim") is not None:
        bounds = {"at_least" if table["aim"] == "largest" else "at_most": None}
    if metric == "pattern_db":
        settings = _of_pattern(settings, bounds, polarisation)
    else:
        _check_numbers(settings, bounds)
    if "plane" in settings and settings["plane"] not in kind.planes:
        raise FigureError(f"is not one of {', '.join(kind.planes)}; use one of them", "plane")
    if kind.band and table.get("frequencies"):
        settings["frequencies"] = list(table["frequencies"])
    if metric in METRICS and not settings and name in (None, metric):
        return None
    _refuse_impossible(metric, kind, _options(settings))
    figure = Figure(metric=metric, options=_options(settings), name=name or default_name(metric, settings))
    if not NAME.fullmatch(figure.name):
        raise FigureError("must be 1 to 60 letters, digits and underscores, the first a letter; rename it", "name")
    if figure.name in RESERVED or figure.name in METRICS:
        raise FigureError("is the name of another column; rename it", "name")
    return figure


def _check_options(metric: str, kind: FigureKind, settings: Options) -> None:
    known = (*kind.needs, *kind.takes)
    for key in settings:
        if key not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no options"
            raise FigureError(f'does not go with metric = "{metric}", which {takes}; remove it', key)
    for key in kind.needs:
        if key not in settings:
            raise FigureError(f'is missing: metric = "{metric}" needs it; add for example {key} = {EXAMPLES[key]}', key)


def _check_numbers(settings: Options, bounds: Mapping[str, Any]) -> None:
    for key, value in {**bounds, **{key: settings[key] for key in ("theta",) if key in settings}}.items():
        if isinstance(value, (list, tuple)):
            one = f"one angle, {key} = {EXAMPLES[key]}" if key in EXAMPLES else "a number"
            raise FigureError(f"is a list, which only pattern_db takes; give {one}", key)


def _of_pattern(settings: dict[str, Any], bounds: Mapping[str, Any], polarisation: str) -> dict[str, Any]:
    """Return the options of a mask, or of a single level."""
    settings = {"plane": "both" if polarisation == LINEAR else "co", "absolute": False, **settings}
    lists = [one for one in bounds.values() if isinstance(one, (list, tuple))]
    example = 'for example theta = ["20 deg", "90 deg"]'
    if "theta" not in settings and not lists:
        raise FigureError(f'is missing: metric = "pattern_db" needs a range of angles; add {example}', "theta")
    if "theta" in settings and not (isinstance(settings["theta"], (list, tuple)) and len(settings["theta"]) == 2):
        raise FigureError(f"is no range of angles; give two, {example}", "theta")
    if len(bounds) == 1 and not lists:
        return settings | {"side": next(iter(bounds))}
    return settings | dict(bounds)


def default_name(metric: str, settings: Options) -> str:
    """Return the default name: metric, plane, angles, and what else tells figures of one kind apart."""
    parts = [metric]
    if "plane" in settings:
        parts.append(settings["plane"])
    if "height" in settings:
        parts.append(f"{_plain(settings['height'] / 1e3)}km")
    angles = settings.get("theta", settings.get("elevation"))
    if angles is None and ("at_most" in settings or "at_least" in settings):
        mask = mask_of(settings)
        line = mask.at_most or mask.at_least
        angles = line[0][0], line[-1][0]
    if angles is not None:
        each = angles if isinstance(angles, (list, tuple)) else (angles,)
        parts.append("_".join(_plain(float(np.rad2deg(one))) for one in each) + "deg")
    if "level_db" in settings:
        parts.append(f"{_plain(settings['level_db'])}db")
    if settings.get("absolute"):
        parts.append("absolute")
    if metric == "pattern_db" and settings.get("side") != "at_most":
        parts.append("lowest" if "side" in settings else "mask")
    return "_".join(parts)


def _plain(value: float) -> str:
    return f"{value:.6g}".replace(".", "p").replace("-", "m").replace("+", "")


def _refuse_impossible(metric: str, kind: FigureKind, options: tuple[tuple[str, Any], ...]) -> None:
    """Compute a figure of a made-up antenna: what its function refuses is refused before an antenna is solved.

    Raises:
        FigureError: In the words of that function.
    """
    if kind.compute is None or (metric in METRICS and not options):
        return
    level = np.cos(np.linspace(0.0, np.pi / 2, 181))[None, None] + 0j
    ones, settings = np.ones((1, 1)), dict(options)
    sizes: dict[str, np.ndarray] = dict.fromkeys(("length", "diameter", "aperture", "metal", "dielectric"), ones)
    hz = settings.get("frequencies", (1e9,))[:1]
    try:
        kind.compute(Solved(frequencies=hz, cuts=Cuts(e=level, h=level), efficiency=ones, sizes=sizes), settings)
    except ConfigError as problem:
        raise FigureError(f"cannot be computed: {problem}") from None


def _options(settings: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((str(key), _frozen(value)) for key, value in sorted(settings.items()))


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, (list, tuple)) else value


def _listed(value: Any) -> Any:
    return [_listed(one) for one in value] if isinstance(value, tuple) else value
