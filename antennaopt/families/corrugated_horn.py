"""A corrugated horn with a mode converter of slots of variable depth, after the formulas of Granet and James.

Slot j = 1 ... N begins at z = (j - 1) pitch and is followed by a tooth. The tooth's inner radius is the curve's at its
end, a_j, from which the slot's depth is counted. With k = 2 pi / lam, e(x) = exp(1 / (2.114 x^1.134)) and N_c slots of
the converter:

    d_j = lam_c (sigma - (j - 1) / N_c (sigma - e(k_c a_j) / 4))                                          j <= N_c
    d_j = lam_c / 4 e(k_c a_j) - (j - N_c - 1) / (N - N_c - 1) (lam_c / 4 e(k_c a_o) - lam_o / 4 e(k_o a_o))   beyond

References:
    Granet and James, "Design of corrugated horns: a primer", IEEE Antennas Propag. Mag. 47 (2005) no. 2, 76.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from antennaopt.families.family import Designs, Family
from antennaopt.families.parameters import FEED, AtLeast, Parameter, Part, length
from antennaopt.families.profiles import (
    curve_parameters,
    feed_behind,
    joined,
    outline_of,
    radius_of,
    rims_of,
    scene_of,
    wall_part,
)
from fdtd.axisymmetric.scene import Rim

MOST_SLOTS = 200


def depths(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return inner radius of the teeth and depth of the slots before them, m, each (batch, slots).

    Beyond an antenna's own number of slots both are those of its last one.
    """
    count = np.rint(designs["horn.slots"])[:, None]
    number = np.minimum(np.arange(1.0, count.max() + 1), count)
    converter = np.rint(designs["horn.converter_slots"])[:, None]
    centre, sigma, aperture = (designs[f"horn.{name}"][:, None] for name in ("wavelength", "sigma", "aperture_radius"))
    upper = centre / designs["horn.output_ratio"][:, None]
    radius = radius_of(designs, "horn", number / count)
    here = centre / 4 * _curvature(radius, centre)
    blend = (number - converter - 1) / np.maximum(count - converter - 1, 1.0)
    end = centre / 4 * _curvature(aperture, centre) - upper / 4 * _curvature(aperture, upper)
    first = centre * sigma - (number - 1) / np.maximum(converter, 1.0) * (centre * sigma - here)
    return radius, np.where(number <= converter, first, here - blend * end)


def _curvature(radius: np.ndarray, wavelength: np.ndarray) -> np.ndarray:
    """Return depth over a quarter of a wavelength of a slot that ends open, at a radius."""
    return np.exp(1 / (2.114 * (2 * np.pi * radius / wavelength) ** 1.134))


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that grow with each parameter: the deepest slot of all that the formulas allow, at the aperture."""
    wavelength = designs["horn.wavelength"]
    narrow = _curvature(designs["feed.inner_radius"], wavelength) / 4
    radius = designs["horn.aperture_radius"] + wavelength * np.maximum(narrow, designs["horn.sigma"])
    return np.maximum(radius, designs["feed.outer_radius"]) + designs["horn.wall"], np.rint(
        designs["horn.slots"]
    ) * designs["horn.pitch"]


def _section(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    wall, nothing = designs["horn.wall"], np.zeros_like(designs["horn.wall"])
    count, pitch = np.rint(designs["horn.slots"])[:, None], designs["horn.pitch"][:, None]
    tooth, depth = depths(designs)
    slot = np.arange(tooth.shape[1])
    own = slot < count  # beyond it all corners are at the aperture
    begin, end = np.where(own, slot, count) * pitch, np.where(own, slot + 1, count) * pitch
    share = designs["horn.slot_share"][:, None]
    bottom, face = np.where(own, tooth + depth, tooth), np.where(own, (slot + share) * pitch, end)
    outer = np.maximum.accumulate(tooth + depth, axis=1) + wall[:, None]
    outer = np.maximum(outer, designs["feed.outer_radius"][:, None] + wall[:, None])
    stop = count[:, 0] * pitch[:, 0]
    outside = (outer, np.where(own, begin - wall[:, None], stop[:, None])), (outer[:, -1], stop)
    # Each slot from the aperture back: the tooth's end, the tooth's start, the slot's bottom, and back out of it.
    comb = np.stack([tooth, tooth, bottom, bottom], axis=-1), np.stack([end, face, face, begin], axis=-1)
    inside_r, inside_z = (one[:, ::-1].reshape(len(wall), -1) for one in comb)
    *tube, (edge, _) = feed_behind(designs)
    return (
        joined((edge, nothing), (edge, -wall), *outside, (inside_r, inside_z)),
        rims_of(joined(*tube, (edge, -wall), *outside, (inside_r, inside_z))),
    )


def _parts(design: Mapping[str, float]) -> tuple[Part, ...]:
    pitch, share = design["horn.pitch"], design["horn.slot_share"]
    at = f"horn.pitch = {pitch * 1e3:.4g} mm"
    return (
        Part(what=f"a tooth of {at},", thickness=(1 - share) * pitch),
        Part(what=f"a slot of {at}", thickness=share * pitch, metal=False),
        wall_part(design),
    )


def _number(name: str, about: str, example: str, default: float, lowest: float, highest: float) -> Parameter:
    return Parameter(name=f"horn.{name}", about=about, example=example, default=default, lowest=lowest, highest=highest)


FAMILY = Family(
    name="corrugated_horn",
    title="A corrugated horn with a mode converter of slots of variable depth.",
    parameters=(
        *FEED,
        Parameter(
            name="horn.slots", about="Number of slots.", example="12", kind="integer", lowest=2.0, highest=MOST_SLOTS
        ),
        length("horn.pitch", "Width of a slot and its tooth.", example='"1.5 mm"'),
        length("horn.aperture_radius", "Inner radius of the last tooth.", example='"12 mm"'),
        length("horn.wavelength", "Wavelength lam_c in free space that the slots are made for.", example='"10 mm"'),
        length("horn.wall", "Thickness of metal behind the deepest slot and of the first plate.", example='"1 mm"'),
        _number("slot_share", "Width of a slot over the pitch.", "0.7", 0.8, 0.05, 0.95),
        Parameter(
            name="horn.converter_slots", about="Slots of the mode converter.", example="5", kind="integer",
            default=5.0, highest=MOST_SLOTS,
        ),
        _number("sigma", "Depth of the first slot over lam_c.", "0.42", 0.42, 0.25, 0.6),
        _number("output_ratio", "lam_c over lam_o, the wavelength of the last slot.", "1.02", 1.02, 1.0, 1.5),
        *curve_parameters("horn"),
    ),
    scene=partial(scene_of, _section),
    size=_size,
    outline=partial(outline_of, _section),
    limits=(
        AtLeast(name="horn.aperture_radius", least="feed.inner_radius", problem="is smaller than the feed"),
        AtLeast(name="feed.length", least="horn.wall", problem="is shorter than the first plate is thick"),
    ),
    parts=_parts,
)  # fmt: skip
