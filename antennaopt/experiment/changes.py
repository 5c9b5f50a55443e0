"""Change entries of a resolved experiment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError
from antennaopt.experiment.antenna import middle_of
from antennaopt.experiment.fields import unknown_key
from antennaopt.settings import CELLS_PER_WAVELENGTH, READ_BY, Crossover, Mutation

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment

CELLS = ("cell", "cells_per_wavelength")
"""Entries of [solver] of which one that is given takes the place of the other, but in space, where both may stand."""

FIDELITY_CELLS = ("cells", "cells_per_wavelength")
"""The same of `fidelity`."""

KINDS = {"crossover": Crossover.kind, "mutation": Mutation.kind}
"""Kinds of operators where none is given."""

DECISIVE = {"antenna", "objective", "objectives", "tolerance", "fidelity", "evolution"}
"""Tables that decide what `algorithm = "auto"` becomes: an experiment with others has not the reason of before."""


def with_changes(experiment: Experiment, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the resolved table of an experiment with other entries, not checked yet.

    Args:
        experiment: Whose table it is.
        changes: Entries by their names in the file, SI; of a table the entries that are to differ.

    Raises:
        ConfigurationError: A name is no entry of a file.
    """
    fields = type(experiment).model_fields
    names = {field.alias or name: name for name, field in fields.items()}
    data = experiment.resolved()
    if experiment.evolution.mutation.probability == experiment.mutation_by_default:
        del data["evolution"]["mutation"]["probability"]
    for given, change in changes.items():
        if given not in fields and given not in names:
            raise ConfigurationError(f"{given} {unknown_key(given, list(names))}")
        name = names.get(given, given)
        old = data.get(name)
        if isinstance(change, Mapping) and isinstance(old, Mapping):
            old = _as_in_a_file(old) if name == "evolution" else old
            data[name] = {**(_freed(experiment, change) if name == "solver" else old), **_merged(old, change, name)}
        else:
            data[name] = change
    search = changes.get("evolution")
    if DECISIVE & changes.keys() and isinstance(data["evolution"], Mapping):
        given = search if isinstance(search, Mapping) else {}
        data["evolution"] = {key: one for key, one in data["evolution"].items() if key != "chosen" or key in given}
    return {name: one for name, one in data.items() if name in fields}


def of_the_old_kind(table: Mapping[str, Any], name: str, kind: Any) -> list[str]:
    """Return the entries of a table of operators that its kind alone reads, none where it stays the same.

    Args:
        table: As a file has it, with its old kind.
        name: `crossover` or `mutation`.
        kind: The new one.
    """
    old = table.get("kind", KINDS[name])
    return [key for key in table if READ_BY[name].get(key, kind) == old != kind]


def _as_in_a_file(evolution: Mapping[str, Any]) -> dict[str, Any]:
    """Return [evolution] without entries of its operators that their kinds do not read."""
    table = dict(evolution)
    for name, readers in READ_BY.items():
        kind = table[name]["kind"]
        table[name] = {key: one for key, one in table[name].items() if readers.get(key, kind) == kind}
    return table


def _merged(old: Mapping[str, Any], change: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a change with the entries of the tables below it, [evolution.stop], that are not to differ.

    Those of [antenna] are kept within its family; other tables below a table, as [tolerance.of], are replaced.
    """
    if name == "fidelity" and sum(change.get(one) is not None for one in FIDELITY_CELLS) == 1:
        return {**dict.fromkeys(FIDELITY_CELLS), **change}
    if name not in ("evolution", "antenna") or "family" in change:
        return dict(change)
    merged = dict(change)
    for key, one in change.items():
        if isinstance(one, Mapping) and isinstance(old.get(key), Mapping):
            left = of_the_old_kind(old[key], key, one["kind"]) if key in READ_BY and "kind" in one else ()
            merged[key] = {**{entry: x for entry, x in old[key].items() if entry not in left}, **one}
    return merged


def _freed(experiment: Experiment, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return [solver] without what a change replaces: the other size of cells, a design frequency by default."""
    solver = experiment.solver
    table = experiment.resolved()["solver"]
    by_default = solver.cell is None and solver.cells_per_wavelength == CELLS_PER_WAVELENGTH
    both = experiment.kind.spatial is not None and not by_default
    if sum(change.get(name) is not None for name in CELLS) == 1 and not both:
        table |= dict.fromkeys(CELLS)
    if "frequencies" in change and solver.design_frequency == middle_of(solver.frequencies):
        del table["design_frequency"]
    return table
