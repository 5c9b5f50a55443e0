"""Searches with samples: what they rank by, what they cost, that they repeat and resume to the bit, and what follows.

The bowl of `cheap_lens` has 30 dBi at radii of 12, 13, 14, 15 mm, and 1/20 dB less a square millimetre of deviation.
"""

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "faults"))
import bits
import cheap_lens

import antennaopt as ao
from antennaopt.cli.tables import antennas_line, outcome_lines, seeds_lines
from antennaopt.errors import Interrupted
from antennaopt.experiment import Experiment
from antennaopt.report.tolerance import yields_of
from antennaopt.run.progress import Progress
from antennaopt.run.start import resume, run
from antennaopt.search.perturbations import AFTERWARDS, IN_A_SEARCH, deviations
from antennaopt.search.robust import Aim

SAMPLES, POPULATION = 20, 24
LEVEL = 29.0
OF = {"lens.radii": {"sigma": "1 mm"}}
RADII = [f"lens_radii_{place}_mm" for place in range(4)]


def experiment_of(aim="yield", *, samples=SAMPLES, final=0, algorithm="ga", generations=4, **more):
    return Experiment.parse({
        **cheap_lens.EXPERIMENT,
        "evolution": {"algorithm": algorithm, "population": POPULATION, "generations": generations},
        "objective": [{"metric": "directivity_dbi", "at_least": LEVEL}],
        "tolerance": {"samples": samples, "aim": aim, "final_samples": final, "of": OF},
        **more,
    })  # fmt: skip


def carried_out(root, *args, evaluate=cheap_lens.bowl, progress=None, **kwargs):
    plan = {**cheap_lens.PLAN, "sleep_s": 0.0}
    how = {"farm": cheap_lens.serial, "report": False, "evaluate": evaluate, "now": cheap_lens.NOW}
    return run(experiment_of(*args, **kwargs), root=root, plan=plan, progress=progress, **how)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return carried_out(tmp_path_factory.mktemp("whole"), final=100)


def tables(folder):
    return pd.read_parquet(folder / "evals"), ao.open_run(folder).samples


def test_a_candidate_costs_less_than_eight_solves(whole):
    rows, made = tables(whole.folder)
    assert 1.0 + len(made) / len(rows) <= 8.0
    assert rows["samples"].sum() == len(made)
    for _, one in rows.groupby("generation"):
        meets = one["nominal_fitness"] == 0.0
        assert (one.loc[meets, "samples"] >= 2).all()
        assert (one.loc[~meets, "samples"] > 0).sum() <= 2
        assert (one["samples"] == SAMPLES).sum() >= (2 if meets.any() else 0)
    assert (rows["samples"] > 0).any()


def test_every_sample_is_a_row_of_the_same_deviations(whole):
    rows, made = tables(whole.folder)
    radii = made[RADII].to_numpy() - rows.set_index("individual").loc[made["individual"], RADII].to_numpy()
    drawn = 1e3 * deviations(experiment_of().tolerance, SAMPLES, cheap_lens.EXPERIMENT["seed"], stream=IN_A_SEARCH)
    assert radii == pytest.approx(drawn[made["sample"] - 1], abs=1e-9)
    loss = ((made[RADII].to_numpy() - [12.0, 13.0, 14.0, 15.0]) ** 2).sum(axis=1) / 20.0
    assert made["directivity_dbi_30000mhz"].to_numpy() == pytest.approx(30.0 - loss)
    assert (made["met"] == (made["directivity_dbi_30000mhz"] >= LEVEL)).all()
    assert not made.duplicated(["individual", "sample"]).any()


