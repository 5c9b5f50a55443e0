"""A script that solves the same antenna with Meep, a separate program.

Only text is written here: Meep (GPL) is neither imported nor needed; the script is run where it is installed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from antennaopt import __version__
from antennaopt.families import kind
from fdtd.axisymmetric.layout import Layout

_MM = 1e3


def meep_script(family: str, design: Mapping[str, float], plan: Mapping[str, Any], *, title: str) -> str:
    """Write the Python text that solves one antenna with Meep.

    Geometry, source, frequencies and contour are the plan's, in mm; absorbing layers and cell are the script's options.

    Args:
        family: Antenna family.
        design: Every parameter, SI, by dotted name.
        plan: As `SolverPlan.to_dict` wrote it.
        title: In the script's heading.
    """
    model = meep_model(family, design, plan, title=title)
    template = files("antennaopt.report").joinpath("templates/meep_script.py.txt").read_text("utf-8")
    return filled(template, model, title)


def filled(template: str, model: Mapping[str, Any], title: str) -> str:
    """Return a script's template with its title and antenna filled in.

    Args:
        template: With @TITLE@ and @ANTENNA@.
        model: See `meep_model`.
        title: In the script's heading.
    """
    words = " ".join(title.replace("\\", "/").replace('"', "'").split()).rstrip(".") or "An antenna"
    return template.replace("@TITLE@", words).replace("@ANTENNA@", _readable(model))


def meep_model(family: str, design: Mapping[str, float], plan: Mapping[str, Any], *, title: str) -> dict[str, Any]:
    """Return what the script must know of an antenna: plain numbers, lengths in mm, `design` in SI.

    Args:
        family: Antenna family.
        design: Every parameter, SI, by dotted name.
        plan: As `SolverPlan.to_dict` wrote it.
        title: In the script's heading.
    """
    layout = Layout.from_dict(plan["layout"])
    known = kind(family, plan.get("bodies", ())).of(design)
    outline = known.outline(design)
    cell = layout.cell * _MM

    def height(plane: int) -> float:
        return _mm((plane - layout.origin) * layout.cell)

    return {
        "title": title,
        "written_by": f"antennaopt {__version__}",
        "family": family,
        "design": dict(design),
        "frequencies_hz": list(layout.frequencies),
        "design_frequency_hz": layout.design_frequency,
        "metal_mm": [_points(one) for one in outline.conductors],
        "thinnest_wall_mm": _mm(min(part.thickness for part in known.thin_parts(design) if part.metal)),
        "lenses": [
            {
                "permittivity": solid.permittivity,
                "loss_tangent": solid.loss_tangent,
                "outline_mm": _points(solid.corners),
            }
            for solid in outline.dielectrics
        ],
        "feed": {
            "inner_radius_mm": _mm(design["feed.inner_radius"]),
            "absorber_back_mm": height(layout.feed_back),
            "absorber_front_mm": height(layout.feed_back + layout.feed_absorber),
            "permittivity": design.get("feed.permittivity", 1.0),
            "source_mm": height(layout.source_plane),
            "port_mm": height(layout.port_plane),
        },
        "contour": {
            "radius_mm": _mm(layout.contour_column * layout.cell),
            "bottom_mm": height(layout.contour_bottom),
            "top_mm": height(layout.contour_top),
        },
        "pulse": {"centre_hz": layout.pulse_centre, "width_hz": layout.pulse.deviation},
        "cell_mm": cell,
        "looks_back": bool(plan.get("looks_back", False)),
    }


def _mm(length: float) -> float:
    """Metres to millimetres, to a picometre."""
    return round(length * _MM, 9)


def _points(corners: np.ndarray) -> list[list[float]]:
    return [[_mm(r), _mm(z)] for r, z in corners]


def _readable(model: Mapping[str, Any]) -> str:
    """JSON with one entry a line, so that long outlines do not fill pages."""
    lines = (f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in model.items())
    return "{\n" + ",\n".join(lines) + "\n}"
