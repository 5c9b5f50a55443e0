"""The yield of the best antennas of a search with samples, from new samples.

The estimate from inside the search is optimistic: the best of many candidates are chosen by it. Fresh samples of the
same tolerances have no such bias.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.run.studies import Bench, study_of
from antennaopt.run.summary import Finalist
from antennaopt.store.samples import FOLDER

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

FINALISTS = 3
"""Antennas whose yield is computed after a search: the one that is crowned, and the best others."""


def final_yields(
    run: Path, experiment: Experiment, finalists: Sequence[Finalist], bench: Bench
) -> list[dict[str, Any]]:
    """Compute the yield of the best antennas by fresh samples, and write them below `tolerance/`.

    What an earlier session computed is taken over.

    Args:
        run: The run folder.
        experiment: The run's.
        finalists: The best, the crowned one first.
        bench: Solves the samples.

    Returns:
        What `antennaopt tolerance --json` writes of each; empty in a search without samples.

    Raises:
        Interrupted: After a signal.
    """
    tolerance = experiment.tolerance
    if tolerance is None or not tolerance.samples or not tolerance.final_samples:
        return []
    found = []
    drawing = tolerance.final_samples, experiment.seed
    chosen = list(finalists)[:FINALISTS]
    for one in chosen:
        known = _computed(run, one.individual, drawing, tolerance.to_dict()["of"])
        if known is None:
            if not found:
                many = f"each of the {len(chosen)} best antennas" if len(chosen) > 1 else "the best antenna"
                bench.told.note(f"yield: solving {drawing[0]} fresh samples of {many}")
            known = study_of(run, experiment, one.individual, one.design, drawing, bench).to_dict()
        found.append(known)
    return found


def _computed(run: Path, individual: str, drawing: tuple[int, int], of: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the yield that was computed before with the same samples; None where there is none."""
    with suppress(OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        known = json.loads((run / FOLDER / f"{individual}.json").read_bytes())
        unlike = (known["samples"], known["seed"]) != drawing or known["tolerance"] != json.loads(json.dumps(of))
        lost = known["yield"]["judged"] < drawing[0]
        return None if unlike or lost or not isinstance(known["yield"]["text"], str) else known
    return None


def yield_lines(yields: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line an antenna: its yield by fresh samples, next to the estimate from inside the search."""
    return [f"yield of {one['individual']}: {yield_text(one)}" for one in yields]


def yield_text(one: Mapping[str, Any]) -> str:
    """Return a yield in words: `83.4 % (95 % interval 81.7 to 84.9 %) of 1000 fresh samples; in the search ...`."""
    inside = one.get("in_the_search")
    text = f"{one['yield']['text']} of {one['yield']['judged']} fresh samples"
    if inside is None:
        return f"{text}; the search took no samples of it"
    return f"{text}; in the search {100 * inside['share']:.0f} % of {inside['samples']} (optimistic)"


def yields_in(run: Path) -> list[dict[str, Any]]:
    """Return all yields that were computed of a run's antennas, by the end of the run or by `antennaopt tolerance`."""
    found = []
    for path in sorted((run / FOLDER).glob("g*.json")):
        with suppress(OSError, ValueError, RecursionError):
            found.append(json.loads(path.read_bytes()))
    return found
