"""The table of an objective: a metric or a figure, its bounds, and its frequencies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    Strict,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from antennaopt.experiment.fields import (
    MISSING,
    Bounds,
    EntryError,
    Frequency,
    Number,
    Table,
    below,
    is_float,
    is_resolved,
)
from antennaopt.figures import KINDS, OPTIONS, FigureError, figure_of, metric_name
from antennaopt.quantities import ANGLE, DENSITY, LENGTH

MOST_WEIGHT = 1e6
"""Of an objective: beyond it, the other goals are lost in the rounding of the fitness."""

_ANGLE = Bounds(dimension=ANGLE, highest=math.pi)
_HEIGHT = Bounds(dimension=LENGTH, above=True, highest=1e9)
_DENSITY = Bounds(dimension=DENSITY, above=True)
_MATERIALS = ("metal", "dielectric")


def _metric(value: str) -> str:
    known = metric_name(value)
    if known not in KINDS:
        near = get_close_matches(value, KINDS, n=1)
        hint = f"did you mean {near[0]!r}? (known: " if near else "use another (known: "
        raise EntryError(f"is not a known metric; {hint}{', '.join(KINDS)})", value=value)
    return known


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EntryError("must be a number, without quotes", value=value)
    if not is_float(value):
        raise EntryError("must be a finite number", value=value)
    return float(value)


def _bound(value: Any, info: ValidationInfo) -> float | tuple[tuple[float, float], ...] | None:
    """Read a number, or a list of corners [theta, dB]."""
    if value is None or not isinstance(value, (list, tuple)):
        return None if value is None else _number(value)
    corners = []
    for place, one in enumerate(value):
        with below(place):
            if not isinstance(one, (list, tuple)) or len(one) != 2:
                raise EntryError('is no corner of a mask; write an angle and dB, ["20 deg", -20]', value=one)
            corners.append((_ANGLE.read(one[0], si=is_resolved(info)), _number(one[1])))
    if not corners:
        raise EntryError('is empty; write corners, [["20 deg", -20], ["90 deg", -30]]', value=value)
    return tuple(corners)


def _pair(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise EntryError("is not two numbers; write for example between = [10, 12]", value=value)
    low, high = (_number(one) for one in value)
    if low > high:
        raise EntryError("holds no value: the first is the lower bound; swap them", value=value)
    return low, high


def _angles(value: Any, info: ValidationInfo) -> float | tuple[float, ...] | None:
    """Read an angle, or a list of them."""
    if not isinstance(value, (list, tuple)):
        return None if value is None else _ANGLE.read(value, si=is_resolved(info))
    found = []
    for place, one in enumerate(value):
        with below(place):
            found.append(_ANGLE.read(one, si=is_resolved(info)))
    return tuple(found)


def _density(value: Any, info: ValidationInfo) -> tuple[float, float] | None:
    """Read the densities of metal and dielectric: one for both, or a table."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        for key in value:
            if key not in _MATERIALS:
                raise EntryError(f"is not known; use {' and '.join(_MATERIALS)}", path=(key,), value=MISSING)
        if len(value) < len(_MATERIALS):
            raise EntryError('needs both, { metal = "2.7 g/cm3", dielectric = "1.05 g/cm3" }', value=value)
        metal, dielectric = (_DENSITY.read_at(value, key, si=is_resolved(info)) for key in _MATERIALS)
        return metal, dielectric
    if isinstance(value, (list, tuple)) and is_resolved(info) and len(value) == len(_MATERIALS):
        metal, dielectric = (_DENSITY.read(one, si=True) for one in value)
        return metal, dielectric
    both = _DENSITY.read(value, si=is_resolved(info))
    return both, both


def _quantity(bounds: Bounds) -> PlainValidator:
    return PlainValidator(lambda value, info: None if value is None else bounds.read(value, si=is_resolved(info)))


# Any: what the validators return is plain already, and Pydantic warns when it writes lists of a union's types as JSON.
Bound = Annotated[Any, PlainValidator(_bound)]
Angles = Annotated[Any, PlainValidator(_angles)]
Densities = Annotated[Any, PlainValidator(_density)]


BOUNDS = ("at_least", "at_most", "between", "target")
"""Ways to write the bounds of a goal."""


def _one_goal(data: Any) -> Any:
    """Refuse a goal with no bound, and one with more than one way to write its bounds."""
    if not isinstance(data, Mapping):
        return data
    given = [key for key in BOUNDS if data.get(key) is not None]
    if data.get("aim") is not None:
        if given:
            raise EntryError(
                f"has both aim and {given[0]}; an aim has no level, so leave one of them out", value=MISSING
            )
        return data
    if not given:
        raise EntryError(
            "has neither at_least nor at_most; add one of them, between = [a, b], or target with tolerance",
            value=MISSING,
        )
    if "target" in given and data.get("tolerance") is None:
        raise EntryError(
            "is missing: target needs it; add for example tolerance = 0.5", path=("tolerance",), value=MISSING
        )
    if "target" not in given and data.get("tolerance") is not None:
        raise EntryError("goes with target; remove it", path=("tolerance",), value=data["tolerance"])
    if len(given) > 1 and not (given == ["at_least", "at_most"] and data.get("metric") == "pattern_db"):
        raise EntryError(
            f"has both {given[0]} and {given[1]}; write between = [a, b], or two objectives", value=MISSING
        )
    return data


