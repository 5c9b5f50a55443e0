"""The antennas of the reference, SI units.

`CASES` may be looked at while the solver is developed. `HOLDOUT` is of the same kinds and other sizes, on the same
feed in the same band. `OTHER_FEEDS` is on three other feeds in three other bands, with other permittivities and flares.
Nothing is tuned on the last two; they only measure.
"""

from __future__ import annotations

import math


def _feed(band_ghz, inner_radius_mm, outer_radius_mm, length_mm):
    """A circular waveguide and its band; the middle of the three frequencies is the design frequency."""
    frequencies = [round(ghz * 1e9) for ghz in band_ghz]
    return {
        "inner_radius_m": round(inner_radius_mm * 1e-3, 9),
        "outer_radius_m": round(outer_radius_mm * 1e-3, 9),
        "feed_length_m": round(length_mm * 1e-3, 9),
        "design_frequency_hz": float(frequencies[1]),
        "frequencies_hz": [float(frequency) for frequency in frequencies],
    }


KA = _feed((28.5, 30.0, 31.5), 3.6, 4.0, 20)  # TE11 from 24.4 GHz: used at 1.17 to 1.29 times its cutoff
X = _feed((11, 12, 13), 9, 10, 45)  # from 9.76 GHz: 1.13 to 1.33
K = _feed((20, 21.5, 23), 5, 5.6, 27)  # from 17.57 GHz: 1.14 to 1.31
V = _feed((50, 55, 60), 2, 2.5, 11)  # from 43.92 GHz: 1.14 to 1.37; a wall of a quarter of the radius


def _case(name, family, feed=KA, **parameters):
    return {"name": name, "family": family, **feed, **parameters}


def _shaped(name, permittivity, loss_tangent, radii_mm, feed=KA):
    return _case(
        name,
        "shaped_lens",
        feed,
        permittivity=permittivity,
        loss_tangent=loss_tangent,
        lens_radii_m=[round(radius * 1e-3, 9) for radius in radii_mm],
    )


def _hemispherical(name, permittivity, loss_tangent, radius_mm, extension_mm, feed=KA):
    return _case(
        name,
        "hemispherical_lens",
        feed,
        permittivity=permittivity,
        loss_tangent=loss_tangent,
        lens_radius_m=round(radius_mm * 1e-3, 9),
        lens_extension_m=round(extension_mm * 1e-3, 9),
    )


def _horn(name, length_mm, aperture_radius_mm, wall_mm, feed=KA):
    return _case(
        name,
        "conical_horn",
        feed,
        horn_length_m=round(length_mm * 1e-3, 9),
        horn_aperture_radius_m=round(aperture_radius_mm * 1e-3, 9),
        horn_wall_m=round(wall_mm * 1e-3, 9),
    )


def _rod(name, permittivity, loss_tangent, radius_mm, length_mm, taper_mm, tip_radius_mm, feed=KA):
    return _case(
        name,
        "dielectric_rod",
        feed,
        permittivity=permittivity,
        loss_tangent=loss_tangent,
        rod_radius_m=round(radius_mm * 1e-3, 9),
        rod_length_m=round(length_mm * 1e-3, 9),
        rod_taper_m=round(taper_mm * 1e-3, 9),
        rod_tip_radius_m=round(tip_radius_mm * 1e-3, 9),
    )


CASES = (
    _case("open_waveguide", "open_waveguide"),
    _shaped("shaped_lens_14", 2.53, 0.0, [14, 13.5, 12.5, 11, 10, 9.5, 9, 9]),
    _horn("conical_horn_18", 18, 9, 0.5),
    _hemispherical("hemispherical_lens_9", 2.53, 0.0, 9, 3),
    _hemispherical("hemispherical_lens_12", 2.53, 6.6e-4, 12, 5),
    _shaped("shaped_lens_11_lossy", 3.8, 0.02, [11, 11.5, 11, 9.5, 8, 7.5]),
    _horn("conical_horn_30", 30, 12, 0.8),
    _shaped("shaped_lens_18", 2.53, 0.0, [18, 17.6, 16, 14.5, 12, 10.5, 9.5, 9]),
)

HOLDOUT = (
    _hemispherical("hemispherical_lens_7p7", 2.53, 0.0, 7.7, 2.2),
    _hemispherical("hemispherical_lens_10p3", 2.2, 0.0, 10.3, 4.1),
    _shaped("shaped_lens_16", 2.53, 0.0, [16.2, 15.1, 14.4, 12.2, 11.1, 10.3, 9.9, 9.2]),
    _shaped("shaped_lens_13_lossy", 2.53, 0.02, [13, 12.6, 11.7, 10.8, 9.6, 8.8]),
    _hemispherical("hemispherical_lens_8p6_lossy", 2.53, 0.02, 8.6, 3.4),
    _horn("conical_horn_12", 12, 7.3, 0.4),
    _horn("conical_horn_24", 24, 10.7, 0.6),
)

