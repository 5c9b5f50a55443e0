"""One case a family: a sound antenna on a common feed, and a range for one of its parameters.

Tests that hold for all families go through `CASES`; a new family adds its own here.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from antennaopt.families import Body, kind

FEED = {"feed.inner_radius": 3.6e-3, "feed.outer_radius": 4.0e-3, "feed.length": 12e-3}


@dataclass(frozen=True, kw_only=True)
class Case:
    """An antenna of one family.

    Attributes:
        design: Every parameter, SI, that has no default, the feed's included.
        gene: A parameter that may be a range.
        low: Its smallest value, SI.
        high: Its largest value, SI.
        refused: Change that makes the antenna impossible, one parameter; empty where none does.
        limit: What that parameter must reach, SI.
        limited_by: The parameter that sets the limit.
        bodies: Sections that the file draws.
    """

    design: dict[str, float] = field(default_factory=dict)
    gene: str
    low: float
    high: float
    refused: dict[str, float] = field(default_factory=dict)
    limit: float = 0.0
    limited_by: str = "feed.outer_radius"
    bodies: tuple[Body, ...] = ()


RADII = (14e-3, 13.5e-3, 12.5e-3, 11e-3, 10e-3, 9e-3)
SPLINE = (3.9e-3, 4.8e-3, 5.6e-3, 6.2e-3, 7.4e-3, 8.2e-3)
CASES = {
    "open_waveguide": Case(design=FEED, gene="feed.outer_radius", low=3.9e-3, high=4.4e-3),
    "hemispherical_lens": Case(
        design={**FEED, "lens.permittivity": 2.53, "lens.radius": 9e-3, "lens.extension": 3e-3},
        gene="lens.radius",
        low=6e-3,
        high=9e-3,
        refused={"lens.radius": 3.9e-3},
        limit=4.0e-3,
    ),
    "shaped_lens": Case(
        design={
            **FEED,
            "lens.permittivity": 2.53,
            "lens.loss_tangent": 1e-3,
            **{f"lens.radii.{place}": radius for place, radius in enumerate(RADII)},
        },
        gene="lens.radii.0",
        low=10e-3,
        high=14e-3,
        refused={"lens.radii.5": 3.5e-3},
        limit=4.0e-3,
    ),
    "shell_lens": Case(
        design={
            **FEED,
            "lens.permittivity": 2.53,
            "lens.radius": 7e-3,
            "lens.extension": 2e-3,
            "layers.permittivity.0": 1.9,
            "layers.thickness.0": 1.5e-3,
            "layers.loss_tangent": 1e-3,
            "matching.wavelength": 10e-3,
        },
        gene="lens.radius",
        low=5e-3,
        high=7e-3,
        refused={"lens.radius": 3.9e-3},
        limit=4.0e-3,
    ),
    "conical_horn": Case(
        design={**FEED, "horn.length": 18e-3, "horn.aperture_radius": 9e-3, "horn.wall": 0.5e-3},
        gene="horn.length",
        low=10e-3,
        high=18e-3,
        refused={"horn.aperture_radius": 3e-3},
        limit=3.6e-3,
        limited_by="feed.inner_radius",
    ),
    "profile_horn": Case(
        design={
            **FEED,
            "horn.length": 15e-3,
            "horn.aperture_radius": 8e-3,
            "horn.wall": 0.7e-3,
            "horn.curve": 1.0,
            "horn.amplitude": 0.8,
            "horn.rho": 1.6,
        },
        gene="horn.length",
        low=10e-3,
        high=15e-3,
        refused={"horn.aperture_radius": 3e-3},
        limit=3.6e-3,
        limited_by="feed.inner_radius",
    ),
    "spline_horn": Case(
        design={
            **FEED,
            "horn.length": 15e-3,
            **{f"horn.radii.{place}": radius for place, radius in enumerate(SPLINE)},
            "horn.wall": 0.7e-3,
        },
        gene="horn.radii.2",
        low=5e-3,
        high=6e-3,
        refused={"horn.radii.5": 3.5e-3},
        limit=3.6e-3,
        limited_by="feed.inner_radius",
    ),
    "dual_mode_horn": Case(
        design={
            **FEED,
            "horn.step_radius": 6.3e-3,
            "horn.phasing": 3e-3,
            "horn.flare": 12e-3,
            "horn.aperture_radius": 9e-3,
            "horn.wall": 0.7e-3,
        },
        gene="horn.phasing",
        low=2e-3,
        high=4e-3,
        refused={"horn.aperture_radius": 6e-3},
        limit=6.3e-3,
        limited_by="horn.step_radius",
    ),
    "corrugated_horn": Case(
        design={
            **FEED,
            "horn.slots": 6.0,
            "horn.pitch": 2.2e-3,
            "horn.aperture_radius": 8e-3,
            "horn.wavelength": 10.2e-3,
            "horn.wall": 0.8e-3,
            "horn.slot_share": 0.7,
        },
        gene="horn.pitch",
        low=2.0e-3,
        high=2.3e-3,
        refused={"horn.aperture_radius": 3e-3},
        limit=3.6e-3,
        limited_by="feed.inner_radius",
    ),
    "dielectric_rod": Case(
        design={
            **FEED,
            "rod.permittivity": 2.1,
            "rod.radius": 4.3e-3,
            "rod.length": 14e-3,
            "rod.taper": 9e-3,
            "rod.tip_radius": 1.5e-3,
        },
        gene="rod.tip_radius",
        low=1e-3,
        high=3e-3,
        refused={"rod.radius": 3.5e-3},
        limit=3.6e-3,
        limited_by="feed.inner_radius",
    ),
    "choke_ring_feed": Case(
        design={
            **FEED,
            "rings.count": 2.0,
            "rings.depth": 2.6e-3,
            "rings.width": 1.7e-3,
            "rings.tooth": 0.7e-3,
            "rings.wall": 0.7e-3,
            "rings.set_back": 1e-3,
        },
        gene="rings.depth",
        low=2e-3,
        high=3e-3,
    ),
    "lens_horn": Case(
        design={
            **FEED,
            "horn.length": 10e-3,
            "horn.aperture_radius": 8e-3,
            "horn.wall": 0.7e-3,
            "lens.permittivity": 2.53,
            "lens.loss_tangent": 1e-3,
            "lens.edge": 1e-3,
        },
        gene="horn.length",
        low=8e-3,
        high=10e-3,
        refused={"horn.aperture_radius": 3e-3},
        limit=3.6e-3,
        limited_by="feed.inner_radius",
    ),
    "reflector": Case(
        design={
            **FEED,
            "reflector.diameter": 34e-3,
            "reflector.focal_ratio": 0.4,
            "reflector.thickness": 0.8e-3,
            "reflector.defocus": 1e-3,
        },
        gene="reflector.defocus",
        low=0.0,
        high=2e-3,
    ),
    "cassegrain": Case(
        design={
            **FEED,
            "reflector.diameter": 56e-3,
            "reflector.focal_ratio": 0.35,
            "reflector.thickness": 0.8e-3,
            "subreflector.diameter": 16e-3,
            "subreflector.magnification": 2.2,
            "subreflector.thickness": 0.8e-3,
        },
        gene="subreflector.diameter",
        low=14e-3,
        high=17e-3,
    ),
    "ring_focus": Case(
        design={
            **FEED,
            "reflector.diameter": 52e-3,
            "reflector.focal_ratio": 0.25,
            "reflector.thickness": 0.8e-3,
            "subreflector.diameter": 18e-3,
            "subreflector.half_angle": 50.0,
            "subreflector.thickness": 0.8e-3,
        },
        gene="subreflector.diameter",
        low=17e-3,
        high=18.5e-3,
    ),
    "splash_plate": Case(
        design={
            **FEED,
            "reflector.diameter": 50e-3,
            "reflector.focal_ratio": 0.25,
            "reflector.thickness": 0.8e-3,
            "plate.diameter": 16e-3,
            "plate.distance": 5e-3,
            "plate.thickness": 0.8e-3,
            "plate.cone_height": 2e-3,
            "plate.cone_radius": 3e-3,
        },
        gene="plate.distance",
        low=4e-3,
        high=6e-3,
    ),
    "outline": Case(
        design={**FEED, "body.1.permittivity": 2.53, "body.2.permittivity": 1.6, "body.2.loss_tangent": 1e-3},
        bodies=(
            Body(metal=True, points=((4e-3, -3.3e-3), (7e-3, -3.3e-3), (7e-3, 0.0), (4e-3, 0.0))),
            Body(metal=False, points=((0.0, 0.0), (6e-3, 0.0), (6e-3, 4e-3), (0.0, 9e-3))),
            Body(metal=False, points=((6e-3, 0.0), (7e-3, 0.0), (7e-3, 5e-3), (0.0, 11e-3), (0.0, 9e-3), (6e-3, 4e-3))),
        ),
        gene="feed.outer_radius",
        low=3.9e-3,
        high=4.4e-3,
    ),
}
KINDS = {family: kind(family, case.bodies) for family, case in CASES.items()}
DESIGNS = {
    family: {one.name: one.default for one in KINDS[family].parameters if one.default is not None and not one.left_out}
    | case.design
    for family, case in CASES.items()
}
"""With the defaults of what a case leaves out."""

FLARES = {
    f"horn.{name}.{place}": value
    for name, values in (("length", (2e-3, 6e-3, 4e-3)), ("aperture_radius", (4.6e-3, 5.4e-3, 8.6e-3)))
    for place, value in enumerate(values)
}
IN_A_DISH = {
    feed: {name: value for name, value in DESIGNS[feed].items() if name not in FEED}
    | {"reflector.feed": float(place), "reflector.diameter": 56e-3}
    for place, feed in enumerate(KINDS["reflector"].parameter("reflector.feed").choices)
}
"""What a feed family's case changes in that of the reflector."""

