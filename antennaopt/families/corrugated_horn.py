"""A corrugated horn with one of the three mode converters of Granet and James, and choke slots round its mouth.

Slot j = 1 ... N begins at z = (j - 1) pitch and is followed by a tooth. The tooth's inner radius is the curve's at its
end, a_j, from which the slot's depth is counted. With k = 2 pi / lam, e(x) = exp(1 / (2.114 x^1.134)), N_c slots of the
converter, and delta the width of a slot over the pitch p, beyond the converter:

    d_j = lam_c / 4 e(k_c a_j) - (j - N_c - 1) / (N - N_c - 1) (lam_c / 4 e(k_c a_o) - lam_o / 4 e(k_o a_o))

and in it, for a variable depth, a ring-loaded slot with a neck of width b_j, and a variable width w_j:

    d_j = lam_c (sigma - (j - 1) / N_c (sigma - e(k_c a_j) / 4))
    d_j = lam_c / 4 e(k_c a_j),  b_j = (beta + (j - 1) / N_c (delta - margin - beta)) p
    d_j = (sigma lam_c / 1.15 + (j - 1) / (N_c - 1) (lam_c / 4 - sigma lam_c / 1.15)) e(k_c a_j),
          w_j = (delta_min + (j - 1) / (N_c - 1) (delta - delta_min)) p

The ring takes the outer two thirds of the depth and the width delta p; ring and neck end at the same plane, next to the
tooth after them.

References:
    Granet and James, "Design of corrugated horns: a primer", IEEE Antennas Propag. Mag. 47 (2005) no. 2, 76.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from antennaopt.families.family import Designs, Family, stack
from antennaopt.families.parameters import FEED, AtLeast, Orders, Parameter, Part, choice, length
from antennaopt.families.profiles import (
    curve_parameters,
    feed_behind,
    joined,
    outline_of,
    radius_of,
    rims_of,
    ring_slots,
    scene_of,
    wall_part,
)
from fdtd.axisymmetric.scene import Rim

MOST_SLOTS = 200
MOST_CHOKES = 20
CONVERTERS = ("variable_depth", "ring_loaded", "variable_width")
RING_LOADED, VARIABLE_WIDTH = 1, 2
_RING = 2 / 3  # of a ring-loaded slot's depth


def depths(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return inner radius of the teeth and depth of the slots before them, m, each (batch, slots).

    Beyond an antenna's own number of slots both are those of its last one.
    """
    count, number, converter = _numbers(designs)
    centre, sigma, aperture = (designs[f"horn.{name}"][:, None] for name in ("wavelength", "sigma", "aperture_radius"))
    upper = centre / designs["horn.output_ratio"][:, None]
    radius = radius_of(designs, "horn", number / count)
    here = centre / 4 * _curvature(radius, centre)
    blend = (number - converter - 1) / np.maximum(count - converter - 1, 1.0)
    end = centre / 4 * _curvature(aperture, centre) - upper / 4 * _curvature(aperture, upper)
    first = centre * sigma - (number - 1) / np.maximum(converter, 1.0) * (centre * sigma - here)
    widened = sigma / 1.15 + (number - 1) / np.maximum(converter - 1, 1.0) * (0.25 - sigma / 1.15)
    kind = np.rint(designs["horn.converter"])[:, None]
    inside = np.where(kind == RING_LOADED, here, first)
    inside = np.where(kind == VARIABLE_WIDTH, centre * widened * _curvature(radius, centre), inside)
    return radius, np.where(number <= converter, inside, here - blend * end)


