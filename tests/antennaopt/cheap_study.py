"""A study whose antennas take no time: genes, objectives, a farm and a store in memory, and their driver."""

import json
import random
from types import SimpleNamespace

from made_up_cuts import amplitudes_of

from antennaopt.run.driver import Driver
from antennaopt.run.interfaces import NOT_KEPT, Interfaces
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.search import EvolutionSettings, new_search
from antennaopt.search.objectives import Ranking, build
from antennaopt.solve.cuts import CUTS
from antennaopt.solve.outcome import Outcome

REAL = [SimpleNamespace(name=f"lens.radii.{i}", low=8e-3, high=20e-3, kind="real", choices=()) for i in range(3)]
WHOLE = [SimpleNamespace(name="rings", low=0.0, high=2.0, kind="integer", choices=())]
OBJECTIVES = build([{"metric": "directivity_dbi", "at_least": 20.0}, {"metric": "s11_db", "at_most": -20.0}])


def antenna(design):
    """A bowl in dB instead of Maxwell's equations."""
    miss = sum((1e3 * value - 12.0) ** 2 for value in design.values()) / 10.0
    return {
        "status": "ok",
        "error": None,
        "seconds": 0.5,
        "frequency_hz": [30e9],
        "directivity_dbi": [19.0 - miss],
        "s11_db": [-15.0 - 0.1 * miss],
        "theta_deg": [0.0, 1.0],
        "e_plane": amplitudes_of([[19.0 - miss, 18.0 / 7.0]]),
        "h_plane": amplitudes_of([[19.0 - miss, 17.0]]),
    }


class CheapFarm:
    """Solves at once, in a shuffled order; `fault(individual, design)` may answer instead."""

    worker_count = 2

    def __init__(self, order=0, fault=None):
        self.solved, self._drained = [], False
        self._order, self._fault = random.Random(order), fault

    def ahead(self, population, batch_size="auto"):
        return 0

    def cut(self, jobs, batch_size="auto", sent=0, left=0):
        return [list(jobs[first : first + 2]) for first in range(0, len(jobs), 2)]

    def run(self, batches):
        self._drained = False
        batches = [list(batch) for batch in batches]
        self._order.shuffle(batches)
        for batch in batches:
            if self._drained:
                return
            for individual, design in batch:
                self.solved.append(individual)
                yield individual, (self._fault and self._fault(individual, design)) or antenna(design)

    def drain(self):
        self._drained = True


class MemoryStore:
    """Keeps what a run folder keeps, as JSON text."""

    def __init__(self):
        self.files, self.checkpoints, self.events = {}, [], []

    def write_generation(self, generation, evaluations):
        self.files[generation] = json.dumps(
            [
                {
                    **one.candidate.to_dict(),
                    "outcome": (one.outcome | (self.patterns(one.copy_of) if one.copy_of else {})).to_dict(),
                    "shortfalls": one.shortfalls,
                    "fitness": one.fitness,
                    "cached": one.cached,
                }
                for one in evaluations
            ]
        )

    def rows(self, generations=None):
        last = len(self.files) if generations is None else generations
        return [row for number in range(last) for row in json.loads(self.files[number])]

    def history(self, generations):
        return [(row["individual"], tuple(row["genome"]), row["outcome"]["status"]) for row in self.rows(generations)]

    def recall(self, individuals):
        wanted = set(individuals)
        return {
            row["individual"]: (
                tuple(row["genome"]),
                Outcome.of(row["outcome"]).without(*NOT_KEPT),
            )
            for row in self.rows()
            if row["individual"] in wanted
        }

    def flush(self):
        pass

    def patterns(self, individual):
        row = next(row for row in self.rows() if row["individual"] == individual)
        return {key: row["outcome"][key] for key in CUTS}

    def checkpoint(self, generation, state):
        self.checkpoints.append(json.dumps(state))

    def log(self, event, **fields):
        self.events.append((event, json.dumps(fields)))


def driver(store, farm=None, *, genes=REAL, signals=None, progress=None, objectives=OBJECTIVES, planted=(), **settings):
    settings = EvolutionSettings(**{"population": 8, "generations": 5, "tournament_size": 2, **settings})
    interfaces = Interfaces(
        objectives=objectives,
        design=lambda values: {"feed.inner_radius": 12e-3, **values},
        farm=farm or CheapFarm(),
        store=store,
        progress=progress or Progress(),
        signals=signals or StopSignals(),
        clock=lambda: 0.0,
    )
    return Driver(new_search(settings, genes, 7, order=Ranking.of(objectives), planted=planted), interfaces)
