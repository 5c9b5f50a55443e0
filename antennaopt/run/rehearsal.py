"""Preparation of workers with devices before their first batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antennaopt.families import stack
from antennaopt.farm.interface import Farm
from antennaopt.run.planning import halved_plan
from antennaopt.search import decode
from antennaopt.solve.rehearsal import Rehearsal, begin

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


def rehearse(experiment: Experiment, farm: Farm, plan: Mapping[str, Any], *, known: bool) -> None:
    """Let workers prepare for a study's antennas, and then for its certificates; does not wait for them.

    Args:
        experiment: From `load_experiment`.
        farm: Its workers.
        plan: Of the study.
        known: Whether antennas will be recognised by their cells.
    """
    if not _prepares(experiment, farm):
        return
    genes = experiment.genes
    designs = (experiment.reach()[1], experiment.design(decode(genes, [0.5] * len(genes))))
    design = next((one for one in designs if experiment.kind.refusal(stack([one]))[0] is None), None)
    if design is None:
        return
    pair = [design, design]
    farm.ask(begin, [Rehearsal(family=experiment.family, designs=pair, plan=plan, known=known, first=True)])
    if experiment.certificate.mode != "off":
        plans = ({**plan, "losses": True}, halved_plan(experiment, plan))  # made while the workers prepare
        farm.ask(begin, [Rehearsal(family=experiment.family, designs=pair, plan=one, known=known) for one in plans])


def rehearse_field(experiment: Experiment, farm: Farm, plan: Mapping[str, Any], design: Mapping[str, float]) -> None:
    """Let workers prepare for a design's field, which is solved after the certificates; does not wait for them.

    Args:
        experiment: From `load_experiment`.
        farm: Its workers.
        plan: Of the study.
        design: Of the best antenna.
    """
    if _prepares(experiment, farm):
        farm.ask(begin, [Rehearsal(family=experiment.family, designs=[design], plan=plan, fields=True)])


def _prepares(experiment: Experiment, farm: Farm) -> bool:
    return farm.device is not None and len(farm.backends) == 1 and experiment.kind.spatial is None
