"""A new run from an old one's population: other physics, another search, what not; the old run is only read.

What was solved for the old run is in the evaluation cache under the digest of its cells and of all else that decides an
outcome. So a fork that solves the same thing finds it there, and one that does not solves anew: there is no other way
for an outcome to pass from one run to the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError, ResumeRefusedError
from antennaopt.run.continuation import MOST_SHOWN, changed_experiment, differences, experiment_of, of_this_run
from antennaopt.run.new_search import search_of
from antennaopt.search import Evolution, Gene, Scored, SteadyState, decode, encode
from antennaopt.store import RunFolder
from antennaopt.store.checkpoint import digest

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

FILE = "parents.json"

Genome = tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Ancestry:
    """Where a forked run's first generation is from; kept in its `parents.json`.

    Attributes:
        run: Id of the old run.
        generation: Generations that it had done.
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
        """Say for people what is taken over into a population of some size."""
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
        overrides: Changes to anything, `a.b=v`, beside those in the folder's `experiment.toml`.

    Raises:
        ResumeRefusedError: No run folder, damaged, before its first checkpoint, or without a gene in common.
    """
    folder = RunFolder.open(path)
    original = experiment_of(folder)
    experiment = changed_experiment(folder, overrides) or original
    if not any(one.replace(" ", "").startswith("name=") for one in overrides):
        experiment = experiment.changed(name=original.name)
    generation, population = _population(folder, search_of(original))
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
        differences=tuple(differences(original.resolved(), experiment.resolved(), budget=True)),
    )
    return Fork(
        experiment=experiment,
        source=folder.source,
        overrides=(*folder.manifest.get("overrides", ()), *overrides),
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


def _population(folder: RunFolder, search: Evolution | SteadyState) -> tuple[int, list[Scored]]:
    """Return how many generations a run has done, and its population, the best first."""
    checkpoint = folder.load_checkpoint()
    if checkpoint is not None:
        with of_this_run(checkpoint):
            search.restore(checkpoint.state["evolution"])
    if not search.population:
        raise ResumeRefusedError(f"{folder.path} has no population yet: no generation is done; resume it, or run anew")
    return search.generation, sorted(search.population, key=lambda one: one.rank)


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
