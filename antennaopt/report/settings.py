"""The resolved settings of a run as flat lines, in the units that people write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from antennaopt.families import parameter_of
from antennaopt.quantities import general, gigahertz

LENGTHS = ("solver.cell", "solver.pml_distance")
MOST_TEXT = 400
EMPTY = ("not set", "none")
SAID_TWICE = ("genes",)
"""Follows from the antenna's ranges."""


def setting_lines(resolved: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (dotted name, value as text) of every setting, in the file's order."""
    return list(_lines("", {key: one for key, one in resolved.items() if key not in SAID_TWICE}))


def _lines(prefix: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and not _is_range(value) and value:
        for key, one in value.items():
            yield from _lines(f"{prefix}.{key}" if prefix else str(key), one)
    elif isinstance(value, list) and value and all(isinstance(one, Mapping) and not _is_range(one) for one in value):
        for place, one in enumerate(value):
            name = f"{prefix}[{place}]"
            yield name, ", ".join(f"{key} {text}" for key, text in _lines("", one) if text not in EMPTY)
    else:
        text = setting_text(prefix, value)
        yield prefix, text if len(text) <= MOST_TEXT else text[:MOST_TEXT] + " …"


def setting_text(name: str, value: Any) -> str:
    """Write one value; equal neighbours of a list are counted: `8 × (8 mm to 20 mm)`."""
    if isinstance(value, list):
        texts = [setting_text(name, one) for one in value]
        runs = [(text, len(list(same))) for text, same in groupby(texts)]
        return ", ".join(text if count == 1 else f"{count} × {text}" for text, count in runs) or EMPTY[1]
    if isinstance(value, Mapping):
        return _range_text(name, value)
    if value is None:
        return EMPTY[0]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number_text(name, float(value))
    return str(value)


def _number_text(name: str, value: float) -> str:
    last = name.rsplit(".", 1)[-1]
    parameter = parameter_of(name.removeprefix("antenna."))
    if name in LENGTHS or (parameter is not None and parameter.dimension == "length"):
        return f"{1e3 * value:.10g} mm"
    if last.startswith(("frequencies", "design_frequency")):
        return gigahertz(value)
    return f"{value:.10g}"


def _range_text(name: str, value: Mapping[str, Any]) -> str:
    if not _is_range(value):
        return json.dumps(value, ensure_ascii=False)
    rest = [f"{key} {one}" for key, one in value.items() if key not in ("min", "max", "choices") and one is not None]
    if value.get("choices"):
        text = f"one of {setting_text(name, list(value['choices']))}"
    else:
        text = f"{_number_text(name, value['min'])} to {_number_text(name, value['max'])}"
    return f"({', '.join([text, *rest])})"


def _is_range(value: Mapping[str, Any]) -> bool:
    return bool(value.get("choices")) or (
        isinstance(value.get("min"), int | float) and isinstance(value.get("max"), int | float)
    )


def flat_lines(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (name, text) of the manifest's entries that say where the numbers come from."""
    lines = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            lines += [(f"{key}: {name}", _plain(one)) for name, one in value.items()]
        else:
            lines.append((key, _plain(value)))
    return lines


def _plain(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, float):
        return general(value, 6)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
