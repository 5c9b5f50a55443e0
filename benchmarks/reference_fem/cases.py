"""The antennas of the reference, SI units. Feed of all: inner radius 3.6 mm, outer 4.0 mm, inside length 20 mm.

`CASES` may be looked at while the solver is developed. `HOLDOUT` is of the same kinds and other sizes; nothing is
tuned on it, it only measures.
"""

from __future__ import annotations

FREQUENCIES_HZ = (28.5e9, 30.0e9, 31.5e9)
DESIGN_FREQUENCY_HZ = 30.0e9


def _case(name, family, **parameters):
    feed = {"inner_radius_m": 3.6e-3, "outer_radius_m": 4.0e-3, "feed_length_m": 20e-3}
    return {"name": name, "family": family, **feed, **parameters}


def _shaped(name, permittivity, loss_tangent, radii_mm):
    return _case(
        name,
        "shaped_lens",
        permittivity=permittivity,
        loss_tangent=loss_tangent,
        lens_radii_m=[round(radius * 1e-3, 9) for radius in radii_mm],
    )


def _hemispherical(name, permittivity, loss_tangent, radius_mm, extension_mm):
    return _case(
        name,
        "hemispherical_lens",
        permittivity=permittivity,
        loss_tangent=loss_tangent,
        lens_radius_m=round(radius_mm * 1e-3, 9),
        lens_extension_m=round(extension_mm * 1e-3, 9),
    )


def _horn(name, length_mm, aperture_radius_mm, wall_mm):
    return _case(
        name,
        "conical_horn",
        horn_length_m=round(length_mm * 1e-3, 9),
        horn_aperture_radius_m=round(aperture_radius_mm * 1e-3, 9),
        horn_wall_m=round(wall_mm * 1e-3, 9),
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
