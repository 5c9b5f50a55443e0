"""What a run lets its workers prepare before their first batches, where they have devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from antennaopt.families import stack
from antennaopt.farm.interface import Farm
from antennaopt.run.planning import halved_plan
from antennaopt.search import decode
from antennaopt.solve.rehearsal import begin

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment


def rehearse(experiment: Experiment, farm: Farm, plan: Mapping[str, Any], *, known: bool) -> None:
    """Let workers with devices prepare for a study's antennas, and then for its certificates; does not wait for them.

    Args:
        experiment: From `load_experiment`.
        farm: Its workers.
        plan: Of the study.
        known: Whether antennas will be recognised by their cells.
    """
    if farm.device is None or len(farm.backends) > 1 or experiment.kind.spatial is not None:
        return
    genes = experiment.genes
    designs = (experiment.reach()[1], experiment.design(decode(genes, [0.5] * len(genes))))
    design = next((one for one in designs if experiment.kind.refusal(stack([one]))[0] is None), None)
    if design is None:
        return
    farm.ask(begin, experiment.family, design, [plan], known, False)
    if experiment.certificate.mode != "off":
        finer = halved_plan(experiment, plan)  # while the workers prepare
        farm.ask(begin, experiment.family, design, [{**plan, "losses": True}, finer], known, True)
