"""Faults of a file in words: Pydantic's first error as one line with field, value, what is allowed, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from antennaopt.experiment.fields import MISSING, EntryError, written

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
    "bool_parsing": "must be true or false, without quotes",
    "tuple_type": "must be a list in [ ]",
    "list_type": "must be a list in [ ]",
    "finite_number": "must be a finite number",
}
LATE = {"missing": 1, "default_factory_not_called": 2}
"""Faults that often follow from another one (a misspelt key is unknown, and the right one is missing)."""


def first_fault(error: ValidationError, table: type[BaseModel], *, whole: str = "the file") -> str:
    """Return the fault to correct first, as field, value, what is allowed, what to do.

    Args:
        error: Of a table.
        table: In whose fields examples are looked up.
        whole: What the table is called where the fault is of no field.
    """
    fault: Mapping[str, Any] = min(error.errors(include_url=False), key=lambda one: LATE.get(one["type"], 0))
    path = fault["loc"]
    inner = fault.get("ctx", {}).get("error")
    if isinstance(inner, EntryError):
        return _describe((*path, *inner.path), inner.value, inner.text, whole)
    if fault["type"] == "missing":
        return _describe(path, MISSING, _missing(path, table), whole)
    return _describe(path, fault["input"], _text(fault), whole)


def _describe(path: tuple[str | int, ...], value: Any, text: str, whole: str) -> str:
    """Write a fault: `path = value text`, or without the value where there is none."""
    name = ".".join(str(key) for key in path) or whole
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


def _missing(path: tuple[str | int, ...], table: type[BaseModel]) -> str:
    """Say what to add, with the field's own example."""
    example = _example(path, table)
    if example is not None:
        return f"is missing; add for example {path[-1]} = {example}"
    return f"is missing; add a table [{'.'.join(str(key) for key in path)}]"


def _example(path: tuple[str | int, ...], table: type[BaseModel]) -> str | None:
    """Return the example of the field at a path."""
    at: Any = table
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
        while inside := get_args(at):  # a list's tables, or a table that may be left out
            at = inside[0]
    return str(field.examples[0]) if field is not None and field.examples else None
