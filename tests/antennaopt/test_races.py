"""Rounds of samples that overlap: what is certain before a round is over, and that no stored bit depends on it.

The bowl of `cheap_lens` has 30 dBi at radii of 12, 13, 14, 15 mm, and 1/20 dB less a square millimetre of deviation.
"""

import random
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "faults"))
import bits
import cheap_lens
from test_samples_in_searches import experiment_of, tables

from antennaopt.farm.farm import PoolFarm, SerialFarm, half_of_wave
from antennaopt.farm.interface import Pool, Result, Worker
from antennaopt.farm.task import solve_batch
from antennaopt.run.sampling import Sampling
from antennaopt.run.start import run
from antennaopt.search.racing import Race, Taken, beginning
from antennaopt.search.robust import Aim

KINDS = [("yield", None), ("mean", None), ("worst", None), ("quantile", 0.6)]
FEWEST = 2
DEVICE = {"wave": 4, "antennas": 64, "device": "made up", "scheme": "wavefront", "reason": "made up"}


def drawn(order, share, total):
    """Return samples of a candidate: fitness 0 where a goal is met; one in twenty the farm loses."""
    made = []
    for _ in range(total):
        met = order.random() < share
        made.append(None if order.random() < 0.05 else (0.0 if met else order.choice([0.5, 3.0, 700.0]), met))
    return made


def taken(samples, count, back):
    here = [samples[number] for number in range(count) if number in back]
    counted = [one for one in here if one is not None]
    return Taken(counted=counted, lost=len(here) - len(counted), open=count - len(here))


@pytest.mark.parametrize(("kind", "quantile"), KINDS)
@pytest.mark.parametrize(("total", "least"), [(20, 1), (20, 40), (3, 1)])
def test_what_is_certain_comes_true_whatever_the_open_samples_come_to(kind, quantile, total, least):
    """With three samples the place of some is settled after two, so that they are not sampled on."""
    order, early = random.Random(f"{kind}{total}{least}"), 0
    shares = [0.1, 0.3, 0.9] if total == 3 else [0.3, 0.9, 1.0]
    for _ in range(25):
        samples = {f"c{place:02d}": drawn(order, order.choice(shares), total) for place in range(30)}
        designs = {name: (0.0, True) if order.random() < 0.8 else (5.0, False) for name in samples}
        race = Race(Aim(kind, total, quantile), designs, fewest=FEWEST, least=least)
        while not race.over:
            racing, count, promised = race.racing, race.count, []
            coming = [(name, number) for name in racing for number in range(count)]
            order.shuffle(coming)
            back = {name: set() for name in racing}
            for at, (name, number) in enumerate(coming, 1):
                back[name].add(number)
                if at % 7 == 0 or at == len(coming):
                    promised.append(race.certain({one: taken(samples[one], count, back[one]) for one in racing}))
            race.next({name: taken(samples[name], count, back[name]) for name in racing})
            for names, after in promised:
                assert {*names} <= {*race.racing} or (race.over and not names)
                assert after <= race.count
            early += sum(len(names) for names, _ in promised[:-1])
            assert race.over or {*promised[-1][0]} == {*race.racing}, "with all samples back all of it is certain"
        assert race.fitness().keys() == samples.keys()
    assert early > 100


def test_where_a_race_begins():
    """Of a yield: with as many samples as the first round takes however many of the open designs meet all goals."""
    aim = Aim("yield", 20)
    assert beginning(aim, 3, 100, fewest=2, least=264) == 4
    assert beginning(aim, 3, 0, fewest=2, least=264) == 20
    assert beginning(aim, 2, 0, fewest=2, least=8) == 4
    assert beginning(aim, 1, 0, fewest=2, least=8) == 2, "any number of others may tie for the second place"
    assert beginning(Aim("mean", 20), 3, 0, fewest=2, least=264) == 0


class Shuffling(Pool):
    """A worker with a device of four multiprocessors that gives back one of its batches, any one."""

    def __init__(self, task, seed):
        self._task, self._order, self._here = task, random.Random(seed), []
        self.sent = []

    def workers(self):
        return {"device": Worker(backend="cuda", threads=2, device=DEVICE)}

    def submit(self, assignments, plan):
        for one in assignments:
            self._here.append((one, plan))
            self.sent.append((one.batch.keys, {key for other, _ in self._here for key in other.batch.keys}))

    def results(self, timeout_s):
        if not self._here:
            return []
        one, plan = self._here.pop(self._order.randrange(len(self._here)))
        evaluate, family, _ = self._task
        reply = solve_batch(evaluate, family, one.batch.designs, plan, "cpu")
        return [Result(batch=one.batch, address=one.address, reply={**reply, "worker": "driver"})]

    def cancel(self, batches):
        self._here.clear()

    def ask(self, question, *arguments, limit_s=None):
        return []


