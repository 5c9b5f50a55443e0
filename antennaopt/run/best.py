"""The best antenna as files: `best/antenna.toml`, which `antennaopt simulate` takes, and `best/result.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from antennaopt.families import FAMILIES, Parameter
from antennaopt.terminal import visible


def antenna_toml(
    *, title: str, family: str, design: Mapping[str, float], solver: Mapping[str, Any], comment: str = ""
) -> str:
    """Write one fully specified antenna as a file for `antennaopt simulate`.

    Lengths are written in millimetres with all their digits: reading the file gives back the same numbers to the bit.

    Args:
        title: For people.
        family: Antenna family.
        design: Every parameter, SI, by dotted name.
        solver: The resolved solver table, SI.
        comment: Lines for the top of the file.
    """
    lines = [f"# {line}" for line in visible(comment).splitlines()]  # TOML refuses control characters there
    lines += [f"title = {_text(title)}", "", "[antenna]", f"family = {_text(family)}"]
    for table, entries in _tables(family, design).items():
        lines += ["", f"[antenna.{table}]"]
        lines += [f"{name} = {value}" for name, value in entries.items()]
    lines += ["", "[solver]"]
    lines += [f"{name} = {_solver_value(name, value)}" for name, value in solver.items() if value is not None]
    return "\n".join(lines) + "\n"


def to_json(value: Mapping[str, Any]) -> str:
    """Write an object for people and programs; numbers that are not finite are refused."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def _tables(family: str, design: Mapping[str, float]) -> dict[str, dict[str, str]]:
    """Group dotted names by table; numbered entries become lists."""
    tables: dict[str, dict[str, Any]] = {}
    for name, value in design.items():
        table, leaf, *place = name.split(".")
        text = _parameter(FAMILIES[family].parameter(name), value)
        entries = tables.setdefault(table, {})
        if place:
            entries.setdefault(leaf, {})[int(place[0])] = text
        else:
            entries[leaf] = text
    return {
        table: {leaf: _list(text) if isinstance(text, dict) else text for leaf, text in entries.items()}
        for table, entries in tables.items()
    }


def _parameter(parameter: Parameter, value: float) -> str:
    if parameter.unit == "m":
        return _quantity(value, "mm", 3)
    return repr(round(value)) if parameter.kind == "integer" else repr(float(value))


def _list(texts: Mapping[int, str]) -> str:
    return "[" + ", ".join(texts[place] for place in sorted(texts)) + "]"


def _solver_value(name: str, value: Any) -> str:
    if name == "frequencies":
        return "[" + ", ".join(_quantity(hz, "GHz", -9) for hz in value) + "]"
    if name == "design_frequency":
        return _quantity(value, "GHz", -9)
    if name in ("cell", "pml_distance"):
        return _quantity(value, "mm", 3)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(str(entry) for entry in value) + "]"
    return repr(value)


def _quantity(value: float, unit: str, digits: int) -> str:
    """Shift the decimal point of a float's shortest exact text: parsed as decimals, it gives the same float."""
    shifted = Decimal(repr(float(value))).scaleb(digits)
    text = format(shifted, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return _text(f"{text} {unit}")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
