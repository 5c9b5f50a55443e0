"""The table [tolerance]: how made antennas differ from their design."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo

from antennaopt.errors import ConfigurationError
from antennaopt.experiment.antenna import Antenna, bounds_of
from antennaopt.experiment.fields import (
    MISSING,
    Bounds,
    EntryError,
    Range,
    below,
    check_keys,
    is_resolved,
    refuse,
    unknown_key,
    written,
)
from antennaopt.families import SHARED, Parameter, parameter_of
from antennaopt.quantities import format_length
from antennaopt.settings import ALGORITHMS, Spread, Tolerance

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment

AIMS = ("yield", "worst", "mean")
KINDS = ("normal", "uniform")
CORRELATED = "correlated"
MOST_SAMPLES = 10_000
MOST_FINAL_SAMPLES = 1_000_000


def _read(data: Any, info: ValidationInfo) -> Tolerance | None:
    """Read the table `[tolerance]`.

    Raises:
        EntryError: The first fault.
    """
    if data is None or isinstance(data, Tolerance):
        return data
    if not isinstance(data, Mapping):
        raise EntryError("is not a table; write its keys below [tolerance]", value=data)
    check_keys(data, ["samples", "aim", "final_samples", "of"])
    samples = _count(data, "samples", 0, "the search takes no samples", MOST_SAMPLES)
    final = _count(data, "final_samples", Tolerance.final_samples, "none after the search", MOST_FINAL_SAMPLES)
    with below("aim"):
        aim, quantile = _aim(data.get("aim", "yield"))
    antenna = info.data.get("antenna")
    if not isinstance(antenna, Antenna):
        return None  # the check of the antenna names it
    if "of" not in data:
        text = 'is missing; add a table [tolerance.of], for example "lens.radii" = { sigma = "0.02 mm" }'
        raise EntryError(text, path=("of",), value=MISSING)
    with below("of"):
        spreads = _spreads(data["of"], antenna, si=is_resolved(info))
    return Tolerance(samples=samples, aim=aim, quantile=quantile, final_samples=final, of=spreads)


def _count(data: Mapping[str, Any], name: str, default: int, none: str, most: int) -> int:
    count = data.get(name, default)
    if type(count) is not int or not 0 <= count <= most:
        raise EntryError(f"must be a whole number from 0 ({none}) to {most}", path=(name,), value=count)
    return count


def _aim(value: Any) -> tuple[str, float | None]:
    if not isinstance(value, Mapping):
        if value not in AIMS:
            words = ", ".join(f'"{one}"' for one in AIMS)
            raise EntryError(f"is not one of {words}, {{ quantile = 0.9 }}; use one of them", value=value)
        return str(value), None
    check_keys(value, ["quantile"])
    if "quantile" not in value:
        raise EntryError("is missing; write { quantile = 0.9 }", path=("quantile",), value=MISSING)
    return "quantile", Bounds(dimension=None, above=True, highest=1.0).read_at(value, "quantile", si=True)


def _spreads(value: Any, antenna: Antenna, *, si: bool) -> tuple[Spread, ...]:
    if not isinstance(value, Mapping) or not value:
        text = 'must be a table of at least one parameter, for example "lens.radii" = { sigma = "0.02 mm" }'
        raise EntryError(text, value=value)
    found: list[Spread] = []
    for name, one in _named("", value):
        with below(name):
            found.append(_spread(name.removeprefix("antenna."), one, antenna, si=si))
            taken = {entry: other.name for other in found[:-1] for entry in other.entries}
            twice = next((entry for entry in found[-1].entries if entry in taken), None)
            if twice is not None:
                text = f"and {taken[twice]!r} are both about antenna.{twice}; remove one of them"
                raise EntryError(text, value=MISSING)
    return tuple(found)


def spreads_of(table: Mapping[str, Any], antenna: Antenna) -> tuple[Spread, ...]:
    """Read tolerances as `[tolerance.of]` has them.

    Args:
        table: By parameter: `{"lens.radii": {"sigma": "0.02 mm"}}`.
        antenna: Whose parameters they are.

    Raises:
        ConfigurationError: One line, the first fault.
    """
    try:
        return _spreads(table, antenna, si=False)
    except EntryError as error:
        value = "" if error.value is MISSING else f" = {written(error.value)}"
        raise ConfigurationError(
            f"tolerance of {'.'.join(map(str, error.path)) or 'nothing'}{value} {error.text}"
        ) from None


def spreads_written(texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the table of tolerances that are written in one line each: `lens.radii=0.02 mm, uniform, correlated`.

    Raises:
        ConfigurationError: One is not written so.
    """
    found = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        sigma, *words = (part.strip() for part in value.split(","))
        if not sign or not name or not sigma or not {*words} <= {*KINDS, CORRELATED}:
            raise ConfigurationError(
                f"--of {text!r} is not of the form NAME=SIGMA[, {' or '.join(KINDS)}][, {CORRELATED}]; write for "
                'example --of "lens.radii=0.02 mm, correlated"'
            )
        try:
            number: float | str = float(sigma)
        except ValueError:
            number = sigma
        kinds = [word for word in words if word in KINDS]
        found[name] = {"sigma": number, "kind": kinds[0] if kinds else KINDS[0], "correlated": CORRELATED in words}
    return found


