"""A first design from the closed form of a family: `start = "balanis"` of [evolution]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.constants import c

from antennaopt.experiment.fields import refuse
from antennaopt.experiment.spatial import closed_form_in_space
from antennaopt.families import NAMED_RULES, RULES
from antennaopt.families.start import Fixed
from antennaopt.families.start import Gene as Ranged

if TYPE_CHECKING:
    from antennaopt.experiment.experiment import Experiment, Gene

AUTHORS = {
    "balanis": "conical_horn",
    "granet": "corrugated_horn",
    "potter": "dual_mode_horn",
    "zucker": "dielectric_rod",
}
"""Closed forms by their author, each of one family."""

WORDS = ("closed_form", *AUTHORS)
"""What `start` may be in place of designs; the first one is that of any family."""

_GAINS = ("gain_dbi", "realized_gain_dbi", "directivity_dbi")


def closed_form_of(experiment: Experiment, word: str) -> dict[str, float]:
    """Return the design of a family's closed form for the file's gain and design frequency, gene by gene, SI.

    A value outside a gene's range is replaced by the nearest end. Genes that the closed form leaves out are left out.

    Args:
        experiment: With ranges and goals.
        word: One of `WORDS`.

    Raises:
        ConfigurationError: The word is unknown or another family's, the family has no closed form, no goal says what
            gain, or no gene is in it.
    """
    if word not in WORDS:
        refuse(f'evolution.start = "{word}" is no closed form; use one of {", ".join(WORDS)}, or a list of designs')
    if experiment.kind.spatial is not None:
        return closed_form_in_space(experiment, word)
    family = experiment.family
    author = next((name for name, one in AUTHORS.items() if one == family), "closed_form")
    if family not in RULES:
        refuse(f'evolution.start = "{word}": {family} has no closed form; write designs, or leave it out')
    if word not in ("closed_form", author):
        refuse(f'evolution.start = "{word}" is no closed form of {family}; use "{author}"')
    gains = [goal.at_least for goal in experiment.objectives if goal.metric in _GAINS]
    levels = [one for one in gains if isinstance(one, float)]
    if not levels:
        refuse(
            f'evolution.start = "{word}" needs a gain; add an [[objective]] with metric = "gain_dbi" and at_least, or '
            "write designs"
        )
    rule, lam = NAMED_RULES.get(word, RULES[family]), c / experiment.solver.design_frequency
    gain = min(max(*levels, rule.lowest), rule.highest)
    found: dict[str, float] = {}
    for entry in rule.make(10 ** (gain / 10)).entries:
        genes = [one for one in experiment.genes if one.name == entry.name or one.name.startswith(f"{entry.name}.")]
        for gene in genes:
            value = _value(experiment, gene, entry)
            if value is not None:
                found[gene.name] = _nearest(gene, value * lam if entry.unit == "lam" else value)
    if not found:
        refuse(f'evolution.start = "{word}" gives none of the genes a value; write designs, or leave it out')
    return found


def _value(experiment: Experiment, gene: Gene, entry: Ranged | Fixed) -> float | None:
    """Return a closed form's value of a gene, in its unit.

    None for a word that the parameter has not, and for a section of a horn where the closed form has one of the whole.
    """
    value = entry.value if isinstance(entry, Fixed) else entry.best
    if gene.name != entry.name and not isinstance(value, tuple):
        return None
    if isinstance(value, str):
        choices = experiment.kind.parameter(gene.name).choices
        return float(choices.index(value)) if value in choices else None
    if not isinstance(value, tuple):
        return float(value)
    names = [name for name, _ in experiment.antenna.parameters() if name.startswith(f"{entry.name}.")]
    place = names.index(gene.name) / max(len(names) - 1, 1)  # lists of other lengths: at the same share of the list
    return float(np.interp(place, np.linspace(0.0, 1.0, len(value)), value))


def _nearest(gene: Gene, value: float) -> float:
    if gene.kind == "choice":
        return min(gene.choices, key=lambda one: abs(one - value))
    inside = min(max(value, gene.low), gene.high)
    return float(min(max(round(inside), np.ceil(gene.low)), np.floor(gene.high))) if gene.kind == "integer" else inside
