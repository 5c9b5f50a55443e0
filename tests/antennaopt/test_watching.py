"""A run followed from its log: what events come to, half lines, old logs, the end."""

import json
import threading
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from waiting import wait_until

from antennaopt.cli import main
from antennaopt.cli.status import Log, curve, rendered
from antennaopt.experiment import load_experiment
from antennaopt.farm.dashboard import COLOURS, Figures
from antennaopt.run.live import best_event
from antennaopt.run.memory import Paces, generation_report
from antennaopt.run.progress import LOG_EVERY_S, Bar, GenerationReport, Progress
from antennaopt.run.publisher import EventPublisher
from antennaopt.search.objectives import standings
from antennaopt.solve.evaluate import evaluate
from antennaopt.solve.outcome import Outcome
from antennaopt.solve.plan import plan
from antennaopt.timeline import Timeline

STUDY = Path(__file__).parents[2] / "experiments" / "quickstart.toml"
COARSE = {"frequencies": [30e9], "design_frequency": 30e9, "cells_per_wavelength": 10.0, "precision": "float32"}


def progress(generation, solved, seconds, *, counts=None, busy=None):
    return {"event": "progress", "generation": generation, "to_solve": 10, "solved": solved, "seconds": seconds,
            "counts": counts or {"ok": solved}, "busy": busy or {}, "devices": {"0": "cpu"}}  # fmt: skip


def generation(number, evaluations, best, *, seconds=5.0, generations=4):
    return {
        "event": "generation",
        "generation": number,
        "generations": generations,
        "evaluations": evaluations,
        "best": best,
        "median": 9.0,
        "seconds": seconds,
        "evaluations_per_s": 2.0,
        "individual": "g0000-s001",
    }


def timeline(*events):
    made = Timeline()
    for event in events:
        made.add(event)
    return made


def test_events_come_to_counts_rate_use_and_time_left():
    """16 antennas in 7.5 s, of which worker 0 solved 6 s; 3 generations of 5 s, less 2.5 s, are left."""
    made = timeline(
        progress(0, 4, 2.0, busy={"0": 1.0}),
        progress(0, 10, 5.0, counts={"ok": 8, "undecayed": 2}, busy={"0": 4.0}),
        generation(0, 10, 7.0),
        progress(1, 6, 2.5, busy={"0": 2.0}),
    )
    assert made.evaluations == 16
    assert made.rate == pytest.approx(16 / 7.5)
    assert made.use == {"0": pytest.approx(6.0 / 7.5)}
    assert made.failures == {"undecayed": 2}
    assert made.seconds_left == pytest.approx(3 * 5.0 - 2.5)
    assert [rate for _, rate in made.rates] == pytest.approx([4 / 2.0, 6 / 3.0, 6 / 2.5])
    assert "generation 1 of 4, 16 antennas" in made.headline()


def test_two_words_at_the_same_moment_are_no_rate_of_thousands():
    """A generation's last word came 4 ms after a timed one, and the page's axis went to 2,000 antennas a second."""
    made = timeline(progress(0, 4, 2.0), progress(0, 10, 2.004), progress(1, 5, 1.0))
    assert [seconds for seconds, _ in made.rates] == pytest.approx([2.0, 3.004])
    assert [rate for _, rate in made.rates] == pytest.approx([4 / 2.0, 11 / 1.004])


def test_the_log_of_a_generation_may_come_after_the_next_ones_first_word():
    """Rows are written while the next generation is solved, and the generation is logged after them."""
    made = timeline(progress(0, 10, 5.0), progress(1, 3, 1.0), generation(0, 10, 7.0))
    assert (made.evaluations, made.under_way.solved) == (13, 3)


def test_a_resumed_run_goes_on_and_repeats_its_last_generation():
    made = timeline(generation(0, 10, 7.0), generation(1, 18, 6.0), {"event": "interrupted"})
    assert made.ended == "interrupted"
    for event in ({"event": "resumed"}, generation(1, 18, 6.0), generation(2, 26, 5.0)):
        made.add(event)
    assert made.ended is None
    assert [step.generation for step in made.steps] == [0, 1, 2]


@pytest.mark.parametrize("event", [{}, {"event": "generation"}, {"event": "progress", "generation": "x"},
                                   {"event": "progress", **dict.fromkeys(progress(0, 1, 1.0))},
                                   {"event": "certifying", "certified": None}])  # fmt: skip
def test_events_of_another_kind_are_passed_over(event):
    made = timeline(generation(0, 10, 7.0), event)
    assert made.to_dict() == timeline(generation(0, 10, 7.0)).to_dict()


