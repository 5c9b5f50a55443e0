"""A conical horn with a plano-convex lens in its mouth.

The lens fills the horn from wall to wall. Its flat face lies in the mouth and its curved face inside the horn, or the
flat one inside and the curved one in front of the mouth; `lens.edge` is the thickness of its rim, to which a thickness
t(r) over the radius adds. Without a list t is the hyperbola that makes all paths from the apex of the cone to the mouth
equally long. With n the index, a the mouth's radius, D the distance along the axis from the apex to the rim's inner
side, and C = sqrt(D^2 + a^2):

    t = (a^2 - r^2) / (n C - D + sqrt((n C - D)^2 - (n^2 - 1)(a^2 - r^2)))

References:
    Silver, Microwave Antenna Theory and Design (1949), chapter 11: lenses of equal paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from antennaopt.families.family import Designs, Family, numbered, polygon_scene, stack
from antennaopt.families.parameters import DIELECTRIC_ORDERS, FEED, AtLeast, Parameter, Part, choice, length, material
from antennaopt.families.profiles import PIECES, distinct, feed_behind, joined, rims_of, wall_part
from antennaopt.families.shapes import Outline, Solid, feed_outline
from fdtd.axisymmetric.scene import Rim, Scene

INSIDE, OUTSIDE = 0, 1
_FINE = 4096  # places at which the lens's curve is compared with the wall


def _thickness(designs: Designs, share: np.ndarray) -> np.ndarray:
    """Return what the curved face adds to the rim's thickness, m, (batch, places), at shares of the mouth's radius."""
    from scipy.interpolate import PchipInterpolator

    a, start, height = (designs[name][:, None] for name in ("horn.aperture_radius", "feed.inner_radius", "horn.length"))
    if "lens.thickness.0" in designs:
        given = numbered(designs, "lens.thickness")
        places = np.linspace(0.0, 1.0, len(given))
        mirrored = PchipInterpolator(
            np.concatenate([-places[:0:-1], places]), np.concatenate([given[:0:-1], given]), axis=0
        )
        at = np.broadcast_to(share, (len(a), share.shape[-1]))
        return np.stack([mirrored(one)[:, place] for place, one in enumerate(at)])
    n = np.sqrt(designs["lens.permittivity"])[:, None]
    away = np.maximum(a * height / np.maximum(a - start, 1e-9) - designs["lens.edge"][:, None], 1e-9)
    path, across = np.sqrt(away**2 + a**2), a**2 * (1 - share**2)
    ahead = n * path - away
    return across / (ahead + np.sqrt(np.maximum(ahead**2 - (n**2 - 1) * across, 0.0)))


def _wall(designs: Designs, r: np.ndarray) -> np.ndarray:
    """Return the height of the horn's inner wall at radii, m; 0 inside the feed's radius."""
    start, height = designs["feed.inner_radius"][:, None], designs["horn.length"][:, None]
    rise = designs["horn.aperture_radius"][:, None] - start
    return np.clip((r - start) / np.maximum(rise, 1e-12), 0.0, 1.0) * height


def _lens(designs: Designs) -> np.ndarray:
    """Return the section of the lens, (batch, corners, 2)."""
    a, height, edge = (designs[name] for name in ("horn.aperture_radius", "horn.length", "lens.edge"))
    nothing, rim = np.zeros_like(a), height - edge
    outside = np.rint(designs["lens.side"]) == OUTSIDE
    # Inside, the curved face ends where it meets the wall: the place furthest out where it still stands in front of it.
    fine = np.linspace(0.0, 1.0, _FINE + 1)
    over = rim[:, None] - _thickness(designs, fine) - _wall(designs, fine * a[:, None])
    last = np.where(over > 0, np.arange(_FINE + 1), 0).max(axis=1)
    after = np.minimum(last + 1, _FINE)
    first, second = (np.take_along_axis(over, one[:, None], axis=1)[:, 0] for one in (last, after))
    part = np.where(second < first, first / np.where(second < first, first - second, 1.0), 0.0)
    end = np.where(outside, 1.0, np.minimum((last + np.clip(part, 0.0, 1.0)) / _FINE, 1.0))
    share = end[:, None] * np.linspace(1.0, 0.0, PIECES + 1)
    r = share * a[:, None]
    inward = np.maximum(rim[:, None] - _thickness(designs, share), _wall(designs, r))
    z = np.where(outside[:, None], height[:, None] + _thickness(designs, share), inward)
    # Outside: the flat face from the axis to the wall, along it to the mouth. Inside: the flat face in the mouth.
    begin = np.where(outside, rim, height)
    foot = np.where(outside, designs["feed.inner_radius"] + (a - designs["feed.inner_radius"]) * rim / height, a)
    return joined((nothing, begin), (foot, begin), (a, height), (r, z))


def _shell(designs: Designs) -> tuple[np.ndarray, tuple[Rim, ...]]:
    inner, a, height = (designs[name] for name in ("feed.inner_radius", "horn.aperture_radius", "horn.length"))
    nothing, rim = np.zeros_like(a), a + designs["horn.wall"]
    *tube, (edge, end) = feed_behind(designs)
    body = (edge, end), (rim, height), (a, height)
    return joined((inner, nothing), *body), rims_of(joined(*tube, *body))


def _size(designs: Designs) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that grow with each parameter: a lens in front of the mouth has a list of thicknesses."""
    rim, height = designs["horn.aperture_radius"] + designs["horn.wall"], designs["horn.length"]
    if "lens.thickness.0" in designs:
        outside = np.rint(designs["lens.side"]) == OUTSIDE
        height = height + np.where(outside, numbered(designs, "lens.thickness").max(axis=0), 0.0)
    return np.maximum(rim, designs["feed.outer_radius"]), height


