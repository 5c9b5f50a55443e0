"""Resume and fork: the experiment of a continued run, and the data that a new run takes from an old one.

A resumed run has the same physics and search, perhaps another budget or cluster. A fork has other physics, another
search, what not, and begins with the population of the old run, which is only read. What was solved for the old run is
in the evaluation cache under the digest of its cells and of all else that decides an outcome. So a fork that solves the
same thing finds it there, and one that does not solves again: there is no other way for an outcome to pass from one run
to the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError, ResumeRefusedError
from antennaopt.families import worded
from antennaopt.run.levels import search_on
from antennaopt.search import Scored, Search, decode, encode
from antennaopt.solve.outcome import fault_of
from antennaopt.store.checkpoint import Checkpoint, canonical, digest
from antennaopt.store.run_folder import RunFolder

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment, Gene


DECIDING = (
    "antenna",
    "limits",
    "solver",
    "tolerance",
    "fidelity",
    "objectives",
    "constraints",
    "secondary",
    "polarisation",
    "seed",
    "evolution",
)
BUDGET = ("evolution.generations", "evolution.stop", "tolerance.final_samples")
MOST_SHOWN = 8

RESUMED_WITH = "resumed_with"
"""Entry of `resolved.json`: the changes of sessions after the first, and the digest of the file that they change."""


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
        listed = list(differences(worded(original.resolved()), worded(experiment.resolved())))
        more = f" and {len(listed) - MOST_SHOWN} more" if len(listed) > MOST_SHOWN else ""
        raise ResumeRefusedError(
            f"the experiment was changed since {folder.run_id} began: {'; '.join(listed[:MOST_SHOWN])}{more}. "
            "Only budget, cluster and report may change; undo it, or start a new run from this one with --fork"
        )
    if experiment is not original:
        experiment = experiment.changed(name=original.name)
        changes = [one for one in _resumed(folder) if one not in overrides]
        kept = {"source_sha256": digest(folder.source), "overrides": [*changes, *overrides]}
        text = json.dumps(experiment.resolved() | {RESUMED_WITH: kept}, indent=2, sort_keys=True)
        folder.write_text("resolved.json", text + "\n")
    return experiment


def _resumed(folder: RunFolder) -> tuple[str, ...]:
    """Return the changes that earlier sessions were resumed with, none where the file was edited since."""
    kept = folder.resolved.get(RESUMED_WITH)
    if not isinstance(kept, dict) or kept.get("source_sha256") != digest(folder.source):
        return ()
    return tuple(one for one in kept.get("overrides") or () if isinstance(one, str))


def _overrides(folder: RunFolder) -> tuple[str, ...]:
    """Return the changes to its file that a run has by now, `a.b=v`."""
    return (*folder.manifest.get("overrides", ()), *_resumed(folder))


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
    sides = plan.get("shape") or [plan.get(name) for name in ("nr", "nz")]
    if not isinstance(sides, list):
        return False
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
        ConfigurationError: It can, and `overrides` are what cannot be accepted, or have no effect.
    """
    from antennaopt.experiment import load_experiment

    edited = digest(folder.source) != folder.manifest.get("source_sha256")
    if not edited and not overrides:
        return None
    file, before = folder.path / "experiment.toml", _overrides(folder)
    of_a_run = not edited and not _can_be_read(file, before)  # an earlier version ignored settings without effect
    old: list[str] = []
    ignored: list[str] = []
    try:
        if of_a_run and overrides:
            load_experiment(file, before, of_a_run=old)
        experiment = load_experiment(file, (*before, *overrides), of_a_run=of_a_run and ignored)
        new = [one for one in ignored if one not in old]
        if new:
            raise ConfigurationError(f"{file}: {new[0]}")
        return experiment
    except ConfigurationError as error:
        if overrides and _can_be_read(file, before, of_a_run=of_a_run):
            raise
        raise ResumeRefusedError(f"the experiment was changed and cannot be read any more: {error}") from None


def _can_be_read(file: Path, overrides: Sequence[str], *, of_a_run: bool = False) -> bool:
    from antennaopt.experiment import load_experiment

    try:
        load_experiment(file, overrides, of_a_run=of_a_run)
    except ConfigurationError:
        return False
    return True


FILE = "parents.json"

Genome = tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Ancestry:
    """Where a forked run's first generation is from; kept in its `parents.json`.

    Attributes:
        run: Id of the old run.
        generation: Generations that it had completed.
        individuals: Ids of its population, the best first.
        genomes: Their genes as those of the new run; None where a gene is new or its value outside the new range.
        differences: What differs between the two experiments, each as `seed: 3 -> 4`.
    """

    run: str
    generation: int
    individuals: tuple[str, ...]
    genomes: tuple[Genome, ...]
    differences: tuple[str, ...]

    def lines(self, population: int) -> Iterator[str]:
        """Return lines for the user: what a population of some size takes over."""
        taken = min(len(self.individuals), population)
        open_genes = sum(gene is None for genome in self.genomes[:taken] for gene in genome)
        yield (
            f"forked from {self.run} after {self.generation} generations: the best {taken} of its "
            f"{len(self.individuals)} individuals are the first of this run's {population}"
            + (f"; {open_genes} of their genes are drawn anew" if open_genes else "")
        )
        shown, more = self.differences[:MOST_SHOWN], len(self.differences) - MOST_SHOWN
        yield (
            f"it differs in {'; '.join(shown)}{f' and {more} more' if more > 0 else ''}"
            if shown
            else ("it differs in nothing that decides the numbers")
        )


