"""Which experiment a run goes on with: the same physics and search, perhaps another budget or cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError, ResumeRefusedError
from antennaopt.solve.outcome import fault_of
from antennaopt.store import Checkpoint, RunFolder
from antennaopt.store.checkpoint import canonical, digest

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

DECIDING = ("antenna", "solver", "objectives", "seed", "evolution")
BUDGET = ("evolution.generations", "evolution.stop")
MOST_SHOWN = 8


def experiment_to_resume(folder: RunFolder, overrides: Sequence[str] = ()) -> Experiment:
    """Return the experiment of a run, with changes to its budget or cluster taken over.

    Changes come from the folder's `experiment.toml`, when it was edited since, and from `overrides`.

    Args:
        folder: The run.
        overrides: `a.b=v`.

    Raises:
        ResumeRefusedError: Something that decides the numbers has changed; the message lists what.
    """
    original = experiment_of(folder)
    experiment = changed_experiment(folder, overrides) or original
    if experiment.config_hash != original.config_hash:
        listed = list(differences(original.resolved(), experiment.resolved()))
        more = f" and {len(listed) - MOST_SHOWN} more" if len(listed) > MOST_SHOWN else ""
        raise ResumeRefusedError(
            f"the experiment was changed since {folder.run_id} began: {'; '.join(listed[:MOST_SHOWN])}{more}. "
            "Only budget, cluster and report may change; undo it, or start a new run from this one with --fork"
        )
    if experiment is not original:
        experiment = experiment.changed(name=original.name)
        folder.write_text("resolved.json", json.dumps(experiment.resolved(), indent=2, sort_keys=True) + "\n")
    return experiment


def experiment_of(folder: RunFolder) -> Experiment:
    """Return the experiment that a run began with.

    Raises:
        ResumeRefusedError: `resolved.json` is not what was written.
    """
    from antennaopt.experiment import Experiment

    try:
        original = Experiment.from_resolved(folder.resolved)
    except ConfigurationError as error:
        raise ResumeRefusedError(f"{folder.path / 'resolved.json'} was changed since the run began: {error}") from None
    if original.config_hash != folder.config_hash:
        raise ResumeRefusedError(
            f"{folder.path / 'resolved.json'} was changed since the run began (its hash is not that of the manifest); "
            "restore it from a copy"
        )
    return original


def plan_to_resume(folder: RunFolder) -> tuple[dict[str, Any], str]:
    """Return on which lattice a run solves its antennas, and with what backend.

    Raises:
        ResumeRefusedError: The manifest does not say, or its plan is not the one that the run began with.
    """
    plan, backend = folder.manifest.get("plan"), folder.manifest.get("backend")
    damaged = f"{folder.path / 'manifest.json'} is damaged"
    if not (isinstance(plan, dict) and _is_lattice(plan) and isinstance(backend, str)):
        raise ResumeRefusedError(
            f"{damaged}: plan.nr and plan.nz must be whole numbers of cells, plan.cell a length, and backend a name; "
            "restore it from a copy"
        )
    if folder.manifest.get("plan_sha256", plan_digest(plan)) != plan_digest(plan):
        raise ResumeRefusedError(f"{damaged}: its plan is not the one that the run began with; restore it from a copy")
    return plan, backend


def plan_digest(plan: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a plan, by which a change to it is noticed."""
    return digest(canonical(plan))


def _is_lattice(plan: Mapping[str, Any]) -> bool:
    cell = plan.get("cell")
    sides = (plan.get(name) for name in ("nr", "nz"))
    return type(cell) is float and cell > 0.0 and all(type(cells) is int and cells > 0 for cells in sides)


def restore(session: Any, checkpoint: Checkpoint, folder: RunFolder) -> None:
    """Bring a session to where its checkpoint is.

    Raises:
        ResumeRefusedError: Checkpoint and rows do not belong together, or hold what no search can have written.
    """
    with of_this_run(checkpoint):
        held = session.driver.restore(checkpoint.state)
        for one in held:
            fault = fault_of(one.outcome)
            if fault is not None:
                raise ValueError(f"the outcome of {one.candidate.individual} is none that a farm gives: {fault}")
        folder.refuse_unwritable([one.row for one in held])


@contextmanager
def of_this_run(checkpoint: Checkpoint) -> Iterator[None]:
    """Take whatever a checkpoint's state is found to lack, or to have too much, for what it is: a damaged file.

    Raises:
        ResumeRefusedError: Something was found.
    """
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as problem:
        raise ResumeRefusedError(
            f"the checkpoint of generation {checkpoint.generation} is not of this run "
            f"({type(problem).__name__}: {problem}); restore checkpoint/ and evals/ from a copy"
        ) from problem


def differences(before: Any, after: Any, path: str = "", *, budget: bool = False) -> Iterator[str]:
    """Yield `path: before -> after` for each entry that decides the numbers, or with `budget` how many, and differs."""
    if path in BUDGET and not budget:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            if path or key in DECIDING:
                below = f"{path}.{key}" if path else str(key)
                yield from differences(before.get(key), after.get(key), below, budget=budget)
    elif isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{path}.{place}", budget=budget)
    elif before != after:
        yield f"{path}: {json.dumps(before)} -> {json.dumps(after)}"


def changed_experiment(folder: RunFolder, overrides: Sequence[str]) -> Experiment | None:
    """Read the folder's file again when it, or anything in it, may have been changed; None when not.

    Raises:
        ResumeRefusedError: It cannot be read any more.
        ConfigurationError: It can, and `overrides` are what cannot be accepted.
    """
    from antennaopt.experiment import load_experiment

    digest = hashlib.sha256(folder.source.encode()).hexdigest()
    edited = digest != folder.manifest.get("source_sha256")
    if not edited and not overrides:
        return None
    file, before = folder.path / "experiment.toml", tuple(folder.manifest.get("overrides", ()))
    try:
        return load_experiment(file, (*before, *overrides))
    except ConfigurationError as error:
        if overrides and _can_be_read(file, before):
            raise
        raise ResumeRefusedError(f"the experiment was changed and cannot be read any more: {error}") from None


def _can_be_read(file: Path, overrides: Sequence[str]) -> bool:
    from antennaopt.experiment import load_experiment

    try:
        load_experiment(file, overrides)
    except ConfigurationError:
        return False
    return True