def _named(prefix: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield parameters with their tables; `lens.radii` without quotes is a table in a table."""
    for key, one in value.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        nested = isinstance(one, Mapping) and one and all(isinstance(each, Mapping) for each in one.values())
        if nested:
            yield from _named(name, one)
        else:
            yield name, one


def _spread(name: str, value: Any, antenna: Antenna, *, si: bool) -> Spread:
    """Read the tolerance of one parameter.

    Raises:
        EntryError: There is no such parameter, it cannot have one, or an entry is wrong.
    """
    values = dict(antenna.parameters())
    entries = tuple(one for one in values if one == name or _is_entry(one, name))
    if not entries:
        known = list(dict.fromkeys(one.name for entry in values if (one := parameter_of(entry)) is not None))
        raise EntryError(unknown_key(name, known).replace("a known key", "a parameter of this antenna"), value=MISSING)
    parameter = antenna.kind.parameter(entries[0])
    _refuse_kind(name, parameter, [values[one] for one in entries])
    if not isinstance(value, Mapping):
        raise EntryError('is not a table; write { sigma = "0.02 mm" }', value=value)
    check_keys(value, ["sigma", "kind", "correlated"])
    if "sigma" not in value:
        raise EntryError("is missing; it is the standard deviation", path=("sigma",), value=MISSING)
    bounds = Bounds(dimension=bounds_of(parameter).dimension, above=True, highest=parameter.highest)
    sigma, kind, correlated = bounds.read_at(value, "sigma", si=si), *_words(value)
    return Spread(name=name, sigma=sigma, kind=kind, correlated=correlated, entries=entries)


def _words(value: Mapping[str, Any]) -> tuple[str, bool]:
    kind, correlated = value.get("kind", KINDS[0]), value.get("correlated", False)
    if kind not in KINDS:
        raise EntryError(f"is not one of {', '.join(KINDS)}; use one of them", path=("kind",), value=kind)
    if not isinstance(correlated, bool):
        raise EntryError("must be true or false", path=("correlated",), value=correlated)
    return kind, correlated


def _is_entry(entry: str, name: str) -> bool:
    rest = entry.removeprefix(f"{name}.") if entry.startswith(f"{name}.") else ""
    return bool(rest) and all(one.isdigit() for one in rest.split("."))


def _refuse_kind(name: str, parameter: Parameter, values: list[Any]) -> None:
    """Refuse what is no real number, and what all antennas of a run share."""
    what = None
    if parameter.choices:
        what = f"is a word ({', '.join(parameter.choices)})"
    elif parameter.kind == "integer" or any(isinstance(one, Range) and one.kind == "integer" for one in values):
        what = "is a whole number"
    elif any(isinstance(one, Range) and one.kind == "choice" for one in values):
        what = "is a choice between values"
    elif name in SHARED:
        what = "is one length for all antennas of a run"
    if what is not None:
        raise EntryError(f"{what} and has no tolerance; remove it", value=MISSING)


ToleranceTable = Annotated[
    Tolerance | None,
    PlainValidator(_read),
    PlainSerializer(lambda value: None if value is None else value.to_dict()),
]


def check_tolerance(experiment: Experiment) -> None:
    """Refuse a tolerance that is wider than the range of its gene, and samples in a search that cannot take them.

    Raises:
        ConfigurationError: One line.
    """
    if experiment.tolerance is None:
        return
    if experiment.tolerance.samples > 0:
        _check_samples(experiment, experiment.tolerance)
    genes = {gene.name: gene for gene in experiment.genes}
    for one in experiment.tolerance.of:
        for gene in (genes[entry] for entry in one.entries if entry in genes):
            if 2 * one.reach > (gene.high - gene.low) * (1 + 1e-9):
                show = format_length if gene.dimension == "length" else "{:.6g}".format
                refuse(
                    f"tolerance.of.{one.name}.sigma = {show(one.sigma)} ({one.kind}) makes {show(2 * one.reach)} from "
                    f"end to end, more than the range of antenna.{gene.name} ({show(gene.low)} to {show(gene.high)}); "
                    "lower sigma or widen the range"
                )


def tolerance_warnings(experiment: Experiment) -> Iterator[str]:
    """Yield a line where entries for samples stand next to none of them."""
    given = experiment.tolerance
    if given is None or given.samples:
        return
    without = {"aim": given.aim != Tolerance.aim, "final_samples": given.final_samples != Tolerance.final_samples}
    for entry in (name for name, differs in without.items() if differs):
        yield (
            f"tolerance.{entry} has no effect with tolerance.samples = 0: the search takes no samples, and no yield is "
            "computed after it; give samples, or use `antennaopt tolerance RUN` after the run"
        )


def _check_samples(experiment: Experiment, tolerance: Tolerance) -> None:
    """Refuse samples in a search that cannot take them."""
    algorithm, samples = experiment.evolution.algorithm, f"tolerance.samples = {tolerance.samples}"
    others = {
        "steady_state": "has no generations, in which samples are taken by rank",
        "surrogate": "predicts figures of the design itself",
    }
    front = "ranks by several numbers, and a yield is one" if ALGORITHMS[algorithm].front else None
    why = others.get(algorithm, front)
    if why is not None:
        refuse(f'{samples} and evolution.algorithm = "{algorithm}", which {why}, exclude each other; use "ga"')


def widened(
    spreads: tuple[Spread, ...], lower: Mapping[str, float], upper: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return two bounding designs further apart, by what made antennas may differ; inside what a file may hold."""
    low, high = dict(lower), dict(upper)
    for one in spreads:
        for entry in one.entries:
            parameter = parameter_of(entry)
            least, most = (parameter.lowest, parameter.highest) if parameter else (0.0, float("inf"))
            if parameter is not None and parameter.above:
                least = max(least, min(low[entry], one.sigma) * 1e-3)
            low[entry] = max(low[entry] - one.reach, least)
            high[entry] = min(high[entry] + one.reach, most)
    return low, high