@dataclass(frozen=True, kw_only=True)
class Fork:
    """What `run` takes to begin a fork.

    Attributes:
        experiment: The new one.
        source: Text of its file.
        overrides: What was changed in it, `a.b=v`, the old run's changes first.
        ancestry: Where it is from.
        backend: The old run's.
        root: The folder that the old run's results are in.
    """

    experiment: Experiment
    source: str
    overrides: tuple[str, ...]
    ancestry: Ancestry
    backend: str
    root: Path


def fork_of(path: Path | str, overrides: Sequence[str] = ()) -> Fork:
    """Read what a new run needs of an old one, which stays as it is.

    Args:
        path: The old run's folder; another process may be writing to it.
        overrides: Changes to any entry, `a.b=v`, in addition to those in the folder's `experiment.toml`.

    Raises:
        ResumeRefusedError: No run folder, damaged, before its first checkpoint, or without a gene in common.
    """
    folder = RunFolder.open(path)
    original = experiment_of(folder)
    experiment = changed_experiment(folder, overrides) or original
    if not any(one.replace(" ", "").startswith("name=") for one in overrides):
        experiment = experiment.changed(name=original.name)
    generation, population = _population(folder, search_on(original, folder.manifest))
    genomes = tuple(_carried_over(original.genes, experiment.genes, one.candidate.genome) for one in population)
    if not any(gene is not None for genome in genomes for gene in genome):
        raise ResumeRefusedError(
            f"no gene of {folder.run_id} fits one of the changed experiment: there is nothing to fork; start a new run"
        )
    ancestry = Ancestry(
        run=folder.run_id,
        generation=generation,
        individuals=tuple(one.candidate.individual for one in population),
        genomes=genomes,
        differences=tuple(differences(worded(original.resolved()), worded(experiment.resolved()), budget=True)),
    )
    return Fork(
        experiment=experiment,
        source=folder.source,
        overrides=(*_overrides(folder), *overrides),
        ancestry=ancestry,
        backend=str(folder.manifest.get("backend", "cpu")),
        root=folder.path.resolve().parent.parent,
    )


def written(ancestry: Ancestry | None) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the files, and the entries of the manifest, that a new run's folder has of its ancestry."""
    if ancestry is None:
        return {}, {}
    text = json.dumps(asdict(ancestry), separators=(",", ":")) + "\n"
    about = {"run": ancestry.run, "generation": ancestry.generation, "sha256": digest(text)}
    return {FILE: text}, {"forked_from": about}


def genomes_of(folder: RunFolder) -> list[Genome]:
    """Return what a run's first generation begins with, nothing for one that is no fork.

    Raises:
        ResumeRefusedError: `parents.json` is not what was written.
    """
    about = folder.manifest.get("forked_from")
    if about is None:
        return []
    path = folder.path / FILE
    try:
        text = path.read_text(encoding="utf-8")
        if digest(text) != about["sha256"]:
            raise ValueError("its SHA-256 does not match")
        genomes = [tuple(None if x is None else float(x) for x in genome) for genome in json.loads(text)["genomes"]]
        if not all(x is None or 0.0 <= x <= 1.0 for genome in genomes for x in genome):
            raise ValueError("a gene lies outside [0, 1]")
        return genomes
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        raise ResumeRefusedError(f"{path} is damaged ({problem}); restore it from a copy") from None


def _population(folder: RunFolder, search: Search) -> tuple[int, list[Scored]]:
    """Return how many generations a run has done, and its population, the best first."""
    checkpoint = folder.load_checkpoint()
    if checkpoint is not None:
        with of_this_run(checkpoint):
            search.restore(checkpoint.state["evolution"])
    if not search.population:
        raise ResumeRefusedError(f"{folder.path} has no population yet: no generation is done; resume it, or run anew")
    return search.generation, search.ranking()


def _carried_over(before: Sequence[Gene], after: Sequence[Gene], genome: Sequence[float]) -> Genome:
    """Return the genome that stands for the same values among other genes; of a gene that is the same, to the bit."""
    old = {gene.name: (gene, x) for gene, x in zip(before, genome, strict=True)}
    values = decode(before, genome)
    found: list[float | None] = []
    for gene in after:
        same, x = old.get(gene.name, (None, None))
        if same is not None and _range(same) != _range(gene):
            try:
                (x,) = encode([gene], {gene.name: values[gene.name]}).values()
            except ConfigurationError:
                x = None
        found.append(x)
    return tuple(found)


def _range(gene: Gene) -> tuple[Any, ...]:
    return gene.kind, gene.low, gene.high, tuple(gene.choices or ())