SHARP_RIM = (18.84e-3, 18.06e-3, 15.77e-3, 12.03e-3, 8.24e-3, 12.16e-3)
VARIANTS = {
    "lens with a sharp rim": ("shaped_lens", {f"lens.radii.{place}": one for place, one in enumerate(SHARP_RIM)}),
    "three flares": ("profile_horn", FLARES),
    "free cubic": ("spline_horn", {"horn.spline": 1.0}),
    "ring-loaded slots": ("corrugated_horn", {"horn.converter": 1.0, "horn.neck_share": 0.3, "horn.neck_margin": 0.2}),
    "slots of variable width": ("corrugated_horn", {"horn.converter": 2.0, "horn.narrowest_share": 0.3}),
    "choke slots": ("corrugated_horn", {"horn.chokes": 2.0}),
    "lens in front of the mouth": (
        "lens_horn",
        {"lens.side": 1.0, "lens.thickness.0": 4e-3, "lens.thickness.1": 3e-3, "lens.thickness.2": 0.5e-3},
    ),
    "shroud": ("reflector", {"reflector.shroud": 6e-3}),
    "horn in a dish": ("reflector", IN_A_DISH["conical_horn"] | {"reflector.shroud": 2e-3}),
    "choke rings in a dish": ("reflector", IN_A_DISH["choke_ring_feed"] | {"reflector.shroud": 2e-3}),
    "rod in a dish": ("reflector", IN_A_DISH["dielectric_rod"] | {"reflector.shroud": 2e-3}),
    "rings in a Cassegrain antenna": (
        "cassegrain",
        {name: value for name, value in IN_A_DISH["choke_ring_feed"].items() if not name.endswith("diameter")}
        | {"rings.count": 1.0, "reflector.focal_ratio": 0.4, "reflector.defocus": -1e-3},
    ),
    "held splash plate": ("splash_plate", {"plate.permittivity": 2.1, "plate.support_radius": 5e-3}),
    "flush rings": ("choke_ring_feed", {"rings.set_back": 0.0, "rings.count": 3.0}),
}
"""Shapes that a family's case leaves out: the family, and what to change in its case."""


def with_slow(families: Iterable[str], slow: Collection[str]) -> list[Any]:
    """Return the families as test parameters, some of them marked slow."""
    return [pytest.param(one, marks=pytest.mark.slow) if one in slow else one for one in families]


TWO_REFLECTORS = {"cassegrain", "ring_focus", "splash_plate"}
"""A reflector with a second one in front of it: the largest lattices and drawings."""
OF_POLYGONS = {
    "outline",
    "lens_horn",
    "choke_ring_feed",
    "profile_horn",
    "spline_horn",
    "dual_mode_horn",
    "corrugated_horn",
}
"""Drawn by polygons: each takes seconds."""
