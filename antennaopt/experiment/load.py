"""Load an experiment from a TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from antennaopt.errors import ConfigurationError
from antennaopt.experiment.changes import CELLS, of_the_old_kind
from antennaopt.experiment.experiment import Experiment
from antennaopt.experiment.faults import first_fault
from antennaopt.experiment.fields import of_python
from antennaopt.experiment.objective import BOUNDS, Goal, Objective
from antennaopt.families import SPATIAL
from antennaopt.figures import KINDS, LINEAR, Figure, figure_of, metric_name
from antennaopt.machine import read_regular
from antennaopt.settings import READ_BY

_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[^.]*?)\s*(?:\.|$)""")
"""A key of a path, in quotes where it has dots of its own."""

MOST_PARTS = 16
"""Of a dotted key; time and stack that a TOML parser takes grow with its depth, so that limits hold before it."""
MOST_NESTED = 16
"""Levels of lists and tables."""

_STRING = r'"(?:[^"\\\n]++|\\.)*+"?|' + r"'[^'\n]*+'?"
_PART = rf"(?:{_STRING}|[^\s.=,\[\]{{}}\"'#]++)"
TOKEN = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?'  # texts of several lines
    r"|'''(?:[^']++|'(?!''))*+(?:''')?"
    r"|\#[^\n]*+"
    rf"|(?P<dotted>(?:{_PART}[ \t]*+\.[ \t]*+){{{MOST_PARTS}}})"
    rf"|{_PART}"
    r"|(?P<open>[\[{])|(?P<close>[\]}])",
    re.DOTALL,
)
"""What is looked at, and whole texts and comments, in which nothing is. It never goes back: linear in the length."""


def load_file(path: str | Path, overrides: Iterable[str] = (), *, of_a_run: bool | list[str] = False) -> Experiment:
    """Read an experiment or antenna file.

    Args:
        path: TOML file.
        overrides: `a.b=v`, applied before anything is checked; v as in TOML, quotes may be left out.
        of_a_run: Settings without effect are accepted, as in runs of earlier versions; a list gets them.

    Raises:
        ConfigurationError: One line: file, field, value, what is allowed, what to do.
    """
    path = Path(path)
    data = _read(path)
    for text in overrides:
        override(data, text)
    if "name" not in data:
        data["name"] = re.sub(r"[^A-Za-z0-9._-]+", "-", path.stem).strip("-._")[:100] or "experiment"
    try:
        return Experiment.parse(data, folder=path.parent, of_a_run=of_a_run)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None


def parse_table(data: Mapping[str, Any]) -> Experiment:
    """Build an experiment from a table, as tomllib reads a file.

    Args:
        data: Quantities as text with their unit; lists may be arrays of NumPy.

    Raises:
        ConfigurationError: One line, the first fault.
    """
    return Experiment.parse(of_python(data))


def load_experiment(
    path: str | Path, overrides: Iterable[str] = (), *, of_a_run: bool | list[str] = False
) -> Experiment:
    """Read a file for `run`: something in it is a range, and there is an objective.

    Args:
        path: TOML file.
        overrides: As for `load_file`.
        of_a_run: The same.

    Raises:
        ConfigurationError: As for `load_file`, or it is no experiment.
    """
    experiment = load_file(path, overrides, of_a_run=of_a_run)
    if not experiment.genes:
        raise ConfigurationError(
            f"{path}: no antenna parameter is a range, so there is nothing to optimise; "
            'write one as { min = "8 mm", max = "20 mm" }, or use `antennaopt simulate`'
        )
    if not experiment.objectives:
        raise ConfigurationError(
            f"{path}: objective is missing; add an [[objective]] table with metric and at_least or at_most"
        )
    return experiment


def load_antenna(path: str | Path, overrides: Iterable[str] = ()) -> Experiment:
    """Read a file for `simulate`: every parameter is a number.

    Args:
        path: TOML file.
        overrides: As for `load_file`.

    Raises:
        ConfigurationError: As for `load_file`, or a parameter is a range.
    """
    experiment = load_file(path, overrides)
    if experiment.genes:
        first = experiment.genes[0]
        raise ConfigurationError(
            f"{path}: antenna.{first.name} is a range ({len(experiment.genes)} in all); `simulate` needs one "
            "number for each parameter: write it, or optimise with `antennaopt run`"
        )
    return experiment