class Objective(Table):
    """One goal; its shortfall in dB enters the fitness, or it is an aim of a search for a front.

    Attributes:
        metric: Which figure of merit.
        at_least: Lower goal, in the metric's unit; of `pattern_db` also corners (rad, dB).
        at_most: Upper goal, the same.
        between: Lower and upper goal.
        target: Middle of the values that meet the goal.
        tolerance: Largest distance from the target.
        aim: In place of a level: the metric's worst value becomes as large, or as small, as it can.
        weight: Factor in the weighted sum, at most 1e6.
        frequencies: Hz, some of the solver's; all when empty.
        name: Beginning of the columns; made of metric, plane and angles when None.
        theta: Angle, or the first and the last one, rad.
        plane: One of those that the metric takes.
        level_db: Of a beamwidth, below boresight.
        absolute: Whether a mask is in dBi.
        elevation: Of a satellite at the edge of its coverage, rad.
        height: Of its orbit, m.
        density: Of metal and dielectric, kg/m^3.
    """

    metric: Annotated[str, AfterValidator(_metric)] = Field(examples=['"directivity_dbi"'])
    at_least: Bound = None
    at_most: Bound = None
    between: Annotated[Any, PlainValidator(_pair)] = None
    target: Number | None = None
    tolerance: Annotated[Number, Field(gt=0.0)] | None = None
    aim: Literal["largest", "least"] | None = None
    weight: Number = Field(default=1.0, gt=0.0, le=MOST_WEIGHT)
    frequencies: tuple[Frequency, ...] = ()
    name: str | None = None
    theta: Angles = None
    plane: str | None = None
    level_db: Annotated[Number, Field(gt=0.0)] | None = None
    absolute: Annotated[bool, Strict()] | None = None
    elevation: Annotated[float | None, _quantity(_ANGLE)] = None
    height: Annotated[float | None, _quantity(_HEIGHT)] = None
    density: Densities = None

    @model_validator(mode="after")
    def _check(self) -> Objective:
        table = self.model_dump()
        try:
            figure_of(table)
        except FigureError as error:
            value = table.get(error.key)
            raise EntryError(
                error.text,
                path=(error.key,) if error.key else (),
                value=MISSING if value is None else _as_given(error.key, value),
            ) from None
        return self

    @model_serializer(mode="wrap")
    def _written(self, handler: Any) -> dict[str, Any]:
        """Leave out what is not given of the keys that earlier versions did not have: their hashes stay."""
        return {key: value for key, value in handler(self).items() if key not in LATER or value is not None}


LATER = ("between", "target", "tolerance", "aim", "name", *OPTIONS)
"""Keys that earlier versions did not have."""


NOT_OF_CONSTRAINTS = {
    "weight": "a constraint is met or missed",
    "aim": "a constraint has a level",
}


def _of_constraints(data: Any) -> Any:
    """Refuse keys of objectives that a constraint does not have."""
    for key, why in NOT_OF_CONSTRAINTS.items():
        if isinstance(data, Mapping) and key in data:
            raise EntryError(f"does not go with a constraint: {why}; remove it", path=(key,), value=data[key])
    return data


class Constraint(Objective):
    """A goal that comes before all objectives: it has no weight and no aim."""

    @model_serializer(mode="wrap")
    def _written(self, handler: Any) -> dict[str, Any]:
        return {
            key: value for key, value in handler(self).items()
            if key not in NOT_OF_CONSTRAINTS and (key not in LATER or value is not None)
        }  # fmt: skip


def _as_given(key: str, value: Any) -> Any:
    """Return an angle as a file writes it."""
    if key != "theta":
        return value
    each = [f"{math.degrees(one):.6g} deg" for one in (value if isinstance(value, (list, tuple)) else (value,))]
    return each if isinstance(value, (list, tuple)) else each[0]


def _of_secondary(data: Any) -> Any:
    """Refuse a level, and keys that a single aim does not have."""
    if not isinstance(data, Mapping):
        return data
    for key in (*BOUNDS, "weight"):
        if data.get(key) is not None and (key != "weight" or data[key] != 1.0):
            raise EntryError(
                'does not go with secondary, which has no level and no weight; remove it, and give aim = "least" or '
                '"largest"',
                path=(key,),
                value=data[key],
            )
    if data.get("aim") is None:
        raise EntryError('is missing; add aim = "least" or aim = "largest"', path=("aim",), value=MISSING)
    return data


Goal = Annotated[Objective, BeforeValidator(_one_goal)]
Required = Annotated[Constraint, BeforeValidator(_one_goal), BeforeValidator(_of_constraints)]
Improved = Annotated[Objective, BeforeValidator(_of_secondary)]
