"""The table of an experiment with other entries, from its resolved one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError
from antennaopt.experiment.antenna import middle_of
from antennaopt.experiment.fields import unknown_key
from antennaopt.settings.solver import CELLS_PER_WAVELENGTH

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment

CELLS = ("cell", "cells_per_wavelength")
"""Entries of [solver] of which one that is given takes the place of the other, but in space, where both may stand."""

FIDELITY_CELLS = ("cells", "cells_per_wavelength")
"""The same of `fidelity`."""

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
    for given, change in changes.items():
        if given not in fields and given not in names:
            raise ConfigurationError(f"{given} {unknown_key(given, list(names))}")
        name = names.get(given, given)
        old = data.get(name)
        if isinstance(change, Mapping) and isinstance(old, Mapping):
            data[name] = {**(_freed(experiment, change) if name == "solver" else old), **_merged(old, change, name)}
        else:
            data[name] = change
    if DECISIVE & changes.keys() and isinstance(data["evolution"], Mapping):
        data["evolution"] = {**data["evolution"], "chosen": ""}
    return data


def _merged(old: Mapping[str, Any], change: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a change with the entries of the tables below it, [evolution.stop], that are not to differ.

    Those of [antenna] are kept within its family; other tables below a table, as [tolerance.of], are replaced.
    """
    if name == "fidelity" and sum(change.get(one) is not None for one in FIDELITY_CELLS) == 1:
        return {**dict.fromkeys(FIDELITY_CELLS), **change}
    if name not in ("evolution", "antenna") or "family" in change:
        return dict(change)
    return {
        key: {**old[key], **one} if isinstance(one, Mapping) and isinstance(old.get(key), Mapping) else one
        for key, one in change.items()
    }


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
