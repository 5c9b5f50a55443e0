"""A rehearsal leaves nothing to compile or to build for the batches of a study and its certificates."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from antennaopt.experiment import Experiment, load_experiment
from antennaopt.run.planning import halved_plan, plan_for
from antennaopt.run.rehearsal import rehearse as rehearse_run
from antennaopt.run.rehearsal import rehearse_field
from antennaopt.search import decode
from antennaopt.solve import rehearsal
from antennaopt.solve.evaluate import scene_of
from antennaopt.solve.plan import SolverPlan
from antennaopt.solve.rehearsal import Rehearsal
from fdtd.axisymmetric import rehearsal as fields
from fdtd.axisymmetric import simulation
from fdtd.backends import cuda
from fdtd.backends.cuda.dry_device import DryDevice
from fdtd.backends.cuda.stepping import Batch
from fdtd.farfield import axisymmetric as farfield

TOML = """
seed = 7

[antenna]
family = "hemispherical_lens"
feed = { inner_radius = "3.6 mm", outer_radius = "4.0 mm", length = "7.2 mm" }
lens = { permittivity = 2.53, loss_tangent = 6.6e-4, extension = "0.5 mm", radius = { min = "4.2 mm", max = "5.8 mm" } }

[solver]
frequencies = ["30 GHz"]
cell = "0.6 mm"
pml_cells = 6
pml_distance = "3 mm"

[[objective]]
metric = "directivity_dbi"
at_least = 12.0
"""


class Noting(DryDevice):
    """Keeps the texts of each place, and takes what is on the host."""

    arrays = np
    identity = compiler = "dry"

    def __init__(self) -> None:
        super().__init__()
        self.compiled: set[tuple[str, int]] = set()

    def program(self, text: str, place: int = 0) -> Any:
        self.compiled.add((text, place))
        return super().program(text, place)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Noting:
    found = Noting()
    monkeypatch.setattr(cuda, "device", lambda: found)
    farfield._built.cache_clear()
    return found


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    (tmp_path / "lens.toml").write_text(TOML)
    return load_experiment(tmp_path / "lens.toml")


def stepped(experiment: Experiment, plan: dict[str, Any], gene: float, *, losses: bool, device: Noting) -> None:
    """Do what `solve` does before it steps a batch, in the second place."""
    solver = SolverPlan.from_dict(plan)
    design = experiment.design(decode(experiment.genes, [gene]))
    media = simulation.fill(solver.layout, scene_of(solver, experiment.kind, [design] * 3), np)
    box = simulation.field_map_of(solver.layout, media, simulation.Keep(losses=losses))
    problem, _ = simulation.pose(solver.layout, media, box, few=losses)
    name = cuda.choose(problem, solver.precision, device.limits)[0]
    Batch(device, problem, cuda.SCHEMES[name](problem, solver.precision, device.limits), solver.precision, place=1)


@pytest.mark.parametrize("certificates", [False, True])
def test_batches_compile_and_build_nothing(experiment: Experiment, device: Noting, certificates: bool) -> None:
    plan = plan_for(experiment)
    plans = [{**plan, "losses": True}, halved_plan(experiment, plan)] if certificates else [plan]
    design = experiment.reach()[1]
    for one in plans:
        rehearsal.rehearse(Rehearsal(family=experiment.family, designs=[design] * 2, plan=one, known=True))
    texts, tables = set(device.compiled), farfield._built.cache_info().misses
    assert {place for _, place in texts} == {0, 1}
    assert tables == 1 + certificates
    for one in plans:
        for gene in (1.0, 0.5, 0.0):  # narrower lenses too: certificates are of a few antennas
            stepped(experiment, one, gene, losses=certificates, device=device)
        layout = SolverPlan.from_dict(one).layout
        farfield.transform(layout.grid, layout.contour, layout.frequencies, layout.theta_intervals)
    assert device.compiled == texts
    assert farfield._built.cache_info().misses == tables


def test_a_run_lets_its_workers_rehearse_search_and_certificates(
    experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order, in one thread of a worker; without a device nothing is asked."""
    asked: list[Any] = []

    class Farm:
        device: dict[str, Any] | None = None
        backends = ("cuda",)

        def ask(self, question: Any, *arguments: Any) -> list[Any]:
            asked.append(arguments)
            return [question(*arguments)]

    done: list[Any] = []
    over = threading.Event()

    def noted(one: Rehearsal) -> None:
        done.append((one.plan["cell"], one.plan.get("losses", True), one.known, one.fields, one.first))
        if len(done) == 2:
            raise RuntimeError("out of memory")
        if len(done) == 4:
            over.set()

    monkeypatch.setattr(rehearsal, "rehearse", noted)
    farm: Any = Farm()
    plan = plan_for(experiment)
    rehearse_run(experiment, farm, plan, known=True)
    assert asked == []
    farm.device = {"device": "a card"}
    rehearse_run(experiment, farm, plan, known=True)
    rehearse_field(experiment, farm, plan, {"lens.radius": 5e-3})
    assert over.wait(60)
    search, field = (6e-4, False, True, False, True), (6e-4, False, False, True, False)
    assert done == [search, (6e-4, True, True, False, False), (3e-4, True, True, False, False), field]
    assert list(asked[0][0][0].designs) == [experiment.reach()[1]] * 2
    assert list(asked[2][0][0].designs) == [{"lens.radius": 5e-3}]


def test_the_field_of_an_antenna_alone_is_rehearsed(experiment: Experiment, device: Noting) -> None:
    """As it is solved at the end of a run: with its field everywhere, S11 across the band and its losses."""
    plan, kept = plan_for(experiment), []
    design = experiment.reach()[1]
    near_field = fields.near_field
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields, "near_field", lambda *given: kept.append(near_field(*given)))
        rehearsal.rehearse(Rehearsal(family=experiment.family, designs=[design], plan=plan, fields=True))
    assert kept[0]["field"].shape == (1, 3, plan["nz"], plan["nr"])