# Chosen before any of them was solved. Flares (half angle) of 9, 27 and 30 degrees, where those
# above have 16 to 17.
OTHER_FEEDS = (
    _case("open_waveguide_v", "open_waveguide", V),
    _case("open_waveguide_x", "open_waveguide", X),
    _horn("conical_horn_v_9_degrees", 14, 4.2, 0.4, V),
    _horn("conical_horn_k_27_degrees", 20, 15, 0.8, K),
    _horn("conical_horn_x_30_degrees", 40, 32, 1.5, X),
    _hemispherical("hemispherical_lens_k_2p1", 2.1, 0.0, 17, 5, K),
    _hemispherical("hemispherical_lens_v_3p0", 3.0, 0.0, 5.2, 1.2, V),
    _hemispherical("hemispherical_lens_x_2p3_lossy", 2.3, 0.01, 22, 9, X),
    _hemispherical("hemispherical_lens_v_4p5", 4.5, 0.0, 4, 1, V),
    _shaped("shaped_lens_v_2p1", 2.1, 0.0, [9, 8.6, 7.7, 6.6, 5.8, 5.4], V),
    _shaped("shaped_lens_k_3p0", 3.0, 0.001, [19, 18.3, 17, 15, 13.2, 12.4, 12], K),
    _shaped("shaped_lens_x_2p56_lossy", 2.56, 0.02, [45, 43, 39.5, 35, 31, 29, 28], X),
)

# Of the family that came last; kept apart, since orders are fitted to the first set.
RODS = (
    _rod("dielectric_rod_50", 2.1, 0.0, 3.8, 50, 46, 1.0),
    _rod("dielectric_rod_30_lossy", 2.53, 0.01, 4.3, 30, 22, 1.5),
)


def _metal(*points_mm):
    return {"metal": True, "points_m": [[round(r * 1e-3, 9), round(z * 1e-3, 9)] for r, z in points_mm]}


def _solid(permittivity, *points_mm, loss_tangent=0.0):
    body = _metal(*points_mm) | {"metal": False, "permittivity": permittivity}
    return body | ({"loss_tangent": loss_tangent} if loss_tangent else {})


def _drawn(name, feed, *bodies):
    return _case(name, "outline", feed, bodies=list(bodies))


def _ring(inner, outer, low, high):
    return _metal((inner, low), (outer, low), (outer, high), (inner, high))


def _corrugated(feed, slots, pitch, tooth, depths, a_out, wall):
    """A horn's section: a straight envelope from the feed to a_out with slots between teeth, first to last depth."""
    a_in, length = feed["inner_radius_m"] * 1e3, slots * pitch + tooth
    inner = []
    for slot in range(slots + 1):
        z0 = round(slot * pitch, 6)
        radius = round(a_in + (a_out - a_in) * z0 / length, 6)
        depth = round(depths[0] + (depths[1] - depths[0]) * min(slot / 5, 1.0), 6)
        inner += [(radius, z0), (radius, round(z0 + tooth, 6))]
        if slot < slots:
            inner += [(radius + depth, round(z0 + tooth, 6)), (radius + depth, round(z0 + pitch, 6))]
    outer = a_out + max(depths) + wall
    return _metal((feed["outer_radius_m"] * 1e3, 0.0), (outer, 0.0), (outer, length), *inner[::-1])


def _walls(feed, inner, outer):
    """A horn's section: the inner and the outer wall through points (r, z), both from the feed's own at z = 0 on."""
    return _metal((feed["outer_radius_m"] * 1e3, 0.0), *outer, *inner[::-1], (feed["inner_radius_m"] * 1e3, 0.0))


def _smooth(feed, length, mouth, wall, samples=36):
    """A horn's section: a cosine from the feed to the mouth with a wave on it, sampled."""
    start = feed["inner_radius_m"] * 1e3
    steps = [place / samples for place in range(samples + 1)]
    inner = [
        (start + (mouth - start) * (0.5 - 0.5 * math.cos(math.pi * s)) + 0.6 * math.sin(2 * math.pi * s), length * s)
        for s in steps
    ]
    return _walls(feed, inner[1:], [(r + wall, z) for r, z in inner[1:]])


def _dome(radius, extension, height, samples=24):
    """A lens's section: a cylinder and half an ellipse on it, sampled."""
    steps = [math.pi / 2 * place / samples for place in range(1, samples)]
    arc = [(radius * math.cos(t), extension + height * math.sin(t)) for t in steps]
    return [(0, 0), (radius, 0), (radius, extension), *arc, (0, extension + height)]


def _outline_feed(inner_radius_mm, outer_radius_mm):
    return _feed((28.5, 30.0, 31.5), inner_radius_mm, outer_radius_mm, 20)


