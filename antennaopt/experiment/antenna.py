"""The antenna families and their parameters. A new family gets its table here and its line in `FAMILIES`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, ValidationInfo

from antennaopt.experiment.fields import (
    LENGTH_BOUNDS,
    MISSING,
    EntryError,
    LengthParameter,
    LossTangent,
    Permittivity,
    Range,
    Table,
    is_resolved,
    plain,
    read_range,
)

NUMBERS = ("permittivity", "loss_tangent")
"""Parameters without a dimension; all others are lengths."""

MOST_RADII = 200


def dimension_of(name: str) -> str:
    """Return `number` or `length` for a parameter's dotted name."""
    return "number" if name.rsplit(".", 1)[-1] in NUMBERS else "length"


def _radii(value: Any, info: ValidationInfo) -> tuple[float | Range, ...]:
    si = is_resolved(info)
    if isinstance(value, Mapping):
        rest = {key: one for key, one in value.items() if key != "count"}
        if "count" not in value:
            raise EntryError(
                "is missing; it says how many radii, for example count = 8", path=("count",), value=MISSING
            )
        count = value["count"]
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_RADII:
            raise EntryError(
                f"must be a whole number from 2 to {MOST_RADII}: how many radii", path=("count",), value=count
            )
        return (read_range(rest, LENGTH_BOUNDS, si=si),) * count
    if not isinstance(value, (list, tuple)) or not 2 <= len(value) <= MOST_RADII:
        raise EntryError(
            f'must be a list of 2 to {MOST_RADII} lengths, or {{ count = 8, min = "8 mm", max = "20 mm" }}', value=value
        )
    return tuple(_radius(place, one, si=si) for place, one in enumerate(value))


def _radius(place: int, value: Any, *, si: bool) -> float | Range:
    if isinstance(value, Range):
        return value
    try:
        return (
            read_range(value, LENGTH_BOUNDS, si=si) if isinstance(value, Mapping) else LENGTH_BOUNDS.read(value, si=si)
        )
    except EntryError as error:
        raise EntryError(error.text, path=(place, *error.path), value=error.value) from None


Radii = Annotated[
    tuple[float | Range, ...], PlainValidator(_radii), PlainSerializer(lambda radii: [plain(one) for one in radii])
]


class Feed(Table):
    """Circular waveguide with the TE11 mode, filled with air; its aperture is the plane z = 0.

    Attributes:
        inner_radius: m.
        outer_radius: The tube's outer wall, m.
        length: Inside length, m; a back wall as thick as the tube closes it at z = -length.
    """

    inner_radius: LengthParameter = Field(examples=['"3.6 mm"'])
    outer_radius: LengthParameter = Field(examples=['"4.0 mm"'])
    length: LengthParameter = Field(examples=['"20 mm"'])


class HemisphericalLens(Table):
    """A cylinder from z = 0 to z = extension, then a hemisphere of the same radius.

    Attributes:
        permittivity: Relative, at least 1.
        loss_tangent: At the design frequency.
        radius: m.
        extension: m.
    """

    permittivity: Permittivity = Field(examples=["2.53"])
    loss_tangent: LossTangent = 0.0
    radius: LengthParameter = Field(examples=['"15 mm"'])
    extension: LengthParameter = Field(examples=['"5 mm"'])


class ShapedLens(Table):
    """A lens given by its distance from the aperture's centre.

    Attributes:
        permittivity: Relative, at least 1.
        loss_tangent: At the design frequency.
        radii: m, at equally spaced polar angles from 0 (axis) to 90 degrees (aperture plane).
    """

    permittivity: Permittivity = Field(examples=["2.53"])
    loss_tangent: LossTangent = 0.0
    radii: Radii = Field(examples=['{ count = 8, min = "8 mm", max = "20 mm" }'])


class Horn(Table):
    """A conical horn on the feed.

    Attributes:
        length: m, from z = 0 to the aperture.
        aperture_radius: Inner radius at z = length, m.
        wall: Thickness of the wall at the aperture, m.
    """

    length: LengthParameter = Field(examples=['"30 mm"'])
    aperture_radius: LengthParameter = Field(examples=['"12 mm"'])
    wall: LengthParameter = Field(examples=['"1 mm"'])


class _Family(Table):
    feed: Feed

    def parameters(self) -> Iterator[tuple[str, float | Range]]:
        """Yield each parameter's dotted name and value, in the order of the tables."""
        for name in type(self).model_fields:
            part = getattr(self, name)
            if isinstance(part, Table):
                for leaf in type(part).model_fields:
                    value = getattr(part, leaf)
                    if isinstance(value, tuple):
                        yield from ((f"{name}.{leaf}.{place}", one) for place, one in enumerate(value))
                    else:
                        yield f"{name}.{leaf}", value


class OpenWaveguideAntenna(_Family):
    """The feed alone."""

    family: Literal["open_waveguide"]


class HemisphericalLensAntenna(_Family):
    """A hemispherical lens on the feed."""

    family: Literal["hemispherical_lens"]
    lens: HemisphericalLens


class ShapedLensAntenna(_Family):
    """A shaped lens on the feed."""

    family: Literal["shaped_lens"]
    lens: ShapedLens


class ConicalHornAntenna(_Family):
    """A conical horn on the feed."""

    family: Literal["conical_horn"]
    horn: Horn


FAMILIES: dict[str, type[_Family]] = {
    "open_waveguide": OpenWaveguideAntenna,
    "hemispherical_lens": HemisphericalLensAntenna,
    "shaped_lens": ShapedLensAntenna,
    "conical_horn": ConicalHornAntenna,
}

Antenna = Annotated[
    OpenWaveguideAntenna | HemisphericalLensAntenna | ShapedLensAntenna | ConicalHornAntenna,
    Field(discriminator="family"),
]
