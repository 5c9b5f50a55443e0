"""One case a family: a sound antenna on a common feed, and a range for one of its parameters.

Tests that hold for all families go through `CASES`; a new family adds its own here.
"""

from dataclasses import dataclass, field

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
    """

    design: dict[str, float] = field(default_factory=dict)
    gene: str
    low: float
    high: float
    refused: dict[str, float] = field(default_factory=dict)
    limit: float = 0.0
    limited_by: str = "feed.outer_radius"


RADII = (14e-3, 13.5e-3, 12.5e-3, 11e-3, 10e-3, 9e-3)
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
    "conical_horn": Case(
        design={**FEED, "horn.length": 18e-3, "horn.aperture_radius": 9e-3, "horn.wall": 0.5e-3},
        gene="horn.length",
        low=10e-3,
        high=18e-3,
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
}
DESIGNS = {family: case.design for family, case in CASES.items()}
