"""The planes of `report_modes` in an antenna file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo

from antennaopt.experiment.fields import MISSING, Bounds, EntryError, below, check_keys, is_resolved
from antennaopt.quantities import LENGTH
from antennaopt.settings import ReportedModes

MOST_PLANES = 16
PLANE_BOUNDS = Bounds(dimension=LENGTH, lowest=-1000.0, highest=1000.0)


def _report_modes(value: Any, info: ValidationInfo) -> tuple[ReportedModes, ...]:
    """Read the planes in which modes are reported.

    Raises:
        EntryError: The first fault.
    """
    if isinstance(value, tuple) and all(isinstance(one, ReportedModes) for one in value):
        return value
    if not isinstance(value, (list, tuple)) or len(value) > MOST_PLANES:
        example = '[{ plane = "0 mm", modes = ["TE11", "TM11"] }]'
        raise EntryError(f"must be a list of at most {MOST_PLANES} tables, for example {example}", value=value)
    found: list[ReportedModes] = []
    for place, one in enumerate(value):
        with below(place):
            found.append(_reported(one, si=is_resolved(info)))
            if any(abs(found[-1].plane - other.plane) < 1e-9 for other in found[:-1]):
                raise EntryError("stands twice in the list; put all modes of a plane into one entry",
                                 path=("plane",), value=one["plane"])  # fmt: skip
    return tuple(found)


def _reported(table: Any, *, si: bool) -> ReportedModes:
    from fdtd.axisymmetric.modes import MODES

    if not isinstance(table, Mapping):
        raise EntryError('is not a table; write { plane = "0 mm", modes = ["TE11", "TM11"] }', value=table)
    check_keys(table, ["plane", "modes"])
    if "plane" not in table:
        raise EntryError('is missing; add for example plane = "0 mm"', path=("plane",), value=MISSING)
    names = table.get("modes", ())
    if not isinstance(names, (list, tuple)) or not all(isinstance(one, str) for one in names):
        raise EntryError('must be a list of names, for example ["TE11", "TM11"]', path=("modes",), value=names)
    for place, name in enumerate(names):
        if name not in MODES or name in names[:place]:
            text = "stands twice in the list; remove one"
            if name not in MODES:
                text = f"is not a mode of order 1; use some of {', '.join(MODES[:4])}, ..., {MODES[-1]}"
            raise EntryError(text, path=("modes", place), value=name)
    return ReportedModes(plane=PLANE_BOUNDS.read_at(table, "plane", si=si), modes=tuple(names))


def _planes_to_list(planes: tuple[ReportedModes, ...]) -> list[dict[str, Any]]:
    return [{"plane": one.plane, "modes": list(one.modes)} for one in planes]


Planes = Annotated[tuple[ReportedModes, ...], PlainValidator(_report_modes), PlainSerializer(_planes_to_list)]
