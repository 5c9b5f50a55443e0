"""Antenna families: design parameters (SI) to a solver scene.

One file a family; add one by writing it and naming it here.
"""

from __future__ import annotations

from antennaopt.families import conical_horn, hemispherical_lens, open_waveguide, shaped_lens
from antennaopt.families.family import Designs, Family, stack

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (open_waveguide.FAMILY, hemispherical_lens.FAMILY, shaped_lens.FAMILY, conical_horn.FAMILY)
}

__all__ = ["FAMILIES", "Designs", "Family", "stack"]
