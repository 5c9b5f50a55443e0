"""Results at the end of a run: the best antenna, and the files under best/."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.families import Family, Making, Parameter, kind
from antennaopt.figures import LINEAR
from antennaopt.report.goals import Findings
from antennaopt.run.driver import Driver
from antennaopt.search import decode, individual_id
from antennaopt.search.objectives import shortfalls
from antennaopt.solve.outcome import Outcome
from antennaopt.terminal import visible

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment
    from antennaopt.search.fronts import Front


def antenna_toml(
    *,
    title: str,
    family: str | Family,
    design: Mapping[str, float],
    solver: Mapping[str, Any],
    comment: str = "",
    polarisation: str = LINEAR,
) -> str:
    """Write one fully specified antenna as a file for `antennaopt simulate`.

    Lengths are written in millimetres with all their digits: reading the file gives back the same numbers to the bit.

    Args:
        title: As the user reads it.
        family: Antenna family, with its bodies where the file draws them, and its limits of making.
        design: Every parameter, SI, by dotted name.
        solver: The resolved solver table, SI.
        comment: Lines for the top of the file.
        polarisation: Of the experiment.
    """
    known = kind(family).of(design)
    lines = [f"# {line}" for line in visible(comment).splitlines()]  # TOML refuses control characters there
    lines += [f"title = {_text(title)}"]
    lines += [f"polarisation = {_text(polarisation)}"] if polarisation != LINEAR else []
    lines += ["", "[antenna]", f"family = {_text(known.name)}"]
    tables = _tables(known, design)
    drawn = [(body, tables.pop(f"body.{place}", None)) for place, body in enumerate(known.bodies)]
    for table, entries in tables.items():
        lines += ["", f"[antenna.{table}]"]
        lines += [f"{name} = {value}" for name, value in entries.items()]
    for body, material in drawn:
        lines += ["", "[[antenna.body]]"]
        lines += ['material = "metal"'] if material is None else [f"{key} = {value}" for key, value in material.items()]
        lines += [
            "points = [",
            *(f"  [{_quantity(r, 'mm', 3)}, {_quantity(z, 'mm', 3)}]," for r, z in body.points),
            "]",
        ]
    if known.making is not None:
        lines += ["", "[limits]", *_limit_lines(known.making)]
    lines += ["", "[solver]"]
    lines += [f"{name} = {_solver_value(name, value)}" for name, value in solver.items() if value is not None]
    return "\n".join(lines) + "\n"


def _limit_lines(making: Making) -> list[str]:
    """Return the table of limits that are set; a design of a run is repaired already."""
    limits = {name: value for name, value in making.to_dict().items() if value not in (None, False)}
    return [
        f"{name} = {'true' if value is True else f'{value!r}' if name == 'overhang' else _quantity(value, 'mm', 3)}"
        for name, value in limits.items()
    ]


def to_json(value: Mapping[str, Any]) -> str:
    """Write an object as indented JSON; numbers that are not finite are refused."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def _tables(family: Family, design: Mapping[str, float]) -> dict[str, dict[str, str]]:
    """Group dotted names by table; numbered entries become lists."""
    tables: dict[str, dict[str, Any]] = {}
    for name, value in design.items():
        parameter = family.parameter(name)
        text, entries = _parameter(parameter, value), tables.setdefault(parameter.table, {})
        if name == parameter.name:
            entries[parameter.key] = text
        else:
            *above, last = map(int, name.removeprefix(f"{parameter.name}.").split("."))
            inner = entries.setdefault(parameter.key, {})
            for place in above:
                inner = inner.setdefault(place, {})
            inner[last] = text
    return {
        table: {leaf: _list(text) if isinstance(text, dict) else text for leaf, text in entries.items()}
        for table, entries in tables.items()
    }


def _parameter(parameter: Parameter, value: float) -> str:
    if parameter.unit == "m":
        return _quantity(value, "mm", 3)
    if parameter.choices:
        return _text(parameter.choices[round(value)])
    return repr(round(value)) if parameter.kind == "integer" else repr(float(value))


def _list(texts: Mapping[int, Any]) -> str:
    each = (texts[place] for place in sorted(texts))
    return "[" + ", ".join(_list(one) if isinstance(one, dict) else one for one in each) + "]"


def _solver_value(name: str, value: Any) -> str:
    if name == "frequencies":
        return "[" + ", ".join(_quantity(hz, "GHz", -9) for hz in value) + "]"
    if name == "design_frequency":
        return _quantity(value, "GHz", -9)
    if name in ("cell", "pml_distance"):
        return _quantity(value, "mm", 3)
    if name == "report_modes":
        return "[" + ", ".join(_plane(**entry) for entry in value) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(str(entry) for entry in value) + "]"
    return repr(value)


def _plane(plane: float, modes: Sequence[str]) -> str:
    named = f", modes = [{', '.join(map(_text, modes))}]" if modes else ""
    return f"{{ plane = {_quantity(plane, 'mm', 3)}{named} }}"