def _scene(designs: Designs) -> Scene:
    metal, rims = _shell(designs)
    return polygon_scene(designs, [metal], [(_lens(designs), "lens")], rims)


def _outline(design: Mapping[str, float]) -> Outline:
    designs = stack([design])
    (horn,), (lens,) = _shell(designs)[0], _lens(designs)
    return Outline(
        conductors=(feed_outline(design), distinct(horn)), dielectrics=(Solid.of(design, "lens", distinct(lens)),)
    )


def _deepest(design: Mapping[str, float]) -> float:
    return design["lens.edge"] + float(_thickness(stack([design]), np.linspace(0.0, 1.0, 65)).max())


def _parts(design: Mapping[str, float]) -> Iterator[Part]:
    rise = design["horn.aperture_radius"] - design["feed.inner_radius"]
    yield wall_part(design, design["horn.length"] / (design["horn.length"] ** 2 + rise**2) ** 0.5)
    yield Part(what="the lens where it is thickest", thickness=_deepest(design), metal=False)


def _faults(design: Mapping[str, float]) -> Iterator[str]:
    side, edge, height = round(design["lens.side"]), design["lens.edge"], design["horn.length"]
    if side == OUTSIDE and "lens.thickness.0" not in design:
        yield 'lens.thickness is missing for lens.side = "outside"; add for example ["6 mm", "4 mm", "0 mm"]'
        return
    deep = edge if side == OUTSIDE else _deepest(design)
    if deep > height + 1e-12:
        what = "lens.edge" if side == OUTSIDE else "lens.thickness"
        yield (
            f"{what} makes a lens of {deep * 1e3:.4g} mm in the horn (must be <= antenna.horn.length = "
            f"{height * 1e3:.4g} mm); make it thinner, raise lens.permittivity or lengthen the horn"
        )


FAMILY = Family(
    name="lens_horn",
    title="A conical horn with a plano-convex lens in its mouth.",
    parameters=(
        *FEED,
        length("horn.length", "From z = 0 to the mouth.", example='"20 mm"'),
        length("horn.aperture_radius", "Inner radius at the mouth.", example='"12 mm"'),
        length("horn.wall", "Thickness of the wall at the mouth, along r.", example='"1 mm"'),
        *material("lens"),
        choice("lens.side", "Where the curved face is: inside the horn or in front of its mouth.", "inside", "outside"),
        Parameter(
            name="lens.edge", about="Thickness of the lens's rim, in the mouth.", example='"1 mm"', unit="m",
            default=0.0, highest=1000.0,
        ),
        Parameter(
            name="lens.thickness", about="What the curved face adds, at equally spaced radii from the axis to the rim.",
            example='["6 mm", "4 mm", "0 mm"]', unit="m", kind="list", or_none=True, highest=1000.0,
        ),
    ),
    scene=_scene,
    size=_size,
    outline=_outline,
    limits=(AtLeast(name="horn.aperture_radius", least="feed.inner_radius", problem="is smaller than the feed"),),
    faults=_faults,
    parts=_parts,
    orders=DIELECTRIC_ORDERS,
)  # fmt: skip
