"""Limits of a pattern as lines of a plot: masks, single levels, cross-polarisation, isoflux and sec^2 patterns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from antennaopt.figures.figure import Figure
from antennaopt.figures.kinds import Options, option_text
from fdtd.farfield.masks import Line, ideal_db, isoflux_edge, slant_range

CROSSPOL_DEG = 90.0
"""Largest angle of the metric `crosspol_db`."""

_POINTS = 60


@dataclass(frozen=True, kw_only=True)
class LimitLine:
    """A limit over a range of angles.

    Attributes:
        planes: Curves that it limits: `e`, `h`, `co`, `cross`.
        upper: Whether levels must stay below it.
        theta_deg: Angles of its corners, ascending.
        level: dB over co-polar boresight, or dBi.
        absolute: Whether the levels are dBi.
        text: Its name in a plot.
    """

    planes: tuple[str, ...]
    upper: bool
    theta_deg: tuple[float, ...]
    level: tuple[float, ...]
    absolute: bool
    text: str


def limit_lines(
    metric: str, figure: Figure | None, at_least: float | None, at_most: float | None
) -> tuple[LimitLine, ...]:
    """Return the lines of a goal that a pattern can show; none of other goals.

    Args:
        metric: Of the goal.
        figure: With its options; None for a metric of every row.
        at_least: Lower bound in the metric's unit.
        at_most: Upper bound.
    """
    settings = {} if figure is None else figure.settings
    if metric == "pattern_db" and figure is not None:
        return tuple(_of_pattern(figure, at_least, at_most))
    if metric == "crosspol_db" and at_most is not None:
        end = float(np.rad2deg(settings["theta"])) if "theta" in settings else CROSSPOL_DEG
        text = f"cross-polarisation ≤ {at_most:g} dB"
        return (
            LimitLine(
                planes=("cross",), upper=True, theta_deg=(0.0, end), level=(at_most,) * 2, absolute=False, text=text
            ),
        )
    if metric in ("isoflux_db", "sec2_db") and at_most is not None:
        return (_of_coverage(metric, settings, at_most),)
    return ()


def _of_pattern(figure: Figure, at_least: float | None, at_most: float | None) -> Iterator[LimitLine]:
    settings, mask = figure.settings, figure.mask
    plane, absolute = settings["plane"], settings["absolute"]
    planes = ("e", "h") if plane == "both" else (plane,)
    sides: dict[bool, Line] = {}
    if mask is not None:
        sides = {True: mask.at_most, False: mask.at_least}
    else:
        for upper, level in ((True, at_most), (False, at_least)):
            sides[upper] = () if level is None else tuple((angle, level) for angle in settings["theta"])
    for upper, line in sides.items():
        if line:
            theta, level = zip(*line, strict=True)
            yield LimitLine(
                planes=planes,
                upper=upper,
                theta_deg=tuple(float(np.rad2deg(one)) for one in theta),
                level=tuple(map(float, level)),
                absolute=absolute,
                text=_mask_text(figure)
                if mask is not None
                else f"level {'≤' if upper else '≥'} {level[0]:g} dB{'i' * absolute}",
            )


def _mask_text(figure: Figure) -> str:
    return "mask" if figure.name.endswith("_mask") else f"mask {figure.name}"


def _of_coverage(metric: str, settings: Options, at_most: float) -> LimitLine:
    """The ideal pattern, lowered by the shortfall that is allowed."""
    if metric == "isoflux_db":
        edge = isoflux_edge(settings["height"], settings["elevation"])
        ideal = ideal_db(lambda theta: slant_range(theta, settings["height"]) ** 2, edge)
        text = f"isoflux, {option_text('height', settings['height'])}, less {at_most:g} dB"
    else:
        edge = settings["theta"]
        ideal = ideal_db(lambda theta: np.cos(theta) ** -2.0, edge)
        text = f"sec\N{SUPERSCRIPT TWO}, less {at_most:g} dB"
    theta = np.linspace(0.0, edge, _POINTS + 1)
    return LimitLine(
        planes=("co",),
        upper=False,
        theta_deg=tuple(np.rad2deg(theta).tolist()),
        level=tuple((ideal(theta) - at_most).tolist()),
        absolute=True,
        text=text,
    )
