"""All families of antennas.

This page shows the section and the 30 GHz pattern of each family, for the example values of its parameters. Nothing is
optimised, and cells are coarse, so the whole page is solved in less than a minute on one core. The
[guide](../guide/experiment-file.md#antenna) has the tables of parameters, and `experiments` has a search for most
families.
"""

# %%
# `ao.families.FAMILIES` is the table of families. The examples of a family's parameters make an antenna file. The
# family `outline` has no parameters but its feed; its polygons are a flange and a lens here. Slots and steps need
# finer cells than the 12 per wavelength of the other families.
from __future__ import annotations

import tomllib
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

import antennaopt as ao
from antennaopt.families.shapes import Outline

BODIES = [
    {"material": "metal", "points": [["4 mm", "-3 mm"], ["12 mm", "-3 mm"], ["12 mm", "0 mm"], ["4 mm", "0 mm"]]},
    {"permittivity": 2.53, "points": [["0 mm", "0 mm"], ["7 mm", "0 mm"], ["0 mm", "12 mm"]]},
]


RADII = ["16 mm", "15.8 mm", "15 mm", "13.5 mm", "12 mm", "11 mm", "10.5 mm", "10 mm"]  # the example is a range
FINER = {"corrugated_horn": 30, "choke_ring_feed": 24, "dual_mode_horn": 20, "open_waveguide": 20}


def example_of(family: ao.families.Family) -> dict[str, Any]:
    """Return the antenna of a family's examples as the table of a file."""
    antenna = {"family": family.name}
    for table, parameters in family.tables.items():
        needed = [one for one in parameters if one.default is None]
        if needed:
            antenna[table] = tomllib.loads("\n".join(f"{one.key} = {one.example}" for one in needed))
    if family.name == "outline":
        antenna["body"] = BODIES
    if family.name == "shaped_lens":
        antenna["lens"]["radii"] = RADII
    cells = FINER.get(family.name, 12)
    return {"antenna": antenna, "solver": {"frequencies": ["30 GHz"], "cells_per_wavelength": cells}}


def draw_section(axes: Axes, outline: Outline) -> None:
    """Draw a section in mm, z to the right: metal grey, dielectrics blue."""
    bodies = [(solid.corners, "#9cc3e0") for solid in outline.dielectrics]
    for corners, colour in bodies + [(corners, "#6d747c") for corners in outline.conductors]:
        r, z = 1e3 * corners.T
        for side in (1, -1):
            axes.fill(z, side * r, colour, edgecolor="black", linewidth=0.4)
    axes.set(aspect="equal", xlabel="z (mm)", ylabel="r (mm)")


# %%
# Left: the section through the axis. Right: directivity against the angle from the beam axis, in the E plane (solid)
# and the H plane (dashed). The beam of a reflector leaves to the left.
families = [ao.families.FAMILIES[name] for name in sorted(ao.families.FAMILIES)]
figure, rows = plt.subplots(len(families), 2, figsize=(8.4, 2.6 * len(families)), layout="constrained")
for (left, right), family in zip(rows, families, strict=True):
    antenna = ao.load(example_of(family))
    result = ao.simulate(antenna).results[0]
    draw_section(left, antenna.experiment.kind.outline(antenna.experiment.design()))
    left.set_title(family.name, loc="left")
    right.plot(result.theta_deg, result.e_plane_dbi)
    right.plot(result.theta_deg, result.h_plane_dbi, linestyle="--")
    peak = result.max_directivity_dbi
    right.set(xlim=(0, 180), ylim=(peak - 42, peak + 3), xticks=np.arange(0, 181, 30), ylabel="dBi")
    right.set_title(f"{result.directivity_dbi:.1f} dBi, S11 {result.s11_db:.1f} dB", loc="right", fontsize=10)
    right.grid(alpha=0.3)
    print(f"{family.name:20} {result.directivity_dbi:6.2f} dBi  S11 {result.s11_db:6.1f} dB  {family.title}")
rows[-1][1].set_xlabel("angle from the beam's axis (degrees)")
figure.savefig("families.png", dpi=90)
