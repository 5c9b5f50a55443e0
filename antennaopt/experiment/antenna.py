"""The tables of an antenna file: [antenna], with the parameters of its family, and [solver]."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    Strict,
    ValidationInfo,
    model_serializer,
)

from antennaopt.experiment.bodies import Drawn, read_bodies
from antennaopt.experiment.fields import (
    MISSING,
    Bounds,
    Count,
    EntryError,
    Frequency,
    Length,
    Number,
    Range,
    Table,
    below,
    check_keys,
    is_resolved,
    plain,
    read_range,
    unknown_key,
)
from antennaopt.experiment.planes import Planes
from antennaopt.families import Body, Family, Parameter, families, kind
from antennaopt.quantities import FREQUENCY, LENGTH
from antennaopt.settings import ADDED_LATER, CELLS_PER_WAVELENGTH, LEAST_DECAY_DB, SolverSettings

MOST_ENTRIES = 200
"""Of a list."""

Value = float | Range
Values = Value | tuple[Any, ...]  # a tuple of values and tuples


@dataclass(frozen=True, kw_only=True)
class Antenna:
    """Family and parameters of an antenna file.

    Attributes:
        family: Name of the family.
        values: Values by parameter, SI, in the family's order; ranges are genes.
        bodies: Sections that the file draws, where the family is one of drawn bodies.
        profiles: Text of the files that they were read from, by name.
    """

    family: str
    values: Mapping[str, Values]
    bodies: tuple[Body, ...] = ()
    profiles: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def kind(self) -> Family:
        """The family, with the file's bodies, of the file's words."""
        return kind(self.family, self.bodies).of(self.values)

    @property
    def digest(self) -> str:
        """SHA-256 of the drawn bodies, hexadecimal; empty without any."""
        text = json.dumps([body.to_dict() for body in self.bodies])
        return hashlib.sha256(text.encode()).hexdigest() if self.bodies else ""

    def parameters(self) -> Iterator[tuple[str, Value]]:
        """Yield each entry's dotted name and value, in the order of the tables; a list's by `lens.radii.0`."""
        for name, value in self.values.items():
            yield from _entries(name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a resolved file writes it."""
        data: dict[str, Any] = {"family": self.family}
        for table, parameters in self.kind.tables.items():
            given = (parameter for parameter in parameters if parameter.name in self.values)
            values = ((parameter.key, self.values[parameter.name]) for parameter in given)
            data[table] = {key: _plain(value) for key, value in values}
        if self.bodies:
            data["body"] = [self._body(data.pop(f"body.{place}", None), body) for place, body in enumerate(self.bodies)]
        return data

    @staticmethod
    def _body(material: Mapping[str, Any] | None, body: Body) -> dict[str, Any]:
        points = [list(point) for point in body.points]
        return {"material": "metal", "points": points} if material is None else {**material, "points": points}


def _entries(name: str, value: Values) -> Iterator[tuple[str, Value]]:
    if isinstance(value, tuple):
        for place, one in enumerate(value):
            yield from _entries(f"{name}.{place}", one)
    else:
        yield name, value


def _plain(value: Values) -> Any:
    return [_plain(one) for one in value] if isinstance(value, tuple) else plain(value)


