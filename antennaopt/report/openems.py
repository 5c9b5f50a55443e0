"""A script that solves the same antenna with openEMS, a separate program; this module only writes text."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from antennaopt.report.meep import filled, meep_model


def openems_script(family: str, design: Mapping[str, float], plan: Mapping[str, Any], *, title: str) -> str:
    """Write the Python text that solves one antenna with openEMS.

    Geometry, source and port plane and frequencies are the plan's, in mm; mesh and absorbing layers the script's.

    Args:
        family: Antenna family.
        design: Every parameter, SI, by dotted name.
        plan: As `SolverPlan.to_dict` wrote it.
        title: In the script's heading.

    References:
        openEMS, Python tutorial "Conical horn antenna": bodies of revolution, circular waveguide port, far field.
    """
    template = files("antennaopt.report").joinpath("templates/openems_script.py.txt").read_text("utf-8")
    return filled(template, meep_model(family, design, plan, title=title), title)
