"""One line out of many: the first fault of a file, as field, value, what is allowed, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from antennaopt.experiment.fields import MISSING, EntryError, written
from antennaopt.experiment.search import Objective

LIMITS = {
    "greater_than": (">", "gt"),
    "greater_than_equal": (">=", "ge"),
    "less_than": ("<", "lt"),
    "less_than_equal": ("<=", "le"),
}
TYPES = {
    "int_type": "must be a whole number, without quotes",
    "float_type": "must be a number, without quotes",
    "string_type": "must be text in quotes",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list in [ ]",
    "list_type": "must be a list in [ ]",
    "finite_number": "must be a finite number",
}
LATE = ("missing", "default_factory_not_called")
"""Faults that often follow from another one (a misspelt key is unknown, and the right one is missing)."""


def one_line(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the fault to mend first.

    Args:
        error: What pydantic found.
        model: The model of the whole file, to look up examples in.
    """
    faults = sorted(
        error.errors(include_url=False), key=lambda fault: LATE.index(fault["type"]) + 1 if fault["type"] in LATE else 0
    )
    fault: Mapping[str, Any] = faults[0]
    path = fault["loc"]
    inner = fault.get("ctx", {}).get("error")
    if isinstance(inner, EntryError):
        return describe((*path, *inner.path), inner.value, inner.text)
    kind = fault["type"]
    if kind == "missing":
        return describe(path, MISSING, _missing(path, model))
    return describe(path, fault["input"], _text(fault))


def describe(path: tuple[str | int, ...], value: Any, text: str) -> str:
    """Write a fault: `path = value text`, or without the value where there is none."""
    name = ".".join(str(key) for key in path) or "the file"
    if value is MISSING or isinstance(value, BaseModel):
        return f"{name} {text}"
    return f"{name} = {written(value)} {text}"


def _text(fault: Mapping[str, Any]) -> str:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in LIMITS:
        sign, key = LIMITS[kind]
        return f"must be {sign} {context[key]:g}; correct it"
    if kind == "literal_error":
        return f"is not one of {context['expected']}; use one of them"
    if kind in ("too_long", "too_short"):
        return f"has {context['actual_length']} entries; write as many as the manual says"
    if kind == "string_pattern_mismatch":
        return "must be 1 to 100 letters, digits, dots, hyphens or underscores, the first a letter or digit; rename it"
    return TYPES.get(kind) or str(fault["msg"])


def _missing(path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    """Say what to add, with the field's own example."""
    example = _example(path, model)
    if example is not None:
        return f"is missing; add for example {path[-1]} = {example}"
    return f"is missing; add a table [{'.'.join(str(key) for key in path)}]"


def _example(path: tuple[str | int, ...], model: type[BaseModel]) -> str | None:
    """Return the example of the field at a path."""
    if len(path) == 3 and path[0] == "objective":
        return _example(path[2:], Objective)
    at: Any = model
    field: FieldInfo | None = None
    for key in path:
        if isinstance(key, int):
            continue
        if not (isinstance(at, type) and issubclass(at, BaseModel)):
            return None
        field = next((one for name, one in at.model_fields.items() if key in (name, one.alias)), None)
        if field is None:
            return None
        at = field.annotation
        at = next((one for one in get_args(at) if isinstance(one, type)), at)
    return str(field.examples[0]) if field is not None and field.examples else None
