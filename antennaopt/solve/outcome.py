"""The outcome of solving one antenna: the single definition of its contents.

Only messages of workers (`antennaopt.farm.task`) and files have outcomes as plain data. `Outcome.of` reads such data,
`to_dict` makes them, and `fault_of` returns the fault of data that may be damaged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from dataclasses import field as attribute
from functools import cached_property
from typing import Any

import numpy as np

from antennaopt.metrics import METRICS
from antennaopt.solve.at_frequency import AtFrequency
from antennaopt.solve.cuts import CUTS, LEVELS, OLDER, PATTERN, amplitudes, directivity_dbi, fault_of_cuts, pairs, texts
from antennaopt.solve.modes import are_modes
from antennaopt.solve.rings import fault_of_rings
from antennaopt.unchecked import owned

REPEATABLE = ("ok", "infeasible", "undecayed", "diverged")
"""Statuses that an equal design would get again; the others are faults of the farm, and the design is solved again."""

STATUSES = (*REPEATABLE, "lost", "timeout", "error")
"""All statuses of complete outcomes."""

SHARED = ("status", "error", "steps", "seconds", "decay_db")
"""Keys of the object that `simulate --json` writes, next to `results`."""

LARGEST = 2**63 - 1
"""Whole numbers are stored with 64 bits."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome(Mapping[str, Any]):
    """Outcome of one antenna. Also a read-only mapping of the values that exist; each metric has its own key.

    Attributes:
        status: One of `STATUSES`, or `known` (see `antennaopt.solve.recognition`).
        error: Reason if the status is not `ok`.
        steps: Number of time steps.
        cells: Number of cells of the lattice.
        seconds: Wall time of its worker.
        stepping_seconds: Its share of the time spent stepping fields.
        decay_db: Energy at the last step over its peak.
        frequency_hz: Frequencies of all lists below, Hz.
        s11: Real and imaginary part per frequency.
        modes: Waves of modes, one list per frequency, see `antennaopt.solve.modes`; None if none are measured.
        metrics: Metrics by key, one value per frequency; None if a metric is not defined.
        figures: Figures with options (`antennaopt.figures`) by name; None before they are computed.
        theta_deg: Angles of the cuts, degrees, array (angles,) or list.
        e_plane: Complex amplitude in the E plane, array (frequencies, angles), see `antennaopt.solve.cuts`; complex64
            once it was sent or stored. Lists of pairs where it was read from JSON.
        h_plane: The same in the H plane.
        older_dbi: Directivity in both planes, dBi, of a run that stored no complex cuts.
        worker: Name of the worker that solved it.
        device: Device of the worker.
        attempt: Number of the successful attempt, from 1.
        batch_seconds: Wall time of its whole batch.
        origin: `cells` or `cache` if the antenna was not solved.
        identity: Digest of its cells and of everything else that affects the result.
        field: Electric field from `evaluate(..., fields=True)`.
        sweep: S11 across the band from `evaluate(..., fields=True)`.
        sphere: Far field on the whole sphere, of `SolveOptions(sphere=True)` where two cuts are not all of it:
            `theta_deg` (T,), `phi_deg` (P,), and complex amplitudes `e_theta`, `e_phi`, (F, P, T) each, whose squares
            are directivity.
        rings: Means over phi of the far field, of antennas in space where a figure needs them, see
            `antennaopt.solve.rings`.
        film: Field over time, of `evaluate(..., film=True)`.
        sent: Its batch (`antennaopt.sent.Sent`), as it was solved or as it came in a message, and its place there; not
            set of one that has no figures, or was changed since.
    """

    __slots__ = ("__dict__", "sent")

    status: str
    error: str | None = None
    steps: int | None = None
    cells: int | None = None
    frequency_hz: Sequence[float] | None = None
    s11: Sequence[Sequence[float]] | None = None
    modes: Sequence[Sequence[Mapping[str, Any]]] | None = None
    metrics: Mapping[str, Sequence[float | None]] = attribute(default_factory=dict)
    figures: Mapping[str, Sequence[float | None]] | None = None
    decay_db: float | None = None
    theta_deg: Any = None
    e_plane: Any = None
    h_plane: Any = None
    older_dbi: Any = None
    seconds: float | None = None
    stepping_seconds: float | None = None
    batch_seconds: float | None = None
    worker: str | None = None
    device: str | None = None
    attempt: int | None = None
    origin: str | None = None
    identity: Mapping[str, str] | None = None
    field: Mapping[str, Any] | None = None
    sweep: Mapping[str, Any] | None = None
    sphere: Mapping[str, Any] | None = None
    rings: Sequence[str] | None = None
    film: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Outcome:
        """Return the outcome that a message or file holds; an outcome as it is.

        Raises:
            ValueError: It has no status, or a key that no outcome has.
        """
        if isinstance(plain, Outcome):
            return plain
        if odd := [key for key in plain if key not in KEYS]:
            raise ValueError(f"it has {odd[0]!r:.40}, which no outcome has")
        if not isinstance(plain.get("status"), str):
            raise ValueError("it has no status")
        values = {key: value for key, value in plain.items() if key not in METRICS and key not in LEVELS}
        if "e_plane" not in plain and all(key in plain for key in LEVELS):
            values[OLDER] = [plain[key] for key in LEVELS]
        return cls.made(values | {"metrics": {key: plain[key] for key in METRICS if key in plain}})

    @classmethod
    def made(cls, values: Mapping[str, Any]) -> Outcome:
        """Return an outcome of attributes by name, unchecked; what is left out is absent."""
        return owned(cls, {**_ABSENT, **values})

    def to_dict(self, *, compact: bool = False) -> dict[str, Any]:
        """Return what is there by key, for a file: cuts as lists, complex values as pairs.

        Args:
            compact: Write cuts as texts instead, see `antennaopt.solve.cuts.texts`, for a file that only we read.
        """
        plain = _COMPACT if compact else _PLAIN
        return {key: plain[key](value) if key in plain else value for key, value in self.items()}

    def changed(self, **changes: Any) -> Outcome:
        """Return a copy with other values; raises TypeError for what is no attribute."""
        if not _ATTRIBUTES.issuperset(changes):
            raise TypeError(f"an outcome has no attribute {min(changes.keys() - _ATTRIBUTES)!r}")
        values = self.__dict__ | changes
        if len(values) > len(_ATTRIBUTES):
            for name in _CACHED:
                values.pop(name, None)
        one = owned(type(self), values)
        if hasattr(self, "sent") and _SENT.isdisjoint(changes):
            object.__setattr__(one, "sent", self.sent)
        return one

    def without(self, *keys: str) -> Outcome:
        """Return a copy that lacks some keys."""
        return self.changed(**dict.fromkeys(keys))

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made of: all but the batch."""
        return self.__dict__

    @property
    def merits(self) -> dict[str, Sequence[float | None]]:
        """Metrics by key, then figures by name."""
        return {**self.metrics, **(self.figures or {})}

    @property
    def ok(self) -> bool:
        """Whether the antenna was solved, with decayed fields."""
        return self.status == "ok"

    @cached_property
    def e_plane_dbi(self) -> Any:
        """Directivity in the E plane, dBi, (frequencies, angles); None without patterns."""
        return self._levels(0)

    @cached_property
    def h_plane_dbi(self) -> Any:
        """Directivity in the H plane, the same."""
        return self._levels(1)

    def _levels(self, plane: int) -> Any:
        stored = (self.e_plane, self.h_plane)[plane]
        if stored is not None:
            return directivity_dbi(stored)
        return None if self.older_dbi is None else self.older_dbi[plane]

    @cached_property
    def results(self) -> tuple[AtFrequency, ...]:
        """One entry a frequency; none when the antenna was not solved."""
        cuts = {key: listed(getattr(self, key)) for key in LEVELS}
        cuts |= {key: pairs(amplitudes(self.__dict__[key])) for key in CUTS[1:] if self.__dict__[key] is not None}
        return tuple(
            AtFrequency(
                frequency_hz=hz,
                s11=None if self.s11 is None else self.s11[place],
                modes=None if self.modes is None else self.modes[place],
                metrics={key: values[place] for key, values in self.merits.items()},
                theta_deg=listed(self.theta_deg),
                **{key: values[place] for key, values in cuts.items() if values is not None},
            )
            for place, hz in enumerate(self.frequency_hz or ())
        )

    def __getitem__(self, key: str) -> Any:
        if key in METRICS or key in (self.figures or ()):
            return self.merits[key] if self.figures else self.metrics[key]
        value = getattr(self, key) if key in KEYS else None
        if value is None and key != "error":
            raise KeyError(key)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        """Return what is there by key, else the default; without the exception that a mapping's own `get` raises."""
        if key in METRICS:
            return self.metrics.get(key, default)
        if self.figures and key in self.figures:
            return self.figures[key]
        value = getattr(self, key) if key in KEYS else None
        return default if value is None and key != "error" else value

    def __iter__(self) -> Iterator[str]:
        for key, _ in self.beside_metrics():
            yield key
        yield from self.metrics

    def beside_metrics(self) -> Iterator[tuple[str, Any]]:
        """Yield what is there by key, but for metrics."""
        values = self.__dict__
        for key in FIELDS:
            if key == "error" or values[key] is not None:
                yield key, values[key]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __eq__(self, other: object) -> bool:
        """Compare as plain data; with a field, film or sphere, which are arrays, only the same object is equal."""
        if self is other:
            return True
        if not (self.field is self.film is self.sphere is None):
            return False
        return self.to_dict() == (other.to_dict() if isinstance(other, Outcome) else other)

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, changes: Mapping[str, Any]) -> Outcome:
        return Outcome.of({**self, **changes})


