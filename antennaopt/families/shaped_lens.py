"""A dielectric lens whose surface is given by its distance from the aperture's centre at equally spaced polar angles.

The distances are joined by a monotone cubic (PCHIP, Fritsch & Carlson, SIAM J. Numer. Anal. 17 (1980) 238) of the list
mirrored about the axis, so the slope on the axis is zero. The base is flat, in the plane z = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from antennaopt.families.family import LENS_BASE, Designs, Family, dielectric, numbered, on_feed, stack
from antennaopt.families.monotone import monotone_cubics
from antennaopt.families.parameters import FEED, AtLeast, Orders, Part, entries, length, material
from antennaopt.families.shapes import Outline, curve
from fdtd.axisymmetric.scene import Scene, polar_profile

_SAMPLES = 33  # a piece; between two the surface is 0.1 um further out at most


def profile(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Angles from the axis, rad (pieces + 1,), and cubics of R between, m (4, pieces, batch), highest power first."""
    radii = numbered(designs, "lens.radii")
    theta = np.linspace(0.0, np.pi / 2, len(radii))
    mirrored = np.concatenate([radii[:0:-1], radii])
    cubics = monotone_cubics(np.concatenate([-theta[:0:-1], theta]), mirrored)
    return theta, cubics[:, len(theta) - 1 :]


def _reach(theta: np.ndarray, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return largest radius and height of a surface from `profile`, m, each (batch,)."""
    step = np.linspace(0.0, theta[1], _SAMPLES)[:, None, None]
    c3, c2, c1, c0 = coefficients
    rho = ((c3 * step + c2) * step + c1) * step + c0
    angle = theta[:-1, None] + step
    return tuple((rho * part).max(axis=(0, 1)) for part in (np.sin(angle), np.cos(angle)))


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    radius, height = _reach(*profile(designs))
    return np.maximum(radius, designs["feed.outer_radius"]), height


def _scene(designs: Designs) -> Scene:
    theta, coefficients = profile(designs)
    radius, height = _reach(theta, coefficients)
    return on_feed(designs, dielectric(designs, "lens", polar_profile(theta, coefficients), r_max=radius, z_max=height))


def _parts(design: Mapping[str, float]) -> Iterator[Part]:
    name = min(entries(design, "lens.radii"), key=design.__getitem__)
    yield Part(what=f"the lens at {name}", thickness=design[name], metal=False)


def _outline(design: Mapping[str, float]) -> Outline:
    theta, coefficients = profile(stack([design]))
    corners = [np.zeros((1, 2))]
    for piece in reversed(range(len(theta) - 1)):
        corners.append(curve(_points(theta[piece], coefficients[:, piece, 0]), theta[piece + 1], theta[piece])[:-1])
    apex = np.array([[0.0, coefficients[3, 0, 0]]])
    return Outline.on_feed(design, "lens", np.concatenate([*corners, apex]))


def _points(first: float, cubic: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Points (r, z) of the profile's piece that begins at the angle `first`."""

    def at(theta: np.ndarray) -> np.ndarray:
        rho = np.polyval(cubic, theta - first)
        return np.stack([rho * np.sin(theta), rho * np.cos(theta)], axis=1)

    return at


FAMILY = Family(
    name="shaped_lens",
    title="A lens on the feed, given by its distance from the aperture's centre.",
    parameters=(
        *FEED,
        *material("lens"),
        length(
            "lens.radii",
            "Distances at equally spaced polar angles from 0 (axis) to 90 degrees (aperture plane).",
            example='{ count = 8, min = "8 mm", max = "20 mm" }',
            kind="list",
        ),
    ),
    scene=_scene,
    size=_size,
    outline=_outline,
    long_step=True,
    limits=(AtLeast(name="lens.radii", **LENS_BASE),),
    parts=_parts,
    orders=Orders(s11=2.02, pattern=2.1, efficiency=1.98),
)