@pytest.mark.parametrize("aim", ["yield", "mean", "worst", {"quantile": 0.9}])
def test_fitness_is_that_of_the_samples(tmp_path, aim):
    """Exactly, of those with all of their samples; and those that stopped before come after the better half of them."""
    folder = carried_out(tmp_path, aim, generations=2).folder
    rows, made = tables(folder)
    kind, quantile = ("quantile", aim["quantile"]) if isinstance(aim, dict) else (aim, None)
    of = {
        name: list(zip(one["fitness"], one["met"], strict=True))
        for name, one in made.sort_values("sample").groupby("individual")
    }
    for _, born in rows.groupby("generation"):
        done = born[born["samples"] == SAMPLES]
        for one in done.itertuples():
            assert one.fitness == Aim(kind, SAMPLES, quantile).value(of[one.individual])
            assert one.sample_yield == np.mean([met for _, met in of[one.individual]])
        stopped = born[born["samples"] < SAMPLES]
        assert (stopped["fitness"] >= done["fitness"].nsmallest((len(done) + 1) // 2).max() - 1e-9).all()
    expected = np.maximum(LEVEL - rows["directivity_dbi_30000mhz"], 0.0)
    assert rows["nominal_fitness"].to_numpy() == pytest.approx(expected.to_numpy())


def test_with_samples_a_search_goes_for_the_yield(tmp_path):
    """The bowl's best yield is at its centre; a search without samples stops where the goal is just met."""
    blind = carried_out(tmp_path / "blind", samples=0, generations=25)
    seeing = carried_out(tmp_path / "seeing", generations=25)
    off = [
        sum((1e3 * one.best.design[f"lens.radii.{place}"] - 12.0 - place) ** 2 for place in range(4))
        for one in (blind, seeing)
    ]
    assert (blind.best.fitness, seeing.best.fitness) == (0.0, 0.0)
    assert off[1] < 0.6 * off[0]


def test_fresh_samples_after_the_search(whole):
    """Of another stream; next to the estimate from inside, in the summary, the report and Python."""
    rows, _ = tables(whole.folder)
    assert len(whole.yields) == 3
    best = whole.yields[0]
    row = rows.set_index("individual").loc[whole.best.individual]
    assert best["individual"] == whole.best.individual
    assert best["in_the_search"] == {"share": row["sample_yield"], "samples": row["samples"]}
    assert best["yield"]["judged"] == 100
    fresh = pd.read_parquet(whole.folder / "tolerance" / f"{best['individual']}.parquet")
    drawn = 1e3 * deviations(experiment_of().tolerance, 100, cheap_lens.EXPERIMENT["seed"], stream=AFTERWARDS)
    assert fresh[RADII].to_numpy()[1:] - fresh[RADII].to_numpy()[0] == pytest.approx(drawn, abs=1e-9)
    lines = (line.replace("\n", " ") for line in outcome_lines(whole))
    (line,) = (line for line in lines if line.startswith(f"yield of {best['individual']}:"))
    assert best["yield"]["text"] in line
    assert f"in the search {100 * row['sample_yield']:.0f} % of {row['samples']} (optimistic)" in line
    assert [one["individual"] for one in ao.open_run(whole.folder).yields] == sorted(
        one["individual"] for one in whole.yields
    )
    titles = [one["title"] for one in yields_of(whole.folder)]
    shown = f"in the search {100 * row['sample_yield']:.0f} % of {row['samples']}"
    assert sum(title.endswith(shown) for title in titles if title.startswith(best["individual"])) == 1


class Interrupting(Progress):
    """Raises as Ctrl-C does, at one antenna of the run."""

    def __init__(self, at):
        self.left = at

    def evaluated(self, outcome=None):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("at", [5, POPULATION + 3, 120])
def test_interrupted_anywhere_it_is_resumed_to_the_same_bits(tmp_path, whole, at):
    with pytest.raises(Interrupted):
        carried_out(tmp_path, progress=Interrupting(at))
    (folder,) = (tmp_path / "cheap_lens").iterdir()
    solved = []

    def counting(family, designs, *args, **kwargs):
        solved.extend(designs)
        return cheap_lens.bowl(family, designs, *args, **kwargs)

    resume(folder, evaluate=counting, farm=cheap_lens.serial, report=False)
    bits.assert_equal(folder, whole.folder)
    rows, made = tables(folder)
    assert len(solved) <= len(rows) + len(made) - at + 1


@pytest.mark.parametrize(
    ("kinds", "how"),
    [(("samples",), "gone"), (("samples",), "torn"), (("evals",), "gone"), (("evals", "patterns", "samples"), "gone")],
)
def test_lost_files_are_repaired_to_the_same_bits(tmp_path, whole, kinds, how):
    folder = Path(shutil.copytree(whole.folder, tmp_path / whole.folder.name))
    for kind in kinds:
        file = folder / kind / "gen-000002.parquet"
        file.unlink() if how == "gone" else file.write_bytes(file.read_bytes()[:1000])
    resume(folder, evaluate=cheap_lens.bowl, farm=cheap_lens.serial, report=False, repair=True)
    bits.assert_equal(folder, whole.folder)


def test_equal_designs_share_their_samples(tmp_path):
    """Of a choice between few values most candidates are copies."""
    lens = {
        **cheap_lens.EXPERIMENT["antenna"]["lens"],
        "radii": [{"choices": ["12 mm", "13 mm"]}, "13 mm", "14 mm", "15 mm"],
    }
    antenna = {**cheap_lens.EXPERIMENT["antenna"], "lens": lens}
    of = {"tolerance": {"samples": 4, "final_samples": 0, "of": {"lens.radii.1": {"sigma": "0.3 mm"}}}}
    folder = carried_out(tmp_path, generations=1, antenna=antenna, **of).folder
    rows, made = tables(folder)
    assert len(made) == 8
    assert (rows["samples"] == 0).sum() == POPULATION - 2
    assert rows.groupby("lens_radii_0_mm")["fitness"].nunique().tolist() == [1, 1]


def sometimes(status, one_in=4):
    def evaluate(family, designs, plan, **kwargs):
        found = cheap_lens.bowl(family, designs, plan, **kwargs)
        strikes = [round(1e9 * design["lens.radii.0"]) % one_in == 0 for design in designs]
        return [
            {"status": status, "error": "given up"} if hit else one for one, hit in zip(found, strikes, strict=True)
        ]

    return evaluate


def test_samples_that_cannot_be_solved_miss_and_those_that_the_farm_lost_do_not_count(tmp_path):
    for status in ("diverged", "lost"):
        folder = carried_out(tmp_path / status, "mean", generations=1, evaluate=sometimes(status)).folder
        rows, made = tables(folder)
        assert (made["status"] == status).sum() > 5
        hit = made[made["status"] == status]
        assert hit["met"].isna().all() if status == "lost" else (hit["met"] == False).all()  # noqa: E712
        done = rows[rows["samples"] == SAMPLES].iloc[0]
        its = made[made["individual"] == done["individual"]]
        judged = its[its["status"] == "ok"] if status == "lost" else its
        assert done["sample_yield"] == judged["met"].astype(bool).mean()


@pytest.mark.parametrize("algorithm", ["de", "cmaes", "random"])
def test_other_algorithms_take_samples_too(tmp_path, algorithm):
    first, second = (carried_out(tmp_path / name, algorithm=algorithm, generations=2) for name in ("a", "b"))
    bits.assert_equal(first.folder, second.folder)
    rows, made = tables(first.folder)
    assert len(made) > len(rows)
    state = json.loads(sorted((first.folder / "checkpoint").glob("*.json"))[-1].read_text())["payload"]["state"]
    assert {one["fitness"] for one in state["evolution"]["population"]} <= {*rows["fitness"]}


def test_samples_that_a_resume_adds_after_the_search(tmp_path):
    folder = carried_out(tmp_path, generations=2).folder
    assert ao.open_run(folder).yields == []
    data = json.loads((folder / "resolved.json").read_text())
    assert data["tolerance"]["final_samples"] == 0
    (folder / "resolved.json").write_text(json.dumps(data | {"tolerance": data["tolerance"] | {"final_samples": 30}}))
    summary = resume(folder, evaluate=cheap_lens.bowl, farm=cheap_lens.serial, report=False)
    assert [one["samples"] for one in summary.yields] == [30] * 3
    assert len(ao.open_run(folder).yields) == 3


def test_several_seeds_have_the_yields_of_their_best(whole):
    """The table had the goals that the design itself meets, alone."""
    (best,) = [one for one in whole.yields if one["individual"] == whole.best.individual]
    bare = dataclasses.replace(whole, yields=[])
    head, _, *lines = seeds_lines({3: whole, 4: bare}, 2)[1].splitlines()
    assert " yield " in head
    assert best["yield"]["text"] in lines[0] and " %" not in lines[1]
    assert "yield" not in "\n".join(seeds_lines({3: bare}, 1))


def test_the_account_of_a_run_counts_samples(whole):
    rows, made = tables(whole.folder)
    assert whole.samples == len(made)
    assert whole.evaluations == (~rows["cached"]).sum()
    assert f"{len(rows)} antennas solved ({len(rows)} ok), and {len(made)} samples of them, in " in antennas_line(whole)
