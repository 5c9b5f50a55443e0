"""`antennaopt bench search`: compare search algorithms at the same budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.bench_runner import Figure, Sink, bench_options, with_source
from antennaopt.cli.options import backend_option, check_writable, scheduler_option, set_option
from antennaopt.cli.run import quickstart
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend

if TYPE_CHECKING:
    from antennaopt.bench.suite import Task

WAITING = Figure(module="bench_farm", function="plot_waiting")
SUITE = Figure(module="bench_search", function="plot_suite")
SUITE_ONLY = {name: f"--{name}" for name in ("evaluations", "store")} | {
    "algorithms": "--algorithm",
    "time_limit": "--time-limit",
}
"""Options that only go with `--problem`, by parameter."""


@click.command(short_help="Compare search algorithms at the same budget.")
@click.argument("file", metavar="[EXPERIMENT.toml]", required=False, type=click.Path(path_type=Path))
@click.option("--seeds", type=click.IntRange(min=1), default=10, show_default=True, help="Searches per algorithm.")
@click.option(
    "--workers",
    "workers",
    type=click.IntRange(min=1),
    metavar="N",
    multiple=True,
    help="Compare generations with the steady state for N workers on a simulated clock; may be repeated.",
)
@click.option(
    "--problem",
    "problems",
    metavar="NAME",
    multiple=True,
    help="Compare algorithms on a frozen problem, all, or an experiment.toml; may be repeated.",
)
@click.option(
    "--algorithm",
    "algorithms",
    metavar="NAME",
    multiple=True,
    help="With --problem: algorithm to compare; may be repeated; ga_1/n is ga with that mutation probability.  "
    "[default: ga, cmaes, de, surrogate, random]",
)
@click.option(
    "--first-seed", type=click.IntRange(min=1), default=1, help="With --problem: first of the seeds.  [default: 1]"
)
@click.option(
    "--evaluations",
    type=click.IntRange(min=32),
    metavar="N",
    help="With --problem: evaluations per search; default: the problem's.",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.jsonl",
    help="With --problem: add each search to this file; skip stored searches.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=1.0),
    metavar="S",
    help="With --problem: send no more antennas after S seconds.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --workers or --problem: write a figure (.png, .svg).",
)
@backend_option()
@scheduler_option
@set_option
@bench_options(WAITING)
def search(
    out: Sink,
    file: Path | None,
    seeds: int,
    workers: tuple[int, ...],
    backend: str,
    scheduler: str | None,
    overrides: tuple[str, ...],
    **suite: Any,
) -> None:
    """Compare the genetic algorithm with random search, at the same budget, over several seeds.

    --workers compares the genetic algorithm with the search without generations: the share of their time that N workers
    solve, and the best antenna. All antennas are solved. Time is counted in their steps, and sending and storing take
    no time, so the figures are the same on every machine.

    --problem compares several algorithms on frozen problems: dual_mode_horn (5 genes), quickstart (6), ka_band_lens
    (10), spline_horn (12), corrugated_horn (20, of which 5 are whole numbers and choices), shaped_lens (24). The table
    has the final fitness, COCO's expected running time (evaluations to three targets), and rank-sum tests against ga.
    --store FILE keeps every search; the same command then continues where an earlier one ended.

    \b
    Examples:
      antennaopt bench search --seeds 10 --json search.json
      antennaopt bench search --workers 2 --workers 8 --workers 24 --json waiting.json --plot waiting.png
      antennaopt bench search --problem all --seeds 11 --store suite.jsonl --plot suite.svg
      antennaopt bench search --problem quickstart --algorithm ga --algorithm de --evaluations 500
    """  # noqa: D301 - \b is click's
    if suite["problems"]:
        _refuse_mixing(file, workers)
        _suite(out, seeds, backend, scheduler, overrides, suite)
        return
    option = next((option for name, option in SUITE_ONLY.items() if suite[name]), None)
    if option is not None:
        raise ConfigurationError(f"{option} goes with --problem; add --problem NAME or leave it out")
    if workers and scheduler is not None:
        raise ConfigurationError("--workers and --scheduler exclude each other: the workers of --workers are made up")
    if out.plot is not None and not workers:
        raise ConfigurationError("--plot draws what --workers or --problem measures; add --workers N")
    name = chosen_backend(backend, remote=scheduler is not None, quiet=out.quiet)
    from antennaopt.experiment import load_experiment

    experiment = load_experiment(file or quickstart(), overrides)
    from antennaopt.bench.search import bench_search, bench_waiting, waiting_summary
    from antennaopt.run.progress import for_terminal

    progress = for_terminal(quiet=out.quiet)
    numbers = tuple(range(1, seeds + 1))
    if workers:
        rows = bench_waiting(experiment, workers=workers, seeds=numbers, backend=name, progress=progress)
        progress.close()
        summary = waiting_summary(rows)
        out.store({"summary": summary, "searches": with_source(rows)})
        out.draw(rows)
        out.show(lambda: _waiting_table(summary))
        return
    rows = bench_search(experiment, seeds=numbers, backend=name, scheduler=scheduler, progress=progress)
    progress.close()
    out.finish(rows)


def _refuse_mixing(file: Path | None, workers: Sequence[int]) -> None:
    if file is not None:
        raise ConfigurationError(f"--problem and {file} exclude each other: the problems have files of their own")
    if workers:
        raise ConfigurationError("--problem and --workers exclude each other; leave one of them out")


def _suite(
    out: Sink,
    seeds: int,
    backend: str,
    scheduler: str | None,
    overrides: tuple[str, ...],
    given: Mapping[str, Any],
) -> None:
    """Search frozen problems, store, draw and sum up."""
    from antennaopt.bench.suite import append, bench_suite, key_of, stored

    store = given["store"]
    check_writable(store, out.json_file, out.plot)
    tasks = _tasks(given, seeds, overrides)
    known = stored(store) if store else []
    name = chosen_backend(backend, remote=scheduler is not None, quiet=out.quiet)
    (about,) = with_source([{"backend": name}])
    del about["other_cores"]  # a row is a part of the command's time
    rows = list(known)
    for row in bench_suite(
        tasks, known=known, backend=name, scheduler=scheduler, limit_s=given["time_limit"], note=out.told or _silent
    ):
        row |= about
        rows.append(row)
        if store:
            append(store, row)
    wanted = {key_of(row) for task in tasks for row in task.rows()}
    rows = [row for row in rows if key_of(row) in wanted]
    from antennaopt.bench.running_time import panels, summary

    found = summary(rows)
    out.store({"summary": found, "searches": rows})
    if rows and out.plot is not None:
        SUITE.named(SUITE.function)(out.plot, panels(rows))
    if found:
        out.show(lambda: _suite_table(found))


def _tasks(given: Mapping[str, Any], seeds: int, overrides: tuple[str, ...]) -> list[Task]:
    from antennaopt.bench.suite import COMPARED, NAMES, PROBLEMS, Task, frozen
    from antennaopt.experiment import load_experiment

    strange = next((name for name in given["algorithms"] if name not in NAMES), None)
    if strange is not None:
        raise ConfigurationError(f"--algorithm {strange} is not one of {', '.join(NAMES)}; use one of them")
    first = given["first_seed"]
    names = PROBLEMS if "all" in given["problems"] else tuple(dict.fromkeys(given["problems"]))
    tasks = []
    for name in names:
        experiment = load_experiment(frozen(name), overrides)
        evaluations = given["evaluations"] or experiment.evolution.settings.stop.evaluations
        tasks.append(Task(
            problem=Path(name).stem if name.endswith(".toml") else name,
            experiment=experiment,
            algorithms=given["algorithms"] or COMPARED,
            seeds=tuple(range(first, first + seeds)),
            evaluations=evaluations or experiment.evolution.settings.most_evaluations,
            overrides=overrides,
        ))  # fmt: skip
    return tasks


def _silent(_: str) -> None:
    pass


def _suite_table(summary: Sequence[Mapping[str, Any]]) -> str:
    from antennaopt.bench.running_time import SHOWN_GAPS

    shares = [f"ERT {share:.0%}" for share in SHOWN_GAPS]
    table = [["problem", "genes", "algorithm", "searches", "evaluations", "median", "quartiles", *shares, "wins", "p"]]
    for row in summary:
        low, high = row["quartiles"]
        times = ("-" if one is None else f"{one:.0f}" for one in row["expected_running_time"])
        wins = "" if row["wins"] is None else f"{row['wins']} of {row['searches']}"
        table.append([
            row["problem"], str(row["genes"]), row["algorithm"], str(row["searches"]), str(row["evaluations"]),
            f"{row['median']:.3f}", f"{low:.3f} to {high:.3f}", *times, wins,
            "" if row["p"] is None else f"{row['p']:.2g}",
        ])  # fmt: skip
    return aligned(table)


def _waiting_table(summary: Sequence[Mapping[str, Any]]) -> str:
    table = [["workers", "algorithm", "best fitness", "its quartiles", "wins", "solving", "time (antennas)"]]
    steps = max(row["steps"] * row["workers"] * row["utilisation"] / row["evaluations"] for row in summary)
    for row in summary:
        low, high = row["best_fitness_quartiles"]
        table.append([
            str(row["workers"]), row["algorithm"], f"{row['best_fitness_median']:.3f}", f"{low:.3f} to {high:.3f}",
            f"{row['wins']} of {row['searches']}", f"{row['utilisation']:.1%}", f"{row['steps'] / steps:.1f}",
        ])  # fmt: skip
    return aligned(table)