@pytest.mark.parametrize("aim", ["yield", "mean"])
def test_no_order_of_arrival_changes_a_bit(tmp_path, monkeypatch, aim):
    """Against a farm that never asks for copies of its own accord, so that each round is sent when the last is over.

    That farm does not tell which outcomes came together, so each is taken in alone.
    """

    class Unasked(SerialFarm):
        def run(self, batches, *, more=None, **about):
            yield from super().run(batches, **about)

    plan, pools = {**cheap_lens.PLAN, "sleep_s": 0.0}, []

    def shuffled(seed):
        def opened(experiment, *, plan, backend, scheduler=None, evaluate):
            task = (evaluate, experiment.family, "cuda")
            pools.append(Shuffling(task, seed))
            return PoolFarm(pools[-1], task, plan)

        return opened

    def unasked(experiment, *, plan, backend, scheduler=None, evaluate):
        return nullcontext(Unasked(evaluate, family=experiment.family, plan=plan, backend=backend))

    about = {"evaluate": cheap_lens.bowl, "report": False, "now": cheap_lens.NOW, "plan": plan}
    experiment = experiment_of(aim, cluster={"workers": 2})
    together, take = [], Sampling.take
    monkeypatch.setattr(Sampling, "take", lambda one, landed: together.append(len(landed)) or take(one, landed))
    folders = [
        run(experiment, root=tmp_path / str(place), farm=farm, **about).folder
        for place, farm in enumerate((unasked, shuffled(1), shuffled(2)))
    ]
    assert together.count(1) > 100 and max(together) >= 4
    for folder in folders[1:]:
        bits.assert_equal(folder, folders[0])
    rows, made = tables(folders[0])
    for pool in pools:
        keys = [key for batch, _ in pool.sent for key in batch]
        assert len(keys) == len({*keys}) == (~rows["cached"]).sum() + len(made), "nothing is solved that is not stored"
        along = [batch for batch, here in pool.sent if "-p" in batch[0] and any("-p" not in key for key in here)]
        assert bool(along) == (aim == "yield")
        rounds = [{int(key[-3:]) > 2 for key in here if "-p" in key} for _, here in pool.sent]
        assert {True, False} in rounds, "copies of two rounds were on their way at the same time"


@pytest.mark.parametrize(("wave", "at_once", "half"), [(132, 132, 66), (120, 15, 60), (132, 12, 60), (132, 44, 44)])
def test_half_of_a_wave_leaves_no_pass_of_a_device_half_empty(wave, at_once, half):
    """66 antennas of which 44 are stepped at a time take as long as 88."""
    assert half_of_wave({"wave": wave, "at_once": at_once}) == half
    assert half_of_wave({"wave": wave, "at_once": 1}) == half_of_wave({"wave": wave, "at_once": None}) == wave // 2
    assert half_of_wave({"wave": 1, "at_once": 1}) == 1


def test_a_farm_asks_for_more_where_a_place_is_free_and_nothing_waits():
    """A device that has a batch is asked for whole halves of a wave; after `drain` nothing is asked."""
    task = (cheap_lens.bowl, "shaped_lens", "cuda")
    pool = Shuffling(task, 0)
    farm = PoolFarm(pool, task, {**cheap_lens.PLAN, "sleep_s": 0.0})
    design = {f"lens.radii.{place}": 0.012 + 0.001 * place for place in range(4)}
    asked, left = [], [[("c", design)], [("b", design)]]

    def more(grain):
        asked.append((grain, len(pool.sent)))
        return [left.pop()] if left else []

    found = [key for key, _ in farm.run([[("a", design)]], more=more)]
    assert sorted(found) == ["a", "b", "c"]
    assert asked[0] == (2, 0), "once the batch that was given has a place, and before it is on its way"
    assert asked[-1][0] == 1
    asked.clear()
    for _ in farm.run([[("d", design)], [("e", design)]], more=more):
        farm.drain()
    assert len(asked) == 0
