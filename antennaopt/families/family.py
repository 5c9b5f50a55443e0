"""What every antenna family provides, and the feed that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from antennaopt.families.outline import Outline
from fdtd.axisymmetric.scene import LevelSet, Rim, Scene, box

Designs = Mapping[str, np.ndarray]
"""Design parameters of a batch by dotted name, SI, each (batch,)."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """One antenna family.

    Attributes:
        name: As written in antenna files.
        scene: Builds the batch's scene.
        size: Largest radius and height above z = 0 of each antenna, m, two arrays (batch,).
        refusal: Why each design cannot be built, or None.
        outline: The section of one design as polygons, for export.
    """

    name: str
    scene: Callable[[Designs], Scene]
    size: Callable[[Designs], tuple[np.ndarray, np.ndarray]]
    refusal: Callable[[Designs], list[str | None]]
    outline: Callable[[Mapping[str, float]], Outline]


def stack(designs: Sequence[Mapping[str, float]]) -> dict[str, np.ndarray]:
    """A batch of designs as one array a parameter."""
    return {name: np.array([design[name] for design in designs], dtype=float) for name in designs[0]}


def numbered(designs: Designs, prefix: str) -> np.ndarray:
    """The list parameter prefix.0, prefix.1, ... as (count, batch)."""
    count = 0
    while f"{prefix}.{count}" in designs:
        count += 1
    return np.stack([designs[f"{prefix}.{at}"] for at in range(count)])


def feed(designs: Designs) -> tuple[LevelSet, LevelSet]:
    """Conductors of the feed: a tube from z = -length to z = 0, closed by a back wall as thick as the tube."""
    inner, outer, length = (designs[f"feed.{name}"] for name in ("inner_radius", "outer_radius", "length"))
    nothing = np.zeros_like(inner)
    thickness = outer - inner
    axis = np.full_like(inner, -np.inf)  # the wall crosses the axis: no edge there
    tube = box(inner, outer, -length - thickness, nothing)
    wall = box(axis, outer, -length - thickness, -length)
    return tube, wall


def feed_rims(designs: Designs) -> tuple[Rim, Rim, Rim]:
    """Sharp edges of the feed: the aperture's inner and outer one, and the back wall's."""
    inner, outer = designs["feed.inner_radius"], designs["feed.outer_radius"]
    nothing = np.zeros_like(inner)
    return right_angle(inner, nothing, 0.0), right_angle(outer, nothing, -0.5), back_rim(designs)


def back_rim(designs: Designs) -> Rim:
    """The outer edge of the feed's back wall."""
    inner, outer, length = (designs[f"feed.{name}"] for name in ("inner_radius", "outer_radius", "length"))
    return right_angle(outer, inner - outer - length, -1.0)


def right_angle(r: np.ndarray, z: np.ndarray, wall: float) -> Rim:
    """A rim of 90 degrees at (r, z), one of whose walls runs in the direction `wall`, in units of pi from +r to +z."""
    ones = np.ones_like(r)
    return Rim(r=r, z=z, wall=wall * np.pi * ones, opening=1.5 * np.pi * ones)


def same_feed(designs: Designs) -> bool:
    """Whether the whole batch stands on one feed."""
    return all(bool((values == values[0]).all()) for name, values in designs.items() if name.startswith("feed."))


def lens_losses(designs: Designs) -> np.ndarray:
    """Loss tangent of the lens, 0 where none is given."""
    return designs.get("lens.loss_tangent", np.zeros_like(designs["lens.permittivity"]))


def too_small_a_base(base: np.ndarray, designs: Designs, what: str) -> list[str | None]:
    """A lens must cover the rim of the feed that it stands on."""
    outer = designs["feed.outer_radius"]
    return [
        None
        if radius >= rim - 1e-12
        else f"{what} = {radius * 1e3:.4g} mm is smaller than feed.outer_radius = {rim * 1e3:.4g} mm: "
        "the lens cannot stand on it"
        for radius, rim in zip(base, outer, strict=True)
    ]