def test_half_a_line_waits_for_its_end(tmp_path):
    path = tmp_path / "run.jsonl"
    log = Log(path)
    assert log.events() == []
    path.write_text('{"event": "a"}\nnot json\n[1]\n{"event": ')
    assert log.events() == [{"event": "a"}]
    with path.open("a") as file:
        file.write('"b"}\n')
    assert log.events() == [{"event": "b"}]


def test_the_time_left_is_by_the_last_five_generations():
    """The second came from the cache. Cells of another level take another time; without any solved none is known."""
    paces = Paces()
    assert [paces.seconds_each(None, 10, seconds) for seconds in (5.0, 0.1, 3.9)] == pytest.approx([0.5, 0.255, 0.3])
    for _ in range(5):
        last = paces.seconds_each(None, 10, 20.0)
    assert last == pytest.approx(2.0)
    assert paces.seconds_each("0.3 mm", 10, 1.0) == pytest.approx(0.1)
    assert paces.seconds_each("0.2 mm", 0, 1.0) is None


def test_the_report_of_a_generation_has_the_mean_pace():
    """Of 100 antennas 80 are left after ten in 5 s and ten, of the cache, in 0.1 s."""
    one = SimpleNamespace(cached=False, samples=(), fitness=1.0, outcome=SimpleNamespace(ok=True, origin=None))
    settings = SimpleNamespace(most_evaluations=100, generations=10)
    study = SimpleNamespace(best=lambda: None, settings=settings, climb=None, hypervolume=None, evaluations=0)
    paces = Paces()
    for number, seconds in enumerate((5.0, 0.1)):
        study.evaluations += 10
        report = generation_report(study, number, [one] * 10, seconds, paces)
    assert report.seconds_left == pytest.approx(80 * 5.1 / 20)


def test_a_driver_tells_now_and_then_and_at_the_end_of_each_generation():
    logged, shown, now = [], [], [0.0]
    publisher = EventPublisher(
        Progress(), log=lambda event, **more: logged.append((event, more)), show=shown.append, clock=lambda: now[0]
    )
    publisher.generation_started(0, 100)
    for _ in range(100):
        now[0] += 0.1
        publisher.evaluated(Outcome(status="ok", worker="0", device="cpu", seconds=0.08))
    seconds = [event["seconds"] for event in shown if event["event"] == "progress"]
    assert all(0.99 <= after - before <= 1.2 for before, after in pairwise(seconds))
    assert len(logged) == int(10.0 / LOG_EVERY_S) or len(logged) == int(10.0 / LOG_EVERY_S) - 1
    publisher.generation_done(
        GenerationReport(generation=0, generations=2, best=1.0, individual="g0000-s000", median=2.0, solved=100,
                         cached=0, failed=0, evaluations=100, evaluations_per_s=10.0, seconds_left=10.0, seconds=10.0)
    )  # fmt: skip
    made = timeline(*({"event": event, **more} for event, more in logged))
    assert made.counts == {"ok": 100}
    assert made.use["0"] == pytest.approx(0.8, abs=0.01)
    heard = timeline(*shown)
    assert (heard.evaluations, heard.best) == (100, 1.0)


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "run"
    (folder / "logs").mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    return folder


def write(run, *events):
    with (run / "logs" / "run.jsonl").open("a") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def test_antennas_of_a_reply_are_told_as_one_after_another_is():
    outcomes = [
        Outcome(status=status, worker=worker, device="cpu", stepping_seconds=stepping, seconds=2.0)
        for status, worker, stepping in (
            ("ok", "0", 0.5),
            ("undecayed", "1", None),
            ("ok", "0", 0.25),
            ("ok", None, 0.0),
        )
    ]
    said = []
    for together in (False, True):
        events, moments = [], iter([0.0, 0.0, 0.0, *[9.0] * 20])
        inner = Inner()
        publisher = EventPublisher(
            inner, log=lambda name, **event: None, show=events.append, clock=lambda moments=moments: next(moments)
        )
        publisher.generation_started(0, 4)
        if together:
            publisher.evaluated_together(outcomes)
        else:
            publisher._shown = 99.0  # nothing is shown before the last
            for one in outcomes[:-1]:
                publisher.evaluated(one)
            publisher._shown = 0.0
            publisher.evaluated(outcomes[-1])
        said.append((events[-1], inner.counted))
    assert said[0] == said[1]
    assert said[1][0]["solved"] == 4 and said[1][0]["busy"] == {"0": 0.75, "1": 2.0, "": 2.0}
    assert said[1][0]["counts"] == {"ok": 3, "undecayed": 1} and len(said[1][1]) == 4


class Inner(Progress):
    """Keeps the outcomes of its calls."""

    def __init__(self):
        self.counted = []

    def evaluated(self, outcome=None):
        self.counted.append(outcome)


