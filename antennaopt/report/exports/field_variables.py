"""What stands in a file of field data, `.npz` or NetCDF: name, dimensions, unit and meaning of every array."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """One array.

    Attributes:
        dims: Names of its dimensions; one of its own name makes it a coordinate.
        units: SI.
        meaning: In words.
    """

    dims: tuple[str, ...]
    units: str
    meaning: str


_PLANE = ("z", "r")
_FIELD = ("frequency", *_PLANE)
_FINE = ("outline_z", "outline_r")

VARIABLES = {
    "frequency": Variable(("frequency",), "Hz", "frequencies of the field"),
    "r": Variable(("r",), "m", "radius of the nodes"),
    "z": Variable(("z",), "m", "height of the nodes; the aperture of the feed is z = 0"),
    "e_r": Variable(_FIELD, "V/m", "complex amplitude of the radial electric field, of cos(phi)"),
    "e_phi": Variable(_FIELD, "V/m", "complex amplitude of the azimuthal electric field, of sin(phi)"),
    "e_z": Variable(_FIELD, "V/m", "complex amplitude of the axial electric field, of cos(phi)"),
    "permittivity": Variable(_PLANE, "1", "relative permittivity on the nodes, averaged at surfaces"),
    "metal": Variable(_PLANE, "1", "whether the node conducts"),
    "outline_r": Variable(("outline_r",), "m", "radius of the samples of the outlines"),
    "outline_z": Variable(("outline_z",), "m", "height of the samples of the outlines"),
    "outline_metal": Variable(_FINE, "m", "distance into the nearest conductor, cut off near its surface"),
    "outline_dielectrics": Variable(("body", *_FINE), "m", "distance into each dielectric, cut off near its surface"),
    "sweep_frequency": Variable(("sweep_frequency",), "Hz", "frequencies of sweep_s11"),
    "sweep_s11": Variable(("sweep_frequency",), "1", "complex S11 in the plane z = 0"),
}

ATTRIBUTES = {
    "title": "Electric field of an axisymmetric antenna",
    "time_convention": "exp(+jwt), peak values: E(t) = Re(E exp(+jwt))",
    "azimuthal_dependence": "E_r and E_z times cos(phi), E_phi times sin(phi); E plane phi = 0, H plane 90 degrees",
    "normalisation": "the wave coming in from the feed carries 1 W; its E is along +x on the axis, phase 0 at z = 0",
    "region": "the half plane r >= 0 outside the absorbing layers; zero inside conductors",
}
