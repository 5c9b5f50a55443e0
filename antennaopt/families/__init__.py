"""Antenna families: one file each, and one line each here.

A family's file is all that the program knows of it: parameters, scene, size, limits, outline, thinnest parts, orders.
"""

from __future__ import annotations

from antennaopt.families import conical_horn, dielectric_rod, hemispherical_lens, open_waveguide, shaped_lens
from antennaopt.families.family import Designs, Family, stack
from antennaopt.families.parameters import SHARED, AtLeast, Orders, Parameter, Part
from antennaopt.registry import read_as

FAMILIES: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY
    for module in (
        open_waveguide,
        hemispherical_lens,
        shaped_lens,
        conical_horn,
        dielectric_rod,
    )
}


def parameter_of(name: str) -> Parameter | None:
    """Return the parameter that an entry of a design, `lens.radii.3`, belongs to; None where no family has it.

    Families that share a name give it the same unit.
    """
    every = (parameter for family in FAMILIES.values() for parameter in family.parameters)
    return next((parameter for parameter in every if parameter.holds(name)), None)


__all__ = ["FAMILIES", "SHARED", "AtLeast", "Designs", "Family", "Orders", "Parameter", "Part", "parameter_of", "stack"]

read_as(__name__, FAMILIES)