def _quantity(value: float, unit: str, digits: int) -> str:
    """Shift the decimal point of a float's shortest exact text: parsed as decimals, it gives the same float."""
    shifted = Decimal(repr(float(value))).scaleb(digits)
    text = format(shifted, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return _text(f"{text} {unit}")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Finalist:
    """One individual worth showing.

    Attributes:
        individual: Id.
        fitness: What was minimised.
        shortfalls: One an objective, dB.
        values: Genes, SI, by name.
        design: Every parameter, SI, by name.
        outcome: Metrics, without patterns.
    """

    individual: str
    fitness: float
    shortfalls: tuple[float, ...]
    values: dict[str, float]
    design: dict[str, float]
    outcome: Outcome


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """Results of a run.

    Attributes:
        folder: The run folder.
        reason: Why it stopped.
        best: The best individual, or None when nothing was `ok`.
        first_best: The best of the first generation.
        first_drawn: Whether that one was drawn at random, and not planted.
        generations: How many were done.
        evaluations: Antennas solved, or taken from the evaluation cache; copies of duplicates left out.
        counts: Individuals by status.
        reused: Antennas of this session that were not solved, by origin of the outcome.
        origins: The same of all sessions, as the rows say.
        findings: Goals and the best antenna, with other findings from the rows; None when nothing was `ok`.
        wall_seconds: Of the run, earlier sessions included.
        search_seconds: Of the generations of this session.
        stepping_fraction: Share of the workers' time, over all generations, that they stepped; None where not known.
        cell_steps_per_s: Mean rate of a worker while it stepped, over the same; None where that is not known.
        solver_fraction: Share of the workers' time in this session's generations that solving took, at most 1.
        certificates: By individual, the best by fitness first; empty without. The best antenna follows from them.
        certificate: One line on them, empty without.
        report: The report, or None when it was not written.
        front: What a search for a front ended with; None of another.
        cache_dropped: Damaged entries of the evaluation cache that this session met and dropped.
        levels: Of a run on several lattices what each took, the coarsest first.
        samples: Made copies solved in the search.
        yields: Of a search with samples: what `antennaopt tolerance --json` writes of the best antennas.
    """

    folder: Path
    reason: str
    best: Finalist | None
    first_best: Finalist | None
    generations: int
    evaluations: int
    counts: dict[str, int]
    wall_seconds: float
    search_seconds: float
    solver_fraction: float
    stepping_fraction: float | None = None
    cell_steps_per_s: float | None = None
    first_drawn: bool = True
    certificates: dict[str, dict[str, Any]] = field(default_factory=dict)
    certificate: str = ""
    report: Path | None = None
    reused: dict[str, int] = field(default_factory=dict)
    origins: dict[str, int] = field(default_factory=dict)
    findings: Findings | None = None
    front: Front | None = None
    cache_dropped: int = 0
    levels: list[dict[str, Any]] = field(default_factory=list)
    samples: int = 0
    yields: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        findings, report = self.findings, self.report
        plain = {"folder": str(self.folder), "findings": findings.to_dict() if findings else None}
        return asdict(self) | plain | {"report": str(report) if report else None}


def summarise(
    driver: Driver,
    *,
    experiment: Experiment,
    folder: Path,
    reason: str,
    search_seconds: float,
    worker_count: int,
) -> RunSummary:
    """Sum a run up.

    Args:
        driver: After its last generation.
        experiment: Whose run it was.
        folder: The run folder.
        reason: Why it stopped.
        search_seconds: Wall time of the generations of this session.
        worker_count: Antennas solved at a time.
    """
    best, available = driver.search.best(), search_seconds * worker_count
    first, drawn = _first_best(driver, experiment)
    return RunSummary(
        folder=folder,
        reason=reason,
        best=finalist(driver, experiment, best.candidate.individual) if best and driver.search.at_top else None,
        first_best=first,
        first_drawn=drawn,
        generations=driver.search.generation,
        evaluations=driver.search.evaluations,
        counts=dict(sorted(driver.memory.counts.items())),
        reused=dict(sorted(driver.memory.reused.items())),
        wall_seconds=driver.seconds,
        search_seconds=search_seconds,
        solver_fraction=min(driver.solver_seconds / available, 1.0) if available > 0.0 else 0.0,
    )


def finalist(driver: Driver, experiment: Experiment, individual: str) -> Finalist:
    """Return all that is known of an individual."""
    genome, outcome = driver.memory.recall([individual])[individual]
    values, missed = decode(driver.search.genes, genome), shortfalls(outcome, experiment.goals)
    ranked = {one.candidate.individual: one.fitness for one in driver.search.hall_of_fame}
    return Finalist(
        individual=individual,
        fitness=ranked.get(individual, driver.search.fitness_of(outcome.status, missed)),
        shortfalls=tuple(missed),
        values=values,
        design=experiment.design(values),
        outcome=outcome,
    )


def _first_best(driver: Driver, experiment: Experiment) -> tuple[Finalist | None, bool]:
    """Return the best of the first generation, of those drawn at random if there are any; and whether it is one."""
    first = driver.memory.recall(individual_id(0, slot) for slot in range(experiment.evolution.population))
    ok = {name: outcome for name, (_, outcome) in first.items() if outcome.ok}
    planted = set(driver.search.planted)
    drawn = [name for name in ok if first[name][0] not in planted]
    sampled = experiment.tolerance is not None and experiment.tolerance.samples > 0
    if not ok or sampled or driver.search.climb is not None:  # of other cells or without samples: not comparable
        return None, False
    fitness = {name: driver.search.fitness_of("ok", shortfalls(ok[name], experiment.goals)) for name in drawn or ok}
    best = min(fitness, key=lambda name: (fitness[name], name))
    return finalist(driver, experiment, best), bool(drawn)