FIELDS = tuple(one.name for one in fields(Outcome) if one.name != "metrics")
"""Attributes of an outcome other than its metrics."""

KEYS = frozenset((*FIELDS, *METRICS, *LEVELS))
"""All keys of an outcome but the names of figures; its own iterator leaves out `LEVELS`, which follow from others."""

_ABSENT: dict[str, Any] = {**dict.fromkeys(FIELDS), "metrics": {}}
_ATTRIBUTES = frozenset(_ABSENT)
_SENT = frozenset({"status", "frequency_hz", "s11", "metrics", *PATTERN})
_CACHED = tuple(name for name, one in vars(Outcome).items() if isinstance(one, cached_property))


def listed(value: Any) -> Any:
    """Return an array as lists, all else as it is."""
    return value.tolist() if isinstance(value, np.ndarray) else value


_PLAIN: dict[str, Callable[[Any], Any]] = {
    "theta_deg": listed,
    **dict.fromkeys(CUTS[1:], lambda values: pairs(amplitudes(values))),
    OLDER: lambda planes: [listed(one) for one in planes],
}
_COMPACT = _PLAIN | dict.fromkeys(CUTS[1:], texts)


def result_object(outcome: Mapping[str, Any], *, backend: str, **about: Any) -> dict[str, Any]:
    """Turn an outcome into the object that `simulate --json` writes: `results` holds one entry a frequency.

    JSON has no numbers that are not finite: where a row or a pattern has one, there is None.

    Args:
        outcome: As `evaluate` returns it, `ok`.
        backend: What solved it.
        about: Further keys for the object.
    """
    results = [one.to_dict() for one in Outcome.of(outcome).results]
    shared = {name: outcome.get(name) for name in SHARED}
    return {**about, "backend": backend, **finite({**shared, "results": results})}


