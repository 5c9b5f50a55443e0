"""The HTML report of a run: text, figures and tables on one page, without any other file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from antennaopt.families import parameter_of, worded
from antennaopt.figures import LINEAR
from antennaopt.quantities import (
    DENSITY,
    duration,
    format_angle,
    format_level,
    format_quantity,
    frequency_span,
    general,
    gigahertz,
)
from antennaopt.report import summary
from antennaopt.report.best_files import BestFile, write_best_files
from antennaopt.report.drawn import MOST_GENES, Drawn, draw, field_figures, name_of_best
from antennaopt.report.explorer import influence
from antennaopt.report.goals import reused_words
from antennaopt.report.patterns import polar_names
from antennaopt.report.record import RunRecord, read_run
from antennaopt.report.tolerance import yields_of
from antennaopt.report.trade_offs import extremes, extremes_table
from antennaopt.solve.lattices import lattice_text
from antennaopt.store.damage import damage_lines
from antennaopt.store.files import write_text
from antennaopt.store.levels import level_accounts
from antennaopt.store.stepping import stepping_of
from antennaopt.terminal import visible

LENGTHS = (
    *("solver.cell", "solver.pml_distance", "fidelity.cells", "plane"),
    *("limits.slot", "limits.tooth", "limits.wall", "limits.tool_radius"),
)
TIMES = ("wall_time", "target_time", "walltime")
OF_FIGURES = {
    "theta": format_angle,
    "elevation": format_angle,
    "height": lambda value: f"{value / 1e3:.10g} km",
    "density": lambda value: format_quantity(value, DENSITY),
}
"""Options of figures in their units."""
MOST_TEXT = 400
EMPTY = ("not set", "none")
SAID_TWICE = ("genes",)
"""Follows from the antenna's ranges."""


