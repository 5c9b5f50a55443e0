"""A dielectric lens whose surface is given by its distance from the aperture's centre at equally spaced polar angles.

The distances are joined by a monotone cubic (PCHIP, Fritsch & Carlson, SIAM J. Numer. Anal. 17 (1980) 238) of the list
mirrored about the axis, so the slope on the axis is zero. The base is flat, in the plane z = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.interpolate import PchipInterpolator

from antennaopt.families.family import (
    Designs,
    Family,
    feed,
    feed_rims,
    lens_losses,
    numbered,
    same_feed,
    stack,
    too_small_a_base,
)
from antennaopt.families.outline import Outline, curve, feed_outline
from fdtd.axisymmetric.scene import Dielectric, Scene, polar_profile


def profile(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Angles from the axis, rad (pieces + 1,), and cubics of R between, m (4, pieces, batch), highest power first."""
    radii = numbered(designs, "lens.radii")
    theta = np.linspace(0.0, np.pi / 2, len(radii))
    mirrored = np.concatenate([radii[:0:-1], radii])
    cubic = PchipInterpolator(np.concatenate([-theta[:0:-1], theta]), mirrored, axis=0)
    return theta, np.asarray(cubic.c)[:, len(theta) - 1 :]


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    radii = numbered(designs, "lens.radii")
    largest = radii.max(axis=0)  # a monotone cubic stays between its points
    return np.maximum(largest, designs["feed.outer_radius"]), largest


def _scene(designs: Designs) -> Scene:
    theta, coefficients = profile(designs)
    largest = float(numbered(designs, "lens.radii").max())
    lens = Dielectric(
        distance=polar_profile(theta, coefficients),
        permittivity=designs["lens.permittivity"],
        loss_tangent=lens_losses(designs),
        r_max=largest,
        z_min=0.0,
        z_max=largest,
    )
    return Scene(
        batch=coefficients.shape[2],
        dielectrics=(lens,),
        conductors=feed(designs),
        rims=feed_rims(designs),
        same_metal=same_feed(designs),
    )


def _refusal(designs: Designs) -> list[str | None]:
    radii = numbered(designs, "lens.radii")
    return too_small_a_base(radii[-1], designs, f"lens.radii[{len(radii) - 1}]")


def _outline(design: Mapping[str, float]) -> Outline:
    theta, coefficients = profile(stack([design]))
    corners = [np.zeros((1, 2))]
    for piece in reversed(range(len(theta) - 1)):
        corners.append(curve(_points(theta[piece], coefficients[:, piece, 0]), theta[piece + 1], theta[piece])[:-1])
    apex = np.array([[0.0, coefficients[3, 0, 0]]])
    return Outline(conductors=(feed_outline(design),), dielectric=np.concatenate([*corners, apex]))


def _points(first: float, cubic: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Points (r, z) of the profile's piece that begins at the angle `first`."""

    def at(theta: np.ndarray) -> np.ndarray:
        rho = np.polyval(cubic, theta - first)
        return np.stack([rho * np.sin(theta), rho * np.cos(theta)], axis=1)

    return at


FAMILY = Family(name="shaped_lens", scene=_scene, size=_size, refusal=_refusal, outline=_outline)