def finite(value: Any) -> Any:
    """Replace what JSON cannot hold, NaN and infinities, by None."""
    if isinstance(value, Mapping):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def fault_of(outcome: Any, *, solved: bool = False) -> str | None:
    """Return what is wrong with an outcome of a file, None when a row can be made of it.

    Args:
        outcome: What the file held.
        solved: Whether it must be as the solver returns it: an `ok` one with all metrics and patterns, no other keys,
            none of the statuses that a farm gives.
    """
    if not isinstance(outcome, Mapping) or not all(isinstance(key, str) for key in outcome):
        return "it is not a table"
    if outcome.get("status") not in (REPEATABLE if solved else STATUSES):
        return f"its status is {outcome.get('status')!r:.40}"
    if solved and (odd := outcome.keys() - _OF_A_SOLVER):
        return f"it has {min(odd)!r:.40}, which no outcome has"
    wrong = next((name for name, fits in _SCALARS.items() if name in outcome and not fits(outcome[name])), None)
    if wrong is not None:
        return f"its {wrong} is {outcome[wrong]!r:.40}"
    return _fault_of_lists(outcome, solved=solved)


def _fault_of_lists(outcome: Mapping[str, Any], *, solved: bool) -> str | None:
    present = [name for name in ("s11", *METRICS) if name in outcome]
    figures = outcome.get("figures", {})
    cuts = [name for name in CUTS if name in outcome]
    ok = outcome["status"] == "ok"
    if ok and solved and (len(present) <= len(METRICS) or len(cuts) < len(CUTS)):
        missing = next(name for name in ("s11", *METRICS, *CUTS) if name not in outcome)
        return f"it has no {missing}"
    if not (ok or present or cuts or OLDER in outcome or "frequency_hz" in outcome or figures):
        return None
    frequencies = outcome.get("frequency_hz")
    if not (_is_list(frequencies, _is_positive) and frequencies and len(set(frequencies)) == len(frequencies)):
        return "its frequency_hz are not different frequencies"
    if "modes" in outcome and not are_modes(outcome["modes"], len(frequencies)):
        return "its modes have not one list of waves a frequency"
    if "rings" in outcome and (fault := fault_of_rings(outcome["rings"], len(frequencies))) is not None:
        return fault
    for name in present:
        fits = _is_pair if name == "s11" else _is_metric
        if not _is_list(outcome[name], fits) or len(outcome[name]) != len(frequencies):
            return f"its {name} has not one value a frequency"
    if not isinstance(figures, Mapping) or any(
        not _is_list(one, _is_metric) or len(one) != len(frequencies) for one in figures.values()
    ):
        return "its figures have not one value a frequency"
    return fault_of_cuts(outcome, len(frequencies))


def _is_number(value: Any) -> bool:
    """Whether a value is a number that float64 holds, finite or not."""
    return type(value) is float or (type(value) is int and abs(value) <= 2**53)


def _is_metric(value: Any) -> bool:
    return value is None or _is_number(value)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and math.isfinite(value) and value > 0.0


def _is_seconds(value: Any) -> bool:
    return value is None or (_is_number(value) and math.isfinite(value) and value >= 0.0)


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value <= LARGEST)


def _is_text(value: Any) -> bool:
    """Whether a value is text that UTF-8 holds, or none."""
    if not isinstance(value, str):
        return value is None
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_number, value))


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(fits, value))


_SCALARS: dict[str, Callable[[Any], bool]] = {
    "error": _is_text,
    "worker": _is_text,
    "device": _is_text,
    "origin": _is_text,
    "steps": _is_count,
    "cells": _is_count,
    "attempt": _is_count,
    "seconds": _is_seconds,
    "stepping_seconds": _is_seconds,
    "decay_db": _is_metric,
}
_OF_A_SOLVER = frozenset(("status", "frequency_hz", "s11", "modes", "rings", *METRICS, *CUTS, *_SCALARS)) - {"origin"}