def read_source(path: Path) -> str:
    """Return the text of an experiment or antenna file, lines ended by line feeds alone.

    Raises:
        ConfigurationError: It is not there, cannot be read, is no regular file of up to 10 MB, or not UTF-8.
    """
    try:
        return read_regular(path).decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError:
        raise ConfigurationError(f"{path} does not exist; check the path") from None
    except IsADirectoryError:
        if (path / "manifest.json").is_file():
            raise ConfigurationError(
                f"{path} is a run folder; continue it with `antennaopt resume`, solve one of its antennas with "
                "`antennaopt simulate --individual best`, or read it in Python with antennaopt.open_run"
            ) from None
        raise ConfigurationError(f"{path} is a directory; name the .toml file in it") from None
    except PermissionError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
    except (OSError, ValueError) as error:
        if isinstance(error, UnicodeDecodeError):
            raise ConfigurationError(f"{path} is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{path} cannot be read ({reason}); name a TOML file of at most 10 MB") from None


def _read(path: Path) -> dict[str, Any]:
    text = read_source(path)
    deep = too_deep(text)
    if deep is not None:
        raise ConfigurationError(f"{path}: {deep}")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError alone: a whole number of thousands of digits
        reason = " ".join(str(error).split())
        raise ConfigurationError(
            f'{path} is not valid TOML: {reason}; text values need quotes, for example "3.6 mm"'
        ) from None


def override(data: dict[str, Any], text: str) -> None:
    """Apply one `a.b=v` to a table as tomllib reads it; entries of lists are counted from 0, keys may be in quotes.

    Args:
        data: Changed in place.
        text: `evolution.population=48`, `antenna.lens.radii.0=17 mm`, `objective.0.weight=2`.

    Raises:
        ConfigurationError: Not such a text, or it leads through something that is no table.
    """
    if any("\ud800" <= one <= "\udfff" for one in text):
        raise ConfigurationError(f"--set {text!r} is not UTF-8; write it in letters of this terminal")
    path, sign, value = text.partition("=")
    keys = [_unquoted(key) for key in _KEY.findall(f"{path}.")[:-1]]
    if not sign or not all(keys):
        raise ConfigurationError(
            f"--set {text!r} is not of the form a.b=value; write for example --set evolution.population=48"
        )
    if len(keys) > MOST_PARTS:
        raise ConfigurationError(f"--set {keys[0]}... has a key of {len(keys)} parts (at most {MOST_PARTS})")
    deep = too_deep(value)
    if deep is not None:
        raise ConfigurationError(f"--set {path.strip()}: {deep}")
    antenna = data.get("antenna")
    in_space = isinstance(antenna, dict) and str(antenna.get("family")) in SPATIAL
    for one, other in (CELLS, CELLS[::-1]):
        if keys == ["solver", one] and isinstance(data.get("solver"), dict) and not in_space:
            data["solver"].pop(other, None)
    at: Any = data
    if keys == ["certificate", "mode"] and isinstance(data.get("certificate"), str):
        data["certificate"] = {}
    for depth, key in enumerate(keys[:-1]):
        if isinstance(at, dict):
            at = at.setdefault(key, {})
        else:
            at = at[_place(at, keys[: depth + 1], text)]
    if isinstance(at, dict):
        read = _value(value.strip())
        if keys[0] == "evolution" and keys[2:] == ["kind"] and keys[1] in READ_BY:
            for key in of_the_old_kind(at, keys[1], read):
                del at[key]
        at[keys[-1]] = read
    else:
        at[_place(at, keys, text)] = _value(value.strip())


def _unquoted(key: str) -> str:
    """Return a key as TOML reads it: `"patch.length"` is one key."""
    return key[1:-1] if len(key) > 2 and key[0] == key[-1] and key[0] in "\"'" else key