def bounds_of(parameter: Parameter) -> Bounds:
    """Return what values a parameter may take."""
    return Bounds(
        dimension=LENGTH if parameter.unit == "m" else None,
        lowest=parameter.lowest,
        highest=parameter.highest,
        above=parameter.above,
        whole=parameter.kind in ("integer", "choice"),
        choices=parameter.choices,
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
    si = is_resolved(info)
    family = _variant(_family(data), data, si=si)
    check_keys(data, ["family", *family.tables, *(("body",) if family.draws else ())])
    drawn = Drawn(bodies=(), materials=(), profiles={})
    if family.draws:
        if "body" not in data:
            raise EntryError("is missing; add a table [[antenna.body]]", path=("body",), value=MISSING)
        drawn = read_bodies(data["body"], Path((info.context or {}).get("folder", ".")), si=si)
        family = kind(family, drawn.bodies)
    values: dict[str, Values] = {}
    missing: list[EntryError] = []
    for table, parameters in family.tables.items():
        path: tuple[str | int, ...] = (table,)
        given = data.get(table)
        if table.startswith("body."):
            path = ("body", int(table.partition(".")[2]))
            given = drawn.materials[path[1]]
        elif table not in data and all(parameter.optional for parameter in parameters):
            given = {}
        elif table not in data:
            missing.append(EntryError(f"is missing; add a table [antenna.{table}]", path=path, value=MISSING))
            continue
        if not isinstance(given, Mapping):
            raise EntryError("is not a table; write its keys below a [header] or in { }", path=path, value=given)
        with below(*path):
            check_keys(given, [parameter.key for parameter in parameters])
        for parameter in parameters:
            if parameter.key in given:
                read = _list if _is_list(parameter, given[parameter.key]) else _entry
                with below(*path, parameter.key):
                    values[parameter.name] = read(parameter, given[parameter.key], si=si)
            elif parameter.left_out:
                continue
            elif parameter.optional:
                values[parameter.name] = () if parameter.default is None else parameter.default
            else:
                text = f"is missing; add for example {parameter.key} = {parameter.example}"
                missing.append(EntryError(text, path=(*path, parameter.key), value=MISSING))
    if missing:
        raise missing[0]
    _check_lists(family, values)
    if values.get("feed.plug", 0.0) != 0.0 and "feed.permittivity" not in values:
        text = "is the cone of a filling, and this feed has none; give antenna.feed.permittivity, or remove it"
        raise EntryError(text, path=("feed", "plug"), value=data["feed"]["plug"])
    return Antenna(family=family.name, values=values, bodies=drawn.bodies, profiles=drawn.profiles)


def _check_lists(family: Family, values: Mapping[str, Values]) -> None:
    """Refuse a list that has not as many entries as the one that it goes with.

    Raises:
        EntryError: With both numbers.
    """
    for parameter in family.parameters:
        given = values.get(parameter.name)
        if not parameter.like or not isinstance(given, tuple):
            continue
        other = values[parameter.like]
        count = len(other) if isinstance(other, tuple) else 1
        if len(given) != count:
            number = f"{len(given)} {'entry' if len(given) == 1 else 'entries'}"
            text = f"has {number}, but antenna.{parameter.like} has {count}; write as many"
            raise EntryError(text, path=(*parameter.table.split("."), parameter.key), value=MISSING)


def _family(data: Mapping[str, Any]) -> Family:
    known = families()
    if "family" not in data:
        raise EntryError(f"is missing; add one of {', '.join(known)}", path=("family",), value=MISSING)
    name = data["family"]
    if not isinstance(name, str) or name not in known:
        hint = unknown_key(str(name), list(known)).replace("key", "family")
        raise EntryError(hint, path=("family",), value=name)
    return known[name]


def _variant(family: Family, data: Mapping[str, Any], *, si: bool) -> Family:
    """Return the family of a file's words, where some decide which parameters there are.

    Raises:
        EntryError: It is no such word, or a gene, or a table of the file goes with another word.
    """
    if not family.variants:
        return family
    table, _, key = family.varies_by.rpartition(".")
    choice, given, word = family.parameter(family.varies_by), data.get(table), 0.0
    if isinstance(given, Mapping) and key in given:
        with below(table, key):
            if isinstance(given[key], Mapping):
                text = "cannot be a gene, since other parameters go with each word; write one word"
                raise EntryError(text, value=given[key])
            word = bounds_of(choice).read(given[key], si=si)
    found = family.variants[round(word)]
    for path in _paths(data):
        others = [one for one, other in zip(choice.choices, family.variants, strict=True) if _has(other, path)]
        if others and not _has(found, path):
            words = " or ".join(f'"{one}"' for one in others)
            text = f'does not go with {key} = "{choice.choices[round(word)]}"; write antenna.{table}.{key} = {words}, '
            text += "or remove the table" if len(path) == 1 else "or remove it"
            raise EntryError(text, path=path, value=MISSING)
    return _variant(found, data, si=si)


def _paths(data: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of tables of a file and of the keys in them."""
    for name, given in data.items():
        yield (name,)
        yield from ((name, key) for key in (given if isinstance(given, Mapping) else ()))


def _has(family: Family, path: tuple[str, ...]) -> bool:
    """Say whether a family has a table, or a key in a table."""
    parameters = family.tables.get(path[0])
    return parameters is not None and (len(path) == 1 or path[1] in [one.key for one in parameters])


def _is_list(parameter: Parameter, value: Any) -> bool:
    """Say whether a value of a file is a list of the parameter's values."""
    listed = isinstance(value, (list, tuple)) or (isinstance(value, Mapping) and "count" in value)
    return parameter.kind == "list" or (parameter.many and listed)


def _entry(parameter: Parameter, value: Any, *, si: bool) -> Value:
    bounds = bounds_of(parameter)
    return read_range(value, bounds, si=si) if isinstance(value, Mapping) else bounds.read(value, si=si)


def _list(parameter: Parameter, value: Any, *, si: bool) -> tuple[Values, ...]:
    what, fewest = parameter.key, 1 if parameter.many else parameter.fewest
    if isinstance(value, Mapping):
        rest = {key: one for key, one in value.items() if key != "count"}
        if "count" not in value:
            text = f"is missing; it says how many {what}, for example count = 8"
            raise EntryError(text, path=("count",), value=MISSING)
        lacking = parameter.or_none and value["count"] == 0 and not isinstance(value["count"], bool)
        count = 0 if lacking else _count(value, MOST_ENTRIES, f": how many {what}", fewest=fewest)
        return (read_range(rest, bounds_of(parameter), si=si),) * count
    sequence = isinstance(value, (list, tuple))
    if not (sequence and fewest <= len(value) <= MOST_ENTRIES) and not (parameter.or_none and sequence and not value):
        kind = "words" if parameter.choices else f"{parameter.dimension}s"
        raise EntryError(f"must be a list of {fewest} to {MOST_ENTRIES} {kind}, or {parameter.example}", value=value)
    found: list[Values] = []
    inner = replace(parameter, kind="scalar", many=parameter.nested, or_none=False)
    for place, one in enumerate(value):
        with below(place):
            if _is_list(inner, one):
                found.append(_list(replace(inner, kind="list", fewest=2, many=False, nested=False), one, si=si))
            else:
                found.append(_entry(parameter, one, si=si))
    return tuple(found)


def _count(table: Mapping[str, Any], most: int, what: str = "", *, fewest: int = 2) -> int:
    count = table["count"]
    if isinstance(count, bool) or not isinstance(count, int) or not fewest <= count <= most:
        raise EntryError(f"must be a whole number from {fewest} to {most}{what}", path=("count",), value=count)
    return count


AntennaTable = Annotated[Antenna, PlainValidator(_read), PlainSerializer(Antenna.to_dict)]


MOST_FREQUENCIES = 1001
MOST_CELLS = 100_000
FREQUENCY_BOUNDS = Bounds(dimension=FREQUENCY, above=True)


def _frequencies(value: Any, info: ValidationInfo) -> Any:
    """Spread `{ min, max, count }` out; check that a list holds something, and nothing twice."""
    si = is_resolved(info)
    if isinstance(value, Mapping):
        return _spread(value, si=si)
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= MOST_FREQUENCIES:
        raise EntryError(
            f'must be a list of 1 to {MOST_FREQUENCIES} frequencies, for example ["28.5 GHz", "30 GHz"]', value=value
        )
    read: list[float] = []
    for place, one in enumerate(value):
        with below(place):
            read.append(FREQUENCY_BOUNDS.read(one, si=si))
            if read[-1] in read[:-1]:
                raise EntryError("stands twice in the list; remove one", value=one)
    return value


def _spread(table: Mapping[str, Any], *, si: bool) -> list[str]:
    keys = ["min", "max", "count"]
    check_keys(table, keys)
    for key in keys:
        if key not in table:
            raise EntryError("is missing; write { min, max, count }", path=(key,), value=MISSING)
    count = _count(table, MOST_FREQUENCIES)
    low, high = (FREQUENCY_BOUNDS.read_at(table, key, si=si) for key in ("min", "max"))
    if low >= high:
        raise EntryError("is not below max; swap them", path=("min",), value=table["min"])
    step = (high - low) / (count - 1)
    # Whole hertz: less is never needed, and the list reads well in tables.
    return [f"{round(low + place * step)} Hz" for place in range(count)]


def _grid(value: Any) -> Any:
    good = isinstance(value, (list, tuple)) and len(value) == 2
    if value is not None and not (good and all(type(one) is int and 1 <= one <= MOST_CELLS for one in value)):
        raise EntryError(f"must be [nr, nz], two whole numbers from 1 to {MOST_CELLS}", value=value)
    return value


def middle_of(frequencies: Sequence[float]) -> float:
    """Return the middle one, which is the design frequency where none is given; of two the higher one."""
    return sorted(frequencies)[len(frequencies) // 2]


def _middle(data: dict[str, Any]) -> float:
    return middle_of(data["frequencies"])


def _cells(data: dict[str, Any]) -> float | None:
    return CELLS_PER_WAVELENGTH if data["cell"] is None else None


class Solver(Table):
    """How the fields are computed; see `SolverSettings`."""

    frequencies: Annotated[tuple[Frequency, ...], BeforeValidator(_frequencies)] = Field(
        examples=['["28.5 GHz", "30 GHz", "31.5 GHz"]']
    )
    design_frequency: Frequency = Field(default_factory=_middle)
    cell: Length | None = None
    cells_per_wavelength: Number | None = Field(default_factory=_cells, gt=0.0, le=200.0)
    courant_fraction: Number = Field(default=SolverSettings.courant_fraction, gt=0.0, le=1.0)
    max_steps: Count | None = None
    decay_db: Number = Field(default=SolverSettings.decay_db, ge=LEAST_DECAY_DB, le=150.0)
    pml_cells: Annotated[int, Strict()] = Field(default=SolverSettings.pml_cells, ge=4, le=64)
    pml_distance: Length | None = None
    grid: Annotated[tuple[int, int] | None, BeforeValidator(_grid)] = None
    steps: Count | None = None
    precision: Literal["float32", "float64"] = "float32"
    surfaces: Literal["full", "diagonal"] | None = None
    report_modes: Planes = ()
    pulse: Literal["full", "short"] | None = None
    time_step: Literal["standard", "long"] | None = None

    @model_serializer(mode="wrap")
    def _plain(self, standard: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write entries that were added later only where they are given."""
        return {name: value for name, value in standard(self).items() if value or name not in ADDED_LATER}

    @property
    def settings(self) -> SolverSettings:
        """The settings as plain data."""
        return SolverSettings(**{name: getattr(self, name) for name in type(self).model_fields})