def setting_lines(resolved: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (dotted name, value as text) of every setting, in the file's order."""
    shown = {key: one for key, one in resolved.items() if key not in SAID_TWICE}
    return list(_lines("", worded(shown)))


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
    last = name.rsplit(".", 1)[-1]
    if isinstance(value, list) and last in ("at_least", "at_most"):
        return ", ".join(f"{format_angle(angle)}: {level:.10g} dB" for angle, level in value) or EMPTY[1]
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
    of = name.removeprefix("antenna.").removeprefix("tolerance.of.")
    parameter = parameter_of(of.removesuffix(".sigma") if of != name else of)
    if name in LENGTHS or (parameter is not None and parameter.dimension == "length"):
        return f"{1e3 * value:.10g} mm"
    if last.startswith(("frequencies", "design_frequency")):
        return gigahertz(value)
    if last in TIMES:
        return f"{value:.10g} s"
    if name == "limits.overhang":
        return f"{value:.10g} deg"
    if last in OF_FIGURES:
        return OF_FIGURES[last](value)
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
    """Return (name, text) of the manifest's entries on where the numbers come from."""
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


TEMPLATE = "report.html"
NOT_PROVENANCE = ("columns", "schema_version", "plan", "overrides")


def write_report(run: Path | str | RunRecord, drawn: Callable[[], Drawn | None] | None = None) -> Path:
    """Write `report.html` and the best antenna's files into a run folder.

    The report names the damaged files that it leaves out.

    Args:
        run: A run's folder, finished or not, or what was read of it.
        drawn: Returns what was drawn of its rows before, asked once the field's figures are drawn; all is drawn now
            without it, where it returns None, or shows another antenna as the best.

    Returns:
        The file written.

    Raises:
        ResumeRefusedError: It is not a run folder, or has no evaluations that can be read.
        StorageError: The report cannot be written.
    """
    record = run if isinstance(run, RunRecord) else read_run(run)
    target = record.folder.path / "report.html"
    fields, known = field_figures(record), drawn and drawn()
    if known is None or known.best != name_of_best(record):
        known = draw(record)
    write_text(target, report_text(record, known.files or write_best_files(record), known, fields))
    return target


def report_text(
    record: RunRecord,
    files: Sequence[BestFile] = (),
    known: Drawn | None = None,
    fields: Mapping[str, str | None] | None = None,
) -> str:
    """Return the report's HTML.

    Args:
        record: What was read of the run.
        files: Of the best antenna, which the page links to.
        known: What was drawn of it before, with the same best antenna; drawn now when None.
        fields: From `field_figures`; drawn now when None.
    """
    environment = Environment(
        loader=PackageLoader("antennaopt.report"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known = known or draw(record)  # reads patterns, which may be damaged
    drawn = {**known.figures, **(field_figures(record) if fields is None else fields)}
    explored, left_out = known.explored or (None, 0)
    return environment.get_template(TEMPLATE).render(
        title=record.resolved.get("title") or record.folder.manifest.get("name") or record.folder.run_id,
        run=record.folder.run_id,
        facts=facts(record),
        warnings=(*record.warnings, *damage_lines(record.folder)),
        verdict=summary.verdict(record),
        remarks=summary.remarks(record),
        headline=summary.headline(record),
        best=str(record.best["individual"]) if record.best is not None else None,
        first_best=str(record.first_best["individual"]) if record.first_best is not None else None,
        figures=drawn,
        finest=format_level(record.cells[-1], record.stops[-1]) if record.cells else None,
        yields=yields_of(record.folder.path),
        genes=summary.gene_table(record),
        influence=influence_table(record),
        trade_offs=extremes_table(found) if (found := extremes(record)) else None,
        explorer=explored,
        front=None if record.front is None else len(record.front),
        left_out=f"; {left_out} more antennas are left out" if left_out else "",
        commands=commands(record),
        files=[(one, f"{max(one.size / 1e3, 1):.0f} kB") for one in files],
        polar=polar_names(record.polarisation) if record.polarisation != LINEAR else None,
        certificate=summary.certificate_account(record),
        certificate_table=summary.certificate_table(record),
        bands=summary.band_tables(record, record.best) if record.best is not None else [],
        field=field_note(record),
        board=is_board(record),
        ten_best=summary.ten_best(record),
        statuses=summary.status_counts(record),
        failures=summary.failures(record),
        source=record.source,
        settings=setting_lines(record.resolved),
        provenance=flat_lines(
            {key: value for key, value in record.folder.manifest.items() if key not in NOT_PROVENANCE}
        ),
    )


def influence_table(record: RunRecord) -> dict[str, Any] | None:
    """Return how the genes go with the fitness as a table, None without any."""
    rows = [[name, f"{rank:+.2f}", f"{way} is better"] for name, rank, way in influence(record)[:MOST_GENES]]
    return {"header": ["gene", "rank correlation", ""], "rows": rows} if rows else None


def _shown(value: Any) -> Any:
    """Make hidden characters visible in what stands in the page, before it is escaped."""
    return visible(value) if type(value) is str else value


def facts(record: RunRecord) -> list[tuple[str, str]]:
    """Return the run in a few words: (name, text)."""
    family = str((record.resolved.get("antenna") or {}).get("family", "")).replace("_", " ")
    lines = [
        ("Antenna", family),
        ("Frequencies", frequency_span(record.frequencies)),
        ("State", state(record)),
        ("Antennas solved", solved(record)),
        ("Grid", grid(record)),
        ("Genes", str(len(record.folder.columns.genes))),
    ]
    if record.wall_seconds is not None:
        lines.append(("Wall time", duration(record.wall_seconds, tenths=True)))
    seconds = float(record.frame.loc[~record.frame["cached"].astype(bool), "seconds"].fillna(0.0).sum())
    if seconds > 0.0:
        lines.append(("Solver time, all workers", duration(seconds, tenths=True)))
    for place, one in enumerate(level_accounts(record.folder) if record.cells else ()):
        about = f"{one['antennas']} antennas, {duration(one['seconds'], tenths=True)} of solving"
        lines.append((f"Level {place + 1}, cells of {format_level(one['cell'], one.get('stop_db'))}", about))
    stepping = stepping_of(record.folder)
    if stepping is not None:
        lines.append(("Stepping fields", f"{stepping}, first generation to last"))
    return [(name, text) for name, text in lines if text]


def solved(record: RunRecord) -> str:
    """Write how many antennas were solved, and how many outcomes came from elsewhere."""
    others = [reused_words(record.reused)] if record.reused else []
    duplicates = len(record.frame) - record.evaluated
    others += [f"{duplicates} equal to one of this run"] if duplicates else []
    text = str(record.evaluated - sum(record.reused.values()))
    return f"{text} (and {', '.join(others)})" if others else text


def grid(record: RunRecord) -> str:
    """Write the solver's grid, as the manifest's plan has it: `54 × 94 cells of 0.514 mm`; empty when it has none."""
    plan = record.folder.manifest.get("plan") or {}
    try:
        return lattice_text(plan, "×")
    except KeyError:
        return ""


def state(record: RunRecord) -> str:
    """Return in words how far the run is."""
    done, planned = record.generations, record.generations_planned
    if record.stop_reason:
        return f"finished: {record.stop_reason}"
    if planned is None:
        return f"{done} generations"
    return f"finished, {done} generations" if done >= planned else f"unfinished, {done} of {planned} generations"


def commands(record: RunRecord) -> str:
    """Return the commands that make the run, its best antenna and this report again, from inside the run folder."""
    manifest = record.folder.manifest
    options = "".join(f" --set {shlex.quote(str(change))}" for change in manifest.get("overrides") or ())
    options += f" --backend {manifest['backend']}" if manifest.get("backend") else ""
    lines = [
        (f"antennaopt run experiment.toml{options}", "the same search again"),
        ("antennaopt resume .", "go on, when it is unfinished"),
        ("antennaopt report .", "this page again"),
    ]
    if record.best is not None:
        simulate = f"antennaopt simulate . --individual {record.best['individual']} --plot best.png --json best.json"
        solids = "--stl best.stl --dxf best.dxf" if is_board(record) else "--step best.step --stl best.stl"
        files = f"antennaopt export . --individual {record.best['individual']} {solids}"
        lines.insert(2, (simulate, "the best antenna again"))
        lines.insert(3, (files, "its solids and far field in other formats; --help lists all"))
    width = max(len(command) for command, _ in lines)
    return "\n".join(f"{command:<{width}}  # {why}" for command, why in lines)


def is_board(record: RunRecord) -> bool:
    """Return whether the best antenna is solved in three dimensions."""
    return record.best_antenna is not None and record.best_antenna[0].spatial is not None


def field_note(record: RunRecord) -> Mapping[str, Any]:
    """Return the field map's frequency in words, or why there is no map."""
    field = record.field_map
    if field is not None:
        return {"frequency": gigahertz(field.shown_frequency), "missing": None}
    path = record.folder.path / "best" / "field.npz"
    if is_board(record):
        why = "No field map is recorded of an antenna that is solved in three dimensions."
    elif not path.exists():
        why = "This run has no field map (best/field.npz): it is recorded when the run ends."
    else:
        why = (
            "The field map on disk (best/field.npz) is damaged or belongs to an earlier best antenna; it is not shown."
        )
    return {"frequency": None, "missing": why}