def widths(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return width of the slots and of their necks over the pitch, each (batch, slots); a slot without neck has 0."""
    _, number, converter = _numbers(designs)
    full, narrowest, neck = (
        designs[f"horn.{name}"][:, None] for name in ("slot_share", "narrowest_share", "neck_share")
    )
    kind, own = np.rint(designs["horn.converter"])[:, None], number <= converter
    narrow = narrowest + (number - 1) / np.maximum(converter - 1, 1.0) * (full - narrowest)
    last = full - designs["horn.neck_margin"][:, None]
    necks = neck + (number - 1) / np.maximum(converter, 1.0) * (last - neck)
    return (
        np.where(own & (kind == VARIABLE_WIDTH), narrow, full),
        np.where(own & (kind == RING_LOADED), necks, 0.0),
    )


def _numbers(designs: Designs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return number of slots (batch, 1), each slot's own number (batch, slots), and slots of the converter."""
    count = np.rint(designs["horn.slots"])[:, None]
    number = np.minimum(np.arange(1.0, count.max() + 1), count)
    return count, number, np.rint(designs["horn.converter_slots"])[:, None]


def _curvature(radius: np.ndarray, wavelength: np.ndarray) -> np.ndarray:
    """Return depth over a quarter of a wavelength of a slot that ends open, at a radius."""
    return np.exp(1 / (2.114 * (2 * np.pi * radius / wavelength) ** 1.134))


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that grow with each parameter: the deepest slot of all that the formulas allow, at the aperture."""
    wavelength = designs["horn.wavelength"]
    narrow = _curvature(designs["feed.inner_radius"], wavelength) / 4
    deepest = np.maximum(narrow, designs["horn.sigma"])
    widened = np.maximum(deepest, 4 * narrow * designs["horn.sigma"] / 1.15)
    deepest = np.where(np.rint(designs["horn.converter"]) >= VARIABLE_WIDTH, widened, deepest)
    radius = designs["horn.aperture_radius"] + wavelength * deepest
    count, width, _, tooth = _chokes(designs)
    return (
        np.maximum(radius, designs["feed.outer_radius"]) + designs["horn.wall"] + count * (width + tooth),
        np.rint(designs["horn.slots"]) * designs["horn.pitch"],
    )


def _chokes(designs: Designs) -> tuple[np.ndarray, ...]:
    """Return number of choke slots, their width and depth, and the thickness of the teeth, each (batch,)."""
    lengths = (designs["horn.wavelength"] * designs[f"horn.choke_{name}"] for name in ("width", "depth", "tooth"))
    return np.rint(designs["horn.chokes"]), *lengths


def _section(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    wall, nothing = designs["horn.wall"], np.zeros_like(designs["horn.wall"])
    *tube, (edge, _) = feed_behind(designs)
    outside, inside = _outside(designs), _inside(designs)
    # The lip of a ring-loaded first slot stands on the tube, a part of which is then drawn with it.
    lip = widths(designs)[1][:, 0] > 0
    joint = np.where(lip, designs["feed.inner_radius"], edge)
    return (
        joined((joint, nothing), (joint, -wall), *outside, inside),
        rims_of(joined(*tube, (edge, -wall), *outside, inside)),
    )


def _outside(designs: Designs) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the outer surface from the first plate to the mouth, and the choke slots from the outside to the horn."""
    wall, pitch, count = designs["horn.wall"], designs["horn.pitch"], np.rint(designs["horn.slots"])
    tooth, depth = depths(designs)
    slot = np.arange(tooth.shape[1])
    outer = np.maximum.accumulate(tooth + depth, axis=1) + wall[:, None]
    outer = np.maximum(outer, designs["feed.outer_radius"][:, None] + wall[:, None])
    stop = count * pitch
    z = np.where(
        slot < count[:, None], np.minimum(slot, count[:, None]) * pitch[:, None] - wall[:, None], stop[:, None]
    )
    chokes, width, deep, between = _chokes(designs)
    if not chokes.any():
        return [(outer, z), (outer[:, -1], stop)]
    back = np.where(chokes > 0, np.maximum(stop - deep - wall, -wall), stop)
    begin = np.array([np.interp(*one) for one in zip(back, z, outer, strict=True)])
    behind = z < back[:, None]
    rings = ring_slots(outer[:, -1], stop, chokes, (width, deep, between))
    return [
        (np.where(behind, outer, begin[:, None]), np.where(behind, z, back[:, None])),
        (begin, back),
        (rings[0][:, -1], back),
        tuple(one[:, ::-1] for one in rings),  # type: ignore[list-item]
    ]


def _inside(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Return teeth and slots from the mouth back to the first slot; beyond its own slots an antenna has one corner."""
    count, pitch = np.rint(designs["horn.slots"])[:, None], designs["horn.pitch"][:, None]
    tooth, depth = depths(designs)
    width, neck = widths(designs)
    slot = np.arange(tooth.shape[1])
    own = slot < count
    begin, end = np.where(own, slot, count) * pitch, np.where(own, slot + 1, count) * pitch
    bottom, face = np.where(own, tooth + depth, tooth), np.where(own, (slot + width) * pitch, end)
    # Each slot from the mouth back: the tooth's end, the tooth's start, the slot's bottom, and back out of it.
    comb = [(tooth, end), (tooth, face), (bottom, face), (bottom, begin)]
    if neck.any():
        # Out of a ring: its shelf up to the neck, and through the neck to the tooth before.
        before = np.concatenate([designs["feed.inner_radius"][:, None], tooth[:, :-1]], axis=1)
        lip = own & (neck > 0)
        shelf, opening = np.where(lip, bottom - _RING * depth, bottom), np.where(lip, face - neck * pitch, begin)
        comb += [(shelf, begin), (shelf, opening), (np.where(lip, before, bottom), opening)]
    r, z = (np.stack(one, axis=-1)[:, ::-1].reshape(len(tooth), -1) for one in zip(*comb, strict=True))
    return r, z


def _parts(design: Mapping[str, float]) -> Iterator[Part]:
    pitch, share, kind = design["horn.pitch"], design["horn.slot_share"], round(design["horn.converter"])
    yield Part(what="a tooth of horn.pitch", thickness=(1 - share) * pitch)
    yield Part(what="a slot of horn.pitch", thickness=share * pitch, metal=False)
    yield wall_part(design)
    if kind == VARIABLE_WIDTH and design["horn.converter_slots"] > 0:
        narrowest = design["horn.narrowest_share"]
        yield Part(what="the slot of horn.narrowest_share", thickness=narrowest * pitch, metal=False)
    if kind == RING_LOADED and design["horn.converter_slots"] > 0:
        neck, last = design["horn.neck_share"], share - design["horn.neck_margin"]
        yield Part(what="the neck of horn.neck_share", thickness=min(neck, last) * pitch, metal=False)
        yield Part(what="the lip of a ring-loaded slot", thickness=(share - max(neck, last)) * pitch)
    if design["horn.chokes"] > 0:
        _, (width,), _, (tooth,) = _chokes(stack([design]))
        yield Part(what="a choke slot of horn.choke_width", thickness=width, metal=False)
        yield Part(what="a tooth of horn.choke_tooth", thickness=tooth)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    share, kind = design["horn.slot_share"], round(design["horn.converter"])
    if kind == RING_LOADED:
        if design["horn.neck_share"] >= share:
            yield (
                f"horn.neck_share = {design['horn.neck_share']:g} leaves no lip (must be < horn.slot_share = "
                f"{share:g}); lower it"
            )
        if design["horn.neck_margin"] >= share:
            yield (
                f"horn.neck_margin = {design['horn.neck_margin']:g} closes the last neck (must be < horn.slot_share = "
                f"{share:g}); lower it"
            )
    if kind == VARIABLE_WIDTH and design["horn.narrowest_share"] > share:
        yield (
            f"horn.narrowest_share = {design['horn.narrowest_share']:g} is wider than the other slots (must be <= "
            f"horn.slot_share = {share:g}); lower it"
        )
    stop, depth = round(design["horn.slots"]) * design["horn.pitch"], float(_chokes(stack([design]))[2][0])
    if design["horn.chokes"] > 0 and depth > stop:
        yield (
            f"horn.choke_depth = {design['horn.choke_depth']:g} makes chokes of {depth * 1e3:.4g} mm, deeper than the "
            f"horn is long (must be <= {stop / design['horn.wavelength']:.4g}); lower it or add slots"
        )


def _number(name: str, about: str, example: str, default: float, lowest: float, highest: float) -> Parameter:
    return Parameter(name=f"horn.{name}", about=about, example=example, default=default, lowest=lowest, highest=highest)


FAMILY = Family(
    name="corrugated_horn",
    title="A corrugated horn with a mode converter, and choke slots round its mouth.",
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
        choice("horn.converter", "Slots of the mode converter.", *CONVERTERS),
        _number("sigma", "Depth of the first slot over lam_c; of variable_width times 1.15.", "0.42", 0.42, 0.25, 0.6),
        _number("neck_share", "Width of the first neck of ring_loaded over the pitch.", "0.1", 0.1, 0.02, 0.9),
        _number("neck_margin", "What the last neck of ring_loaded is narrower than a slot.", "0.1", 0.1, 0.01, 0.9),
        _number("narrowest_share", "Width of variable_width's first slot over the pitch.", "0.2", 0.125, 0.05, 0.95),
        _number("output_ratio", "lam_c over lam_o, the wavelength of the last slot.", "1.02", 1.02, 1.0, 1.5),
        *curve_parameters("horn"),
        Parameter(
            name="horn.chokes", about="Number of slots in the flange round the mouth.", example="1", kind="integer",
            default=0.0, highest=MOST_CHOKES,
        ),
        _number("choke_depth", "Depth of the choke slots over lam_c.", "0.25", 0.25, 0.05, 1.0),
        _number("choke_width", "Width of the choke slots over lam_c.", "0.1", 0.1, 0.02, 1.0),
        _number("choke_tooth", "Thickness of the teeth between choke slots over lam_c.", "0.05", 0.05, 0.01, 1.0),
    ),
    scene=partial(scene_of, _section),
    size=_size,
    outline=partial(outline_of, _section),
    limits=(
        AtLeast(name="horn.aperture_radius", least="feed.inner_radius", problem="is smaller than the feed"),
        AtLeast(name="feed.length", least="horn.wall", problem="is shorter than the first plate is thick"),
    ),
    faults=_faults,
    parts=_parts,
    orders=Orders(
        s11=6.0,
        pattern=3.29,
        efficiency=3.29,
        source="fitted to an outline of this kind on cells of 0.2 and 0.15 mm, tests/published/test_outlines.py",
    ),
)  # fmt: skip