KA_44, KA_50, KA_42, KA_48 = (_outline_feed(*radii) for radii in ((4.4, 5.0), (5.0, 5.5), (4.2, 4.8), (4.8, 5.4)))
KA_45, KA_38, KA_40, KA_46 = (_outline_feed(*radii) for radii in ((4.5, 5.0), (3.8, 4.3), (4.0, 4.5), (4.6, 5.2)))
KA_379 = _outline_feed(3.79, 4.44)

# Given as polygons, a case of each kind; orders of the family `outline` are fitted to them.
OUTLINES = (
    _drawn(
        "outline_two_chokes",
        KA_44,
        _ring(7.1, 7.9, -3.4, 0.0),
        _ring(10.3, 11.2, -3.4, 0.0),
        _ring(5.0, 11.2, -4.3, -3.4),
    ),
    _drawn("outline_corrugated", KA, _corrugated(KA, 20, 2.0, 0.6, (4.4, 2.6), 10.4, 0.8)),
    _drawn(
        "outline_dual_mode",
        KA_46,
        _walls(
            KA_46,
            [(4.6, 2.2), (6.7, 2.2), (6.7, 9.4), (13.1, 33.0)],
            [(5.2, 1.0), (7.7, 1.0), (7.7, 9.4), (14.1, 33.0)],
        ),
    ),
    _drawn("outline_spline", KA, _smooth(KA, 22.0, 9.4, 0.7)),
    _drawn(
        "outline_two_layers",
        KA,
        _solid(1.95, *_dome(9.4, 2.0, 9.9)),
        _solid(3.8, *_dome(7.6, 2.0, 8.1)),
    ),
    _drawn("outline_rod", KA_45, _solid(2.1, (0, 0), (4.2, 0), (4.2, 9.0), (1.2, 46.0), (0, 46.0))),
)


# Feko's example of a horn that feeds a reflector, 12.5 GHz: a guide of radius 0.51 wavelengths, a step to 0.65 and a
# flare to 1.00 over 3.05 wavelengths. The example's wall has no thickness; these have 0.3 and 0.02 mm. Measured only.
def _stepped(name, wall):
    feed = _feed((12.5, 12.5, 12.5), 12.2315, 12.2315 + wall, 60) | {"frequencies_hz": [12.5e9]}
    step, mouth, end = 15.5892, 23.9834, 73.1494
    outer = [(12.2315 + wall, -wall), (step + wall, -wall), (mouth + wall, end)]
    return _drawn(name, feed, _metal(*outer, (mouth, end), (step, 0), (12.2315 + wall, 0)))


STEPPED = (_stepped("stepped_horn_ku", 0.3), _stepped("stepped_horn_ku_thin", 0.02))

# Of the same kinds on other feeds; measured only.
OUTLINES_HOLDOUT = (
    _drawn(
        "outline_three_chokes",
        KA_50,
        _ring(7.6, 8.3, -4.1, -0.7),
        _ring(10.9, 11.6, -4.1, -1.3),
        _ring(14.2, 15.0, -4.1, -2.0),
        _ring(5.5, 15.0, -5.2, -4.1),
    ),
    _drawn("outline_corrugated_42", KA_42, _corrugated(KA_42, 20, 2.0, 0.6, (4.7, 2.8), 12.1, 0.9)),
    _drawn(
        "outline_dual_mode_50",
        KA_50,
        _walls(
            KA_50,
            [(5.0, 1.1), (6.45, 1.1), (6.45, 7.0), (11.7, 24.7)],
            [(5.5, -0.4), (7.3, -0.4), (7.3, 7.0), (12.5, 24.7)],
        ),
    ),
    _drawn("outline_spline_48", KA_48, _smooth(KA_48, 31.0, 12.2, 0.9, 48)),
    _drawn(
        "outline_two_layers_40",
        KA_40,
        _solid(1.95, (0, 0), (10.3, 0), (10.3, 2.3), (8.9, 7.2), (5.1, 11.3), (0, 12.7)),
        _solid(3.8, (0, 0), (8.4, 0), (8.4, 2.1), (7.2, 6.2), (4.1, 9.6), (0, 10.8)),
    ),
    _drawn(
        "outline_rod_38",
        KA_38,
        _solid(2.3, (0, -7.5), (3.8, -1.5), (3.8, 0), (4.1, 0), (4.1, 8.0), (1.0, 38.0), (0, 38.0)),
    ),
    _drawn(
        "outline_dual_mode_38",
        KA_379,
        _walls(
            KA_379,
            [(3.79, 2.1), (4.98, 2.1), (4.98, 8.08), (11.11, 27.57)],
            [(4.44, 1.16), (5.92, 1.16), (5.92, 8.08), (12.05, 27.57)],
        ),
    ),
)
