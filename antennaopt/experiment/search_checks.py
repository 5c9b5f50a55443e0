"""Checks of a file's entries about its search against each other, and its first designs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from antennaopt.experiment.cluster import check_cluster
from antennaopt.experiment.fields import Range, refuse
from antennaopt.families import parameter_of
from antennaopt.quantities import LENGTH, format_quantity
from antennaopt.settings import ALGORITHMS

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment
    from antennaopt.experiment.search import Evolution

FEWEST_GENERATIONS = 4
"""Of a search that is polished: two of the search, two of the local one."""


def can_polish(experiment: Experiment) -> bool:
    """Return whether a search by one algorithm of generations, on one lattice, can end with a local search."""
    is_sampled = experiment.tolerance is not None and experiment.tolerance.samples
    has_real = any(gene.kind == "real" for gene in experiment.genes)
    is_plain = experiment.fidelity is None and not is_sampled
    return is_plain and has_real and experiment.evolution.generations >= FEWEST_GENERATIONS


def _check_polish(experiment: Experiment) -> None:
    """Refuse a local search where there is no single best antenna, no generation, or nothing to move by little."""
    name, generations = experiment.evolution.algorithm, experiment.evolution.generations
    if ALGORITHMS[name].front or name == "steady_state":
        why = "which searches for a front" if ALGORITHMS[name].front else "which has no generations"
        refuse(f'evolution.polish does not go with evolution.algorithm = "{name}", {why}; use "ga" or remove it')
    if experiment.tolerance is not None and experiment.tolerance.samples:
        refuse("evolution.polish compares designs, and tolerance.samples yields; remove one of the two")
    if experiment.genes and not any(gene.kind == "real" for gene in experiment.genes):
        refuse("evolution.polish moves real numbers, and all genes are whole numbers or choices; remove it")
    if generations < FEWEST_GENERATIONS:
        refuse(
            f"evolution.generations = {generations} leaves evolution.polish nothing "
            f"(must be >= {FEWEST_GENERATIONS}); raise it"
        )


def _check_restart(evolution: Evolution) -> None:
    """Refuse new starts where there is nothing to count, and those that never come."""
    name, after, stagnation = evolution.algorithm, evolution.restart_after, evolution.stop.stagnation
    if after is None:
        return
    if not ALGORITHMS[name].restarts:
        others = '", "'.join(other for other, one in ALGORITHMS.items() if one.restarts)
        refuse(f'evolution.restart_after does not go with evolution.algorithm = "{name}" (only "{others}"); remove it')
    if stagnation is not None and stagnation <= after:
        refuse(
            f"evolution.restart_after = {after} never comes: evolution.stop.stagnation = {stagnation} ends the run "
            "first; raise stop.stagnation or remove it"
        )


def _check_overlap(experiment: Experiment) -> None:
    """Refuse overlapping generations where the next one is not certain before this one is complete."""
    evolution, tolerance = experiment.evolution, experiment.tolerance
    if evolution.algorithm != "ga":
        refuse(f'evolution.overlap goes with "ga" alone, and this search is by "{evolution.algorithm}"; remove it')
    others = {
        "evolution.polish": evolution.polish,
        f"evolution.restart_after = {evolution.restart_after}": evolution.restart_after is not None,
        "fidelity": experiment.fidelity is not None,
        "tolerance.samples": tolerance is not None and tolerance.samples > 0,
    }
    for name in (name for name, given in others.items() if given):
        refuse(f"evolution.overlap and {name} exclude each other: what is bred next is not known early; remove one")


def restart_warnings(evolution: Evolution) -> Iterator[str]:
    """Yield a warning where a run ends before the first new start: one comes in generation `restart_after` + 2."""
    after, last = evolution.restart_after, evolution.generations - 2
    if after is not None and after > last:
        most = f" (must be <= {last}); lower it or" if last >= 1 else ";"
        yield (
            f"evolution.restart_after = {after} never comes in evolution.generations = {evolution.generations}{most} "
            "remove it"
        )


def check_search(experiment: Experiment) -> None:
    """Refuse settings of the search that exclude each other, and a cluster that cannot carry it out.

    Raises:
        ConfigurationError: One line.
    """
    evolution, cluster = experiment.evolution, experiment.cluster
    if evolution.polish:
        _check_polish(experiment)
    _check_restart(evolution)
    if evolution.overlap:
        _check_overlap(experiment)
    if evolution.elites >= evolution.population:
        refuse(
            f"evolution.elites = {evolution.elites} leaves no room for children "
            f"(must be < evolution.population = {evolution.population}); use fewer elites or a larger population"
        )
    if evolution.tournament_size > evolution.population:
        refuse(
            f"evolution.tournament_size = {evolution.tournament_size} is larger than the population "
            f"(must be <= evolution.population = {evolution.population}); lower it or enlarge the population"
        )
    if len(evolution.start) > evolution.population:
        refuse(
            f"evolution.start plants {len(evolution.start)} designs "
            f"(must be <= evolution.population = {evolution.population}); plant fewer or enlarge the population"
        )
    check_cluster(cluster)


def check_start(experiment: Experiment) -> None:
    """Refuse planted designs that are not within the genes' ranges.

    Raises:
        ConfigurationError: One line.
    """
    genes = {name: value for name, value in experiment.antenna.parameters() if isinstance(value, Range)}
    for place, planted in enumerate(experiment.evolution.start):
        for name, value in planted.items():
            if name not in genes:
                refuse(
                    f"evolution.start.{place}.{name} is not a gene; remove it "
                    f"(genes: {', '.join(genes) if genes else 'none'})"
                )
            _check_planted(f"evolution.start.{place}.{name}", name, value, genes[name])


def _check_planted(where: str, name: str, value: float, gene: Range) -> None:
    parameter = parameter_of(name)
    is_length = parameter is None or parameter.dimension == "length"

    def show(x: float, digits: int = 6) -> str:
        return format_quantity(x, LENGTH, digits=digits) if is_length else f"{x:.{digits}g}"

    if gene.kind == "choice" and value not in gene.choices:
        refuse(f"{where} = {show(value)} is none of the gene's choices ({', '.join(show(x) for x in gene.choices)})")
    slack = 1e-9 * gene.high
    if not gene.low - slack <= value <= gene.high + slack:
        digits = next((n for n in (6, 9, 12) if show(value, n) not in (show(gene.low, n), show(gene.high, n))), 17)
        refuse(
            f"{where} = {show(value, digits)} lies outside the gene's range ({show(gene.low)} to {show(gene.high)}); "
            "widen the range or change the design"
        )
    if gene.kind == "integer" and abs(value - round(value)) > slack:
        refuse(
            f"{where} = {show(value)} is no whole number, as the gene's values are ({show(math.ceil(gene.low))} to "
            f"{show(math.floor(gene.high))}); round it"
        )
