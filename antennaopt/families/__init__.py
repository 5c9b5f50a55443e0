"""Antenna families: one file each, and one line each here.

A family's file is all that the program knows of it: parameters, scene, size, limits, outline, thinnest parts, orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from antennaopt.families import (
    cassegrain,
    choke_ring_feed,
    conical_horn,
    corrugated_horn,
    dielectric_resonator,
    dielectric_rod,
    dual_mode_horn,
    hemispherical_lens,
    lens_horn,
    open_waveguide,
    outline,
    patch,
    pixel_patch,
    profile_horn,
    pyramidal_horn,
    reflector,
    ring_focus,
    shaped_lens,
    shell_lens,
    splash_plate,
    spline_horn,
    strip_dipole,
)
from antennaopt.families.family import Designs, Family, stack
from antennaopt.families.making import Making
from antennaopt.families.parameters import FILLING, SHARED, AtLeast, Orders, Parameter, Part, material
from antennaopt.families.shapes import Body
from antennaopt.families.starts import NAMED_RULES, RULES
from antennaopt.registry import read_as

FAMILIES: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY
    for module in (
        open_waveguide,
        hemispherical_lens,
        shaped_lens,
        shell_lens,
        conical_horn,
        profile_horn,
        spline_horn,
        dual_mode_horn,
        corrugated_horn,
        dielectric_rod,
        choke_ring_feed,
        lens_horn,
        reflector,
        cassegrain,
        ring_focus,
        splash_plate,
        outline,
    )
}

"""Bodies of revolution."""

SPATIAL: dict[str, Family] = {
    module.FAMILY.name: module.FAMILY
    for module in (patch, pixel_patch, strip_dipole, dielectric_resonator, pyramidal_horn)
}
"""Antennas that are solved in three dimensions."""


def families() -> dict[str, Family]:
    """Return every family by name."""
    return FAMILIES | SPATIAL


def kind(family: str | Family, bodies: Iterable[Body | Mapping[str, Any]] = (), making: Making | None = None) -> Family:
    """Return a family by name, with the bodies that the file draws and the limits of making that it sets.

    Args:
        family: Name, or the family itself.
        bodies: `Body`, or what its `to_dict` wrote.
        making: Limits; None leaves the family's own.
    """
    known = families()[family] if isinstance(family, str) else family
    drawn = tuple(one if isinstance(one, Body) else Body.of(one) for one in bodies)
    known = known.draws(drawn) if known.draws is not None and drawn else known
    return known if making is None else replace(known, making=making)


def parameter_of(name: str) -> Parameter | None:
    """Return the parameter that an entry of a design, `lens.radii.3`, belongs to; None where no family has it.

    Families that share a name give it the same unit.
    """
    every = [*(parameter for family in FAMILIES.values() for parameter in family.parameters), *FILLING]
    for family in SPATIAL.values():
        every += [one for variant in family.all_variants for one in variant.parameters]
    every += material(name.rpartition(".")[0]) if name.startswith("body.") else ()
    return next((parameter for parameter in every if parameter.holds(name)), None)


def worded(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resolved experiment with words in place of their numbers in `antenna`, as a file has them."""
    antenna = resolved["antenna"]
    family = families()[antenna["family"]]
    every = [one for variant in (family, *family.all_variants) for one in variant.parameters]
    words = {one.name: one.choices for one in every if one.choices}
    return {**resolved, "antenna": _worded(antenna, words)}


def _worded(value: Any, words: Mapping[str, Sequence[str]], name: str = "") -> Any:
    """Return an antenna's entries with words in place of their numbers, as a file has them."""
    if name in words:
        if isinstance(value, Mapping):
            return {key: _worded(one, words, name) if key == "choices" else one for key, one in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [_worded(one, words, name) for one in value]
        if isinstance(value, int | float) and round(value) in range(len(words[name])):
            return words[name][round(value)]
        return value
    if not isinstance(value, Mapping):
        return value
    return {key: _worded(one, words, f"{name}.{key}" if name else str(key)) for key, one in value.items()}


__all__ = [
    "FAMILIES",
    "NAMED_RULES",
    "RULES",
    "SHARED",
    "SPATIAL",
    "AtLeast",
    "Body",
    "Designs",
    "Family",
    "Making",
    "Orders",
    "Parameter",
    "Part",
    "families",
    "kind",
    "parameter_of",
    "stack",
    "worded",
]

read_as(__name__, FAMILIES)
