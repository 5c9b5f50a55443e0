"""Genomes: vectors in [0, 1] and the typed decoder that turns them into SI values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from antennaopt.errors import ConfigurationError


class Gene(Protocol):
    """What the decoder reads of a gene; the experiment file's genes have it.

    Attributes:
        name: Dotted name of the design parameter.
        low: Smallest value, SI.
        high: Largest value, SI.
        kind: `real`, `integer` or `choice`.
        choices: The values of a `choice` gene, SI.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def choices(self) -> Sequence[float]: ...  # noqa: D102


def decode(genes: Sequence[Gene], genome: Sequence[float]) -> dict[str, float]:
    """Turn a genome into design values.

    Args:
        genes: The experiment's genes, in order.
        genome: One number in [0, 1] a gene.

    Returns:
        SI values by name; each lies in its gene's range, ends included.

    Raises:
        ValueError: The genome has another length, or a gene is not a number in [0, 1].
    """
    if len(genome) != len(genes):
        raise ValueError(f"genome has {len(genome)} genes; the experiment has {len(genes)}")
    return {gene.name: _decode(gene, float(x)) for gene, x in zip(genes, genome, strict=True)}


def encode(genes: Sequence[Gene], values: Mapping[str, float]) -> dict[int, float]:
    """Turn known design values into genes: the inverse of `decode`, for designs to plant.

    Args:
        genes: The experiment's genes, in order.
        values: SI values by name; genes left out are left open.

    Returns:
        Gene value in [0, 1] by index of the gene, for those that `values` names.

    Raises:
        ConfigurationError: A name is no gene, or a value lies outside its gene's range.
    """
    names = {gene.name: index for index, gene in enumerate(genes)}
    encoded = {}
    for name, value in values.items():
        if name not in names:
            raise ConfigurationError(
                f"evolution.start plants {name!r}, which is not a gene; the genes are {', '.join(names) or 'none'}"
            )
        encoded[names[name]] = _encode(genes[names[name]], float(value))
    return encoded


def recorded(genome: Iterable[Any]) -> tuple[float, ...]:
    """Return a genome as a checkpoint has it.

    Raises:
        ValueError: A gene is no number in [0, 1].
    """
    genes = tuple(float(gene) for gene in genome)
    for place, gene in enumerate(genes):
        if not 0.0 <= gene <= 1.0:
            raise ValueError(f"gene {place} = {gene} lies outside [0, 1]")
    return genes


def design_key(values: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    """Return a hashable key that two genomes share exactly when they stand for the same antenna."""
    return tuple(sorted((name, float(value)) for name, value in values.items()))


def _decode(gene: Gene, x: float) -> float:
    if not 0.0 <= x <= 1.0:
        raise ValueError(f"gene {gene.name} = {x} lies outside [0, 1]")
    if gene.kind == "choice":
        return float(gene.choices[min(int(x * len(gene.choices)), len(gene.choices) - 1)])
    if gene.kind == "integer":
        low, high = math.ceil(gene.low), math.floor(gene.high)
        return float(min(low + int(x * (high - low + 1)), high))
    # Weighted ends, not low + x (high - low): exact at both ends; the clamp holds against a rounded last bit.
    low, high = gene.low, gene.high
    value = (1.0 - x) * low + x * high
    return low if value < low else high if value > high else value


def _encode(gene: Gene, value: float) -> float:
    if gene.kind == "choice":
        if value not in gene.choices:
            raise ConfigurationError(f"evolution.start: {gene.name} = {value:g} is none of {list(gene.choices)}")
        return (list(gene.choices).index(value) + 0.5) / len(gene.choices)
    # A planted value was read from text, as the bounds were: let it miss them by rounding only.
    slack = 1e-9 * max(abs(gene.low), abs(gene.high))
    if not gene.low - slack <= value <= gene.high + slack:
        raise ConfigurationError(
            f"evolution.start: {gene.name} = {value:.12g} lies outside its range {gene.low:g} to {gene.high:g} (SI); "
            "widen the range or change the design"
        )
    if gene.kind == "integer":
        low, high = math.ceil(gene.low), math.floor(gene.high)
        if abs(value - round(value)) > slack:
            raise ConfigurationError(
                f"evolution.start: {gene.name} = {value:.12g} is no whole number ({low} to {high} are); round it"
            )
        return (round(value) - low + 0.5) / (high - low + 1)
    if gene.high == gene.low:
        return 0.5
    return min(max((value - gene.low) / (gene.high - gene.low), 0.0), 1.0)