def test_a_bar_moves_by_all_antennas_of_a_reply():
    bar = Bar()
    bar._begin("generation 1", 5)
    bar.evaluated_together([Outcome(status="ok")] * 3)
    bar.evaluated(Outcome(status="ok"))
    assert bar._bar.tasks[-1].completed == 4
    bar.close()


def test_it_goes_on_while_another_process_works_and_ends_with_the_run(run, capsys):
    """Lines appear as the log grows; the lock, not the log, shows whether the run is active."""
    from antennaopt.store.files import FolderLock

    write(run, progress(0, 10, 5.0), generation(0, 10, 7.0))
    lock = FolderLock(run)

    def told(evaluations):
        changes = run / "changes.jsonl"
        return changes.exists() and f'"evaluations": {evaluations},' in changes.read_text()

    def work():
        try:
            wait_until(lambda: told(10), "the first line")
            write(run, progress(1, 4, 2.0))
            wait_until(lambda: told(14), "a line in mid-generation")
            end = {"event": "stopped", "reason": "all generations done"}
            write(run, progress(1, 10, 5.0), generation(1, 20, 6.0), end)
        finally:
            lock.release()

    worker = threading.Thread(target=work)
    worker.start()
    code = main(["status", str(run), "--watch", "--interval", "0.2", "--json", str(run / "changes.jsonl")])
    worker.join()
    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line.partition(":")[0] for line in lines] == [*["running"] * (len(lines) - 1), "finished"]
    assert [line for line in lines if "14 antennas" in line]
    assert "20 antennas" in lines[-1] and lines[-1].endswith("stopped: all generations done")
    objects = [json.loads(line) for line in (run / "changes.jsonl").read_text().splitlines()]
    assert len(objects) == len(lines)
    assert (objects[-1]["state"], objects[-1]["best_fitness"]) == ("finished", 6.0)


def test_a_run_that_nobody_works_on_is_shown_once(run, capsys):
    write(run, generation(0, 10, 7.0), {"event": "interrupted"})
    assert main(["status", str(run), "--watch", "--interval", "0.1", "--json", "-"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert (json.loads(line)["state"], json.loads(line)["ended"]) == ("stopped", "interrupted")
    assert main(["status", str(run), "--watch", "--interval", "0.1", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["status", str(run.parent), "--watch"]) == 2


def test_the_view_holds_what_is_asked_of_it():
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    made = timeline(
        progress(0, 10, 5.0, counts={"ok": 7, "lost": 3}, busy={"0": 4.0}), generation(0, 10, 7.0), progress(1, 5, 2.0)
    )
    console.print(rendered("results/lens/RUN", "running", made))
    text = console.export_text()
    for part in (
        "results/lens/RUN",
        "1 of 4",
        "5 of 10 antennas",
        "7 (g0000-s001)",
        "3 lost",
        "57 %  cpu",
        "time left",
    ):
        assert part in text, text
    console.print(rendered("RUN", "stopped", Timeline()))  # a log without a generation


def test_the_curve_falls_with_the_fitness():
    assert curve([4.0, 3.0, None, 2.0, 1.0]) == "█▆ ▃▁"
    assert curve([2.0, 2.0]) == "▁▁"
    assert curve([None]) == curve([]) == ""
    assert len(curve([float(n) for n in range(1000)])) <= 60


def test_the_page_shows_the_best_antenna_and_its_goals():
    """Section on both sides of the axis, metal in front, middle frequency, met and missed; and text stays text."""
    experiment = load_experiment(STUDY)
    design = experiment.bounds()[0]
    (outcome,) = evaluate(experiment.family, [design], plan(experiment.kind, design, design, COARSE).to_dict())
    values = {gene.name: design[gene.name] for gene in experiment.genes}
    event = json.loads(json.dumps(best_event(experiment, "g0003-s001", values, outcome)))
    assert [goal["met"] for goal in event["goals"]] == [one.met for one in standings(outcome, experiment.goals)]
    event["goals"][0]["value"] = "<script>"
    figures, now = Figures(), timeline(generation(0, 10, 7.0), event)
    figures.update(now)
    section, pattern = figures.sources["section"].data, figures.sources["pattern"].data
    widest = {colour: max(r) for r, colour in zip(section["r"], section["colour"], strict=True) if max(r) > 0}
    lens, metal = (widest[COLOURS[name]] for name in ("dielectric", "metal"))
    assert (lens, metal) == pytest.approx((8.0, 4.0), abs=0.01)
    assert min(map(min, section["r"])) == pytest.approx(-8.0, abs=0.01)
    assert section["colour"][-1] == COLOURS["metal"]
    assert pattern["e"][0] == pytest.approx(outcome["directivity_dbi"][0], abs=0.01)
    assert "&lt;script&gt;" in figures.goals.text and "<script>" not in figures.goals.text
    assert "missed by" in figures.goals.text and "15 s left" in figures._text.text