def _place(at: Any, keys: list[str], text: str) -> int:
    name = ".".join(keys[:-1])
    if not isinstance(at, list):
        raise ConfigurationError(
            f"--set {text!r}: {name} is no table or list, so it has no {keys[-1]!r}; check the path"
        )
    if not (keys[-1].isascii() and keys[-1].isdigit()) or int(keys[-1]) >= len(at):
        raise ConfigurationError(f"--set {text!r}: {name} is a list of {len(at)}; use a number from 0 to {len(at) - 1}")
    return int(keys[-1])


def _value(text: str) -> Any:
    """Read a value as TOML does; what is no TOML value is text: `--set antenna.feed.length=20 mm`."""
    try:
        read = tomllib.loads(f"value = {text}")
    except ValueError:
        return text
    return read["value"] if list(read) == ["value"] else text


def too_deep(text: str) -> str | None:
    """Return what is too deep in a TOML text, or None; reads on from the file's name.

    Args:
        text: Need not be valid.
    """
    depth = 0
    for token in TOKEN.finditer(text):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(depth - 1, 0)
        if token["dotted"]:
            return f"line {_line(text, token)} has a dotted key of more than {MOST_PARTS} parts; write fewer"
        if depth > MOST_NESTED:
            return f"line {_line(text, token)} nests lists or tables more than {MOST_NESTED} deep; write fewer levels"
    return None


def _line(text: str, token: re.Match[str]) -> int:
    return text.count("\n", 0, token.start()) + 1


_GOAL: TypeAdapter[Objective] = TypeAdapter(Goal)


def figure_asked(table: Mapping[str, Any], polarisation: str = LINEAR) -> Figure | None:
    """Return the figure of an objective that need not have a bound; None where it is a metric of every row.

    Args:
        table: As a file has it: `{"metric": "crosspol_db", "theta": "20 deg"}`.
        polarisation: Of the experiment, which decides the plane of a pattern that has none.

    Raises:
        ConfigurationError: One line; also for what counts in a goal alone.
    """
    if not isinstance(table, Mapping):
        raise ConfigurationError(
            f'figure {table!r:.40} is no table; write for example {{"metric": "crosspol_db", "theta": "20 deg"}}'
        )
    _refuse_goals(table)
    bounded = any(table.get(key) is not None for key in BOUNDS)
    try:
        goal = _GOAL.validate_python({**table, **({} if bounded else {"at_most": 0.0})}, context={"si": False})
    except ValidationError as error:
        raise ConfigurationError(f"figure {first_fault(error, Experiment, whole=str(table.get('metric')))}") from None
    return figure_of(goal.model_dump(), polarisation)


def _refuse_goals(table: Mapping[str, Any]) -> None:
    """Refuse entries of goals that change nothing of a figure."""
    metric = metric_name(str(table.get("metric")))
    bounds = () if metric == "pattern_db" else BOUNDS  # which decide whether it is a mask, a highest or a lowest level
    band = metric in KINDS and KINDS[metric].band
    entries = ("weight", "aim", *bounds, *(() if band else ("frequencies",)))
    for key in entries:
        if table.get(key) is not None:
            raise ConfigurationError(
                f"figure {key} = {table[key]!r:.40} has no effect on {table.get('metric')}, only on a goal of a file; "
                "remove it"
            )


def figure_written(text: str, polarisation: str = LINEAR) -> Figure | None:
    """Return the figure of a text: `crosspol_db, theta=20 deg`; values as in TOML, or text without quotes.

    Args:
        text: The metric, then pairs of key and value.
        polarisation: As for `figure_asked`.

    Raises:
        ConfigurationError: One line.
    """
    metric, *entries = (one.strip() for one in re.split(r",(?![^\[{]*[\]}])", text))
    table: dict[str, Any] = {"metric": metric}
    for entry in entries:
        key, sign, value = entry.partition("=")
        if not sign:
            raise ConfigurationError(f'figure "{text}": {entry!r} is not of the form key=value; write theta=20 deg')
        table[key.strip()] = _listed(_value(value.strip()))
    return figure_asked(table, polarisation)


def _listed(value: Any) -> Any:
    """Return a list whose texts have no quotes, `[20 deg, 90 deg]`, as one; any other value as it is."""
    if not isinstance(value, str) or not value.startswith("[") or not value.endswith("]") or "[" in value[1:]:
        return value
    return [_value(one.strip()) for one in value[1:-1].split(",")]
