"""Values of single entries: quantities, ranges that become genes, and errors that name the entry."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal, NoReturn

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    ValidationInfo,
    model_validator,
)

from antennaopt.errors import ConfigurationError
from antennaopt.quantities import (
    ANGLE,
    FREQUENCY,
    LENGTH,
    TIME,
    Dimension,
    QuantityError,
    format_angle,
    format_length,
    parse_quantity,
)


class EntryError(ValueError):
    """A bad entry below the field at hand.

    Attributes:
        path: Keys from the field down to the entry; empty for the field itself.
        value: What stands there; `MISSING` when nothing does.
        text: Reads on from `path = value`.
    """

    def __init__(self, text: str, *, path: tuple[str | int, ...] = (), value: Any = None) -> None:
        super().__init__(text)
        self.path = path
        self.value = value
        self.text = text


MISSING = object()


@contextmanager
def below(*keys: str | int) -> Iterator[None]:
    """Put keys before the path of an `EntryError` that is raised inside."""
    try:
        yield
    except EntryError as error:
        raise EntryError(error.text, path=(*keys, *error.path), value=error.value) from None


def refuse(message: str) -> NoReturn:
    """Refuse a file whose entries do not go together.

    Raises:
        ConfigurationError: With that message.
    """
    raise ConfigurationError(message)


def written(value: Any) -> str:
    """Write a value as the file has it, cut to a length that fits a line."""
    if isinstance(value, float):
        return f"{value:g}"
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # a whole number of thousands of digits
        text = hex(value) if isinstance(value, int) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


class Table(BaseModel):
    """A table of the file: frozen, and every key in it must be known."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, validate_by_name=True, validate_by_alias=True
    )

    also_known: ClassVar[tuple[str, ...]] = ()
    """Keys that a file may have and that are read as others before they come here."""
    unlisted: ClassVar[tuple[str, ...]] = ()
    """Keys of resolved files alone, which messages do not name."""

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, cls):
            return data
        if not isinstance(data, Mapping):
            raise EntryError("is not a table; write its keys below a [header] or in { }", value=data)
        known = [one.alias or name for name, one in cls.model_fields.items() if name not in cls.unlisted]
        check_keys(data, [*known, *cls.also_known], also=cls.model_fields)
        return data


def check_keys(table: Iterable[str], known: list[str], *, also: Collection[str] = ()) -> None:
    """Refuse a key that is not known.

    Args:
        table: Keys of a table.
        known: Those that it may have.
        also: Further ones that are accepted and that messages do not name.

    Raises:
        EntryError: One is not; the text names the one that may have been meant.
    """
    for key in table:
        if key not in known and key not in also:
            raise EntryError(unknown_key(key, known), path=(key,), value=MISSING)


