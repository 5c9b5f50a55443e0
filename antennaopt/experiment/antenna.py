"""The antenna's tables, read by the table of parameters that its family gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo

from antennaopt.experiment.fields import (
    MISSING,
    Bounds,
    EntryError,
    Range,
    is_resolved,
    plain,
    read_range,
    unknown_key,
)
from antennaopt.families import FAMILIES, Family, Parameter
from antennaopt.quantities import LENGTH

MOST_ENTRIES = 200
"""Of a list."""

Value = float | Range


@dataclass(frozen=True, kw_only=True)
class Antenna:
    """Family and parameters of an antenna file.

    Attributes:
        family: Name of the family.
        values: Values by parameter, SI, in the family's order; ranges are genes.
    """

    family: str
    values: Mapping[str, Value | tuple[Value, ...]]

    def parameters(self) -> Iterator[tuple[str, Value]]:
        """Yield each entry's dotted name and value, in the order of the tables; a list's by `lens.radii.0`."""
        for name, value in self.values.items():
            if isinstance(value, tuple):
                yield from ((f"{name}.{place}", one) for place, one in enumerate(value))
            else:
                yield name, value

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a resolved file writes it."""
        data: dict[str, Any] = {"family": self.family}
        for table, parameters in FAMILIES[self.family].tables.items():
            values = ((parameter.key, self.values[parameter.name]) for parameter in parameters)
            data[table] = {
                key: [plain(one) for one in value] if isinstance(value, tuple) else plain(value)
                for key, value in values
            }
        return data


def bounds_of(parameter: Parameter) -> Bounds:
    """Return what values a parameter may take."""
    return Bounds(
        dimension=LENGTH if parameter.unit == "m" else None,
        lowest=parameter.lowest,
        highest=parameter.highest,
        above=parameter.above,
        whole=parameter.kind == "integer",
    )


def _read(data: Any, info: ValidationInfo) -> Antenna:
    """Read the table `[antenna]`.

    Raises:
        EntryError: The first fault; what is missing comes last, since a misspelt key is unknown and missed too.
    """
    if isinstance(data, Antenna):
        return data
    if not isinstance(data, Mapping):
        raise EntryError("is not a table; write its keys below [antenna]", value=data)
    family = _family(data)
    _check_keys(data, ["family", *family.tables], ())
    values: dict[str, Value | tuple[Value, ...]] = {}
    missing: list[EntryError] = []
    for table, parameters in family.tables.items():
        if table not in data:
            missing.append(EntryError(f"is missing; add a table [antenna.{table}]", path=(table,), value=MISSING))
            continue
        given = data[table]
        if not isinstance(given, Mapping):
            raise EntryError("is not a table; write its keys below a [header] or in { }", path=(table,), value=given)
        _check_keys(given, [parameter.key for parameter in parameters], (table,))
        for parameter in parameters:
            if parameter.key in given:
                values[parameter.name] = _value(parameter, given[parameter.key], si=is_resolved(info))
            elif parameter.default is not None:
                values[parameter.name] = parameter.default
            else:
                text = f"is missing; add for example {parameter.key} = {parameter.example}"
                missing.append(EntryError(text, path=(table, parameter.key), value=MISSING))
    if missing:
        raise missing[0]
    return Antenna(family=family.name, values=values)


def _family(data: Mapping[str, Any]) -> Family:
    if "family" not in data:
        raise EntryError(f"is missing; add one of {', '.join(FAMILIES)}", path=("family",), value=MISSING)
    name = data["family"]
    if not isinstance(name, str) or name not in FAMILIES:
        hint = unknown_key(str(name), list(FAMILIES)).replace("key", "family")
        raise EntryError(hint, path=("family",), value=name)
    return FAMILIES[name]


def _check_keys(data: Mapping[str, Any], known: list[str], path: tuple[str, ...]) -> None:
    for key in data:
        if key not in known:
            raise EntryError(unknown_key(key, known), path=(*path, key), value=MISSING)


def _value(parameter: Parameter, value: Any, *, si: bool) -> Value | tuple[Value, ...]:
    read = _list if parameter.kind == "list" else _entry
    try:
        return read(parameter, value, si=si)
    except EntryError as error:
        raise EntryError(error.text, path=(parameter.table, parameter.key, *error.path), value=error.value) from None


def _entry(parameter: Parameter, value: Any, *, si: bool) -> Value:
    bounds = bounds_of(parameter)
    return read_range(value, bounds, si=si) if isinstance(value, Mapping) else bounds.read(value, si=si)


def _list(parameter: Parameter, value: Any, *, si: bool) -> tuple[Value, ...]:
    what = parameter.key
    if isinstance(value, Mapping):
        rest = {key: one for key, one in value.items() if key != "count"}
        if "count" not in value:
            text = f"is missing; it says how many {what}, for example count = 8"
            raise EntryError(text, path=("count",), value=MISSING)
        count = value["count"]
        if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MOST_ENTRIES:
            text = f"must be a whole number from 2 to {MOST_ENTRIES}: how many {what}"
            raise EntryError(text, path=("count",), value=count)
        return (read_range(rest, bounds_of(parameter), si=si),) * count
    if not isinstance(value, (list, tuple)) or not 2 <= len(value) <= MOST_ENTRIES:
        kind = f"{parameter.dimension}s"
        raise EntryError(f"must be a list of 2 to {MOST_ENTRIES} {kind}, or {parameter.example}", value=value)
    return tuple(_list_entry(parameter, place, one, si=si) for place, one in enumerate(value))


def _list_entry(parameter: Parameter, place: int, value: Any, *, si: bool) -> Value:
    try:
        return _entry(parameter, value, si=si)
    except EntryError as error:
        raise EntryError(error.text, path=(place, *error.path), value=error.value) from None


AntennaTable = Annotated[Antenna, PlainValidator(_read), PlainSerializer(Antenna.to_dict)]