def unknown_key(key: str, known: list[str]) -> str:
    """Return the text for an unknown key, with the one that may have been meant."""
    near = get_close_matches(str(key), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "remove it"
    return f"is not a known key; {hint} (known here: {', '.join(known)})"


@dataclass(frozen=True, kw_only=True)
class Range:
    """A parameter that is not fixed: a gene.

    Attributes:
        low: Smallest value, SI.
        high: Largest value, SI.
        kind: `real`, `integer` or `choice`.
        choices: The values of a `choice`, SI, ascending as given.
    """

    low: float
    high: float
    kind: Literal["real", "integer", "choice"] = "real"
    choices: tuple[float, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the range as a resolved file writes it."""
        if self.kind == "choice":
            return {"choices": list(self.choices)}
        plain: dict[str, Any] = {"min": self.low, "max": self.high}
        return {**plain, "kind": self.kind} if self.kind != "real" else plain


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What values a parameter may take.

    Attributes:
        dimension: A quantity's dimension, or None for a plain number.
        lowest: Smallest value allowed, SI.
        highest: Largest value allowed, SI.
        above: The lowest itself is not allowed.
        whole: Whether only whole numbers are allowed.
        choices: Words, of which the number of one is read; empty for quantities and numbers.
    """

    dimension: Dimension | None = LENGTH
    lowest: float = 0.0
    highest: float = math.inf
    above: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    def read(self, value: Any, *, si: bool) -> float:
        """Read one value, SI.

        Args:
            value: Text with a unit, or a plain number where the dimension is None.
            si: Bare numbers are SI already: the file is a resolved one.

        Raises:
            EntryError: Not such a value, or out of bounds.
        """
        if self.choices and isinstance(value, str) and value in self.choices:
            return float(self.choices.index(value))
        if self.choices and not si:
            raise EntryError(f"is not one of {', '.join(self.choices)}; use one of them", value=value)
        number = self._number(value, si=si)
        high_enough = number > self.lowest if self.above else number >= self.lowest
        if not (high_enough and number <= self.highest):
            raise EntryError(f"is out of bounds ({self._allowed()}); correct it", value=value)
        if self.whole and number != round(number):
            raise EntryError("is not a whole number; round it", value=value)
        return number

    def read_at(self, table: Mapping[str, Any], key: str, *, si: bool) -> float:
        """Read the value of a table's key; an error names the key."""
        with below(key):
            return self.read(table[key], si=si)

    def _allowed(self) -> str:
        """Say what is allowed."""
        sign = ">" if self.above else ">="
        text = f"must be {sign} {self.lowest:g}"
        if math.isfinite(self.highest):
            top = f"{self.highest:g}"
            if self.dimension in (LENGTH, ANGLE):
                top = format_length(self.highest) if self.dimension is LENGTH else format_angle(self.highest)
            text += f" and <= {top}"
        return text

    def _number(self, value: Any, *, si: bool) -> float:
        plain = isinstance(value, (int, float)) and not isinstance(value, bool)
        if self.dimension is not None and not (si and plain):
            try:
                return parse_quantity(value, self.dimension)
            except QuantityError as error:
                raise EntryError(str(error), value=value) from None
        if not plain:
            raise EntryError("is not a number; write it without quotes and without a unit", value=value)
        if not is_float(value):
            raise EntryError("is not finite; write a finite number", value=value)
        return float(value)


def is_resolved(info: ValidationInfo) -> bool:
    """Say whether bare numbers are SI: true for a resolved file."""
    return bool(info.context and info.context.get("si"))


def is_of_a_run(info: ValidationInfo) -> bool:
    """Say whether a run wrote the table: it has all entries, also without effect, and those of earlier versions."""
    return bool(info.context) and info.context.get("of_a_run", False) is not False


def refuse_without_effect(info: ValidationInfo, fault: Exception, text: str) -> None:
    """Refuse an entry that has no effect; in a table of a run list it where a list is given.

    Args:
        info: What is being read.
        fault: Raised of a file.
        text: What the list gets: the entry with the reason.
    """
    if not is_of_a_run(info):
        raise fault
    listed = (info.context or {}).get("of_a_run")
    if isinstance(listed, list):
        listed.append(text)


def read_range(table: Mapping[str, Any], bounds: Bounds, *, si: bool) -> Range:
    """Read `{ min = ..., max = ... }`, with `kind = "integer"` for whole numbers, or `{ choices = [...] }`.

    Args:
        table: As the file has it.
        bounds: What values are allowed.
        si: Bare numbers are SI already.

    Raises:
        EntryError: A key is missing or unknown, or a value is not allowed.
    """
    known = ["min", "max", "kind", "choices"]
    check_keys(table, known)
    if "choices" in table:
        return _read_choices(table, bounds, si=si)
    if bounds.choices:
        raise EntryError(f'has no range; write {{ choices = ["{bounds.choices[0]}", ...] }}', value=table)
    for key in ("min", "max"):
        if key not in table:
            raise EntryError("is missing; a range needs min and max", path=(key,), value=MISSING)
    low, high = (bounds.read_at(table, key, si=si) for key in ("min", "max"))
    kinds = ("integer",) if bounds.whole else ("real",) if bounds.dimension else ("real", "integer")
    kind = table.get("kind", kinds[0])
    if kind not in kinds:
        raise EntryError(f"is not one of {', '.join(kinds)}; use one of them", path=("kind",), value=kind)
    if low > high:
        raise EntryError(f"is larger than max = {written(table['max'])}; swap them", path=("min",), value=table["min"])
    if low == high:
        raise EntryError(
            "equals max, which leaves no range; write the one value in place of the range",
            path=("min",),
            value=table["min"],
        )
    if kind == "integer" and math.floor(high) < math.ceil(low):
        raise EntryError("leaves no whole number up to max; widen the range", path=("min",), value=table["min"])
    return Range(low=low, high=high, kind=kind)


def _read_choices(table: Mapping[str, Any], bounds: Bounds, *, si: bool) -> Range:
    others = [key for key in table if key not in ("choices", "kind")]
    if others:
        raise EntryError("does not go with choices; remove one of them", path=(others[0],), value=table[others[0]])
    given = table["choices"]
    if not isinstance(given, (list, tuple)) or len(given) < 2:
        raise EntryError("needs a list of two values or more", path=("choices",), value=given)
    values = []
    for place, one in enumerate(given):
        with below("choices", place):
            values.append(bounds.read(one, si=si))
    if len(set(values)) < len(values):
        raise EntryError("holds a value twice; remove it", path=("choices",), value=given)
    return Range(low=min(values), high=max(values), kind="choice", choices=tuple(values))


def _quantity(bounds: Bounds) -> PlainValidator:
    return PlainValidator(lambda value, info: bounds.read(value, si=is_resolved(info)))


def plain(value: Any) -> Any:
    """Return a parameter as a resolved file writes it."""
    return value.to_dict() if isinstance(value, Range) else value


LENGTH_BOUNDS = Bounds(dimension=LENGTH, above=True, highest=1000.0)

Length = Annotated[float, _quantity(LENGTH_BOUNDS)]
Frequency = Annotated[float, _quantity(Bounds(dimension=FREQUENCY, above=True))]
Duration = Annotated[float, _quantity(Bounds(dimension=TIME, above=True))]
Number = Annotated[float, Strict()]
Fraction = Annotated[float, Strict(), Field(ge=0.0, le=1.0)]
Count = Annotated[int, Strict(), Field(ge=1, le=10**15)]


def is_float(value: float) -> bool:
    """Say whether a number is finite as a float: a whole number may be too large for one."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def of_python(value: Any) -> Any:
    """Return tables and lists with arrays and numbers of NumPy as lists and numbers of Python."""
    if isinstance(value, Mapping):
        return {key: of_python(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(of_python(one) for one in value) if type(value) in (list, tuple) else value
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
