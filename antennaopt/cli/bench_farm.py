"""`antennaopt bench farm`: the best workers, streams and dispatch policy of a machine, and the cost of the farm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.bench_runner import Figure, Sink, bench_options
from antennaopt.cli.options import backend_option, set_option
from antennaopt.cli.run import quickstart
from antennaopt.cli.tables import aligned
from antennaopt.errors import ConfigurationError
from antennaopt.solve.device import chosen_backend

if TYPE_CHECKING:
    from antennaopt.bench.farm import Combination

MIXED = (
    "note: on mixed hardware the last bits of an antenna depend on who solves it, so a seed does not repeat a run to "
    "the bit; without cores beside the devices it does"
)

FIGURE = Figure(module="bench_farm", function="plot_farm", entries="DRAWN")
QUIET = 0.1
"""Cores that may be busy with something else while figures still count."""


@click.command(short_help="Find the best workers and policy; measure the farm.")
@click.argument("file", metavar="[EXPERIMENT.toml]", required=False, type=click.Path(path_type=Path))
@backend_option()
@click.option(
    "--workers",
    metavar="N",
    multiple=True,
    help="Workers, e.g. 2 or cuda=1,cpu=4; may be repeated.  [default: all useful combinations]",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 16),
    metavar="N",
    multiple=True,
    help="Batches per worker at a time; may be repeated.",
)
@click.option(
    "--policy", "policies", type=click.Choice(["greedy", "assignment"]), multiple=True, help="Time this policy only."
)
@click.option(
    "--cells-per-wavelength",
    "grids",
    type=click.FloatRange(min=8.0),
    metavar="N",
    multiple=True,
    help="Cells per wavelength, to vary the problem size; may be repeated.",
)
@click.option("--population", type=click.IntRange(min=2), metavar="N", help="Antennas per generation.")
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True, help="Generations per timing.")
@click.option("--simulate", metavar="S,S,...", help="Simulate workers with rates S in antennas/s; they sleep.")
@click.option("--null", "nothing", is_flag=True, help="Time breeding, sending and storing; solve nothing.")
@click.option(
    "--evaluations",
    type=click.IntRange(min=1000),
    default=50_000,
    show_default=True,
    metavar="N",
    help="Evaluations of --null.",
)
@set_option
@bench_options(FIGURE)
def farm(
    out: Sink,
    file: Path | None,
    backend: str,
    workers: tuple[str, ...],
    threads: tuple[int, ...],
    policies: tuple[str, ...],
    grids: tuple[float, ...],
    population: int | None,
    repeat: int,
    simulate: str | None,
    nothing: bool,
    evaluations: int,
    overrides: tuple[str, ...],
) -> None:
    """Find the workers and policy that solve a generation fastest on this machine, or measure the cost of the farm.

    Every combination solves the same antennas, drawn within the ranges of the experiment (default: the quickstart). On
    cores, a combination is a number of processes and of batches per process. With CUDA devices, it is one to three
    batches per device (at most two are stepped), with and without workers on cores. Each is timed with both policies:
    greedy gives the next batch to a free worker; assignment measures each worker and gives it work for a target time.
    The best is printed as a table for your experiment. If the spread does not separate several, the simplest is
    printed. STEPPING is the share of the workers' time spent stepping fields; the rest is rasterising, transforming and
    waiting.

    --null times whole runs that solve no antenna. It reports evaluations per second, the driver's memory, and the
    seconds per generation that stepping does not hide; for these, workers sleep as long as a device would step. OTHER
    CORES is the number of cores busy with other programs; repeat the measurement if it is above 0.1. --null takes no
    combinations or policies. A batch has 64 antennas, or N with --set cluster.batch_size=N; a study on devices has some
    264.

    --simulate compares the policies for workers of given speeds. Nothing is solved; the rows are marked simulated.

    \b
    Examples:
      antennaopt bench farm --json farm.json --plot farm.svg
      antennaopt bench farm experiments/ka_band_lens.toml --workers cuda=1,cpu=4 --threads 2
      antennaopt bench farm --cells-per-wavelength 10 --cells-per-wavelength 20 --plot sizes.svg
      antennaopt bench farm --simulate 100,10,10
      antennaopt bench farm --null --evaluations 500000 --json overhead.json --plot overhead.svg
      antennaopt bench farm --measured results/benchmarks/h200/farm_workers.json --plot farm.png
    """  # noqa: D301 - \b is click's
    if nothing and (simulate or workers or threads or policies or grids):
        raise ConfigurationError(
            "--null times the farm itself, on two workers: leave --simulate, --workers and others out"
        )
    if simulate is not None:
        from antennaopt.bench.farm import POLICIES, bench_simulated

        rows = bench_simulated(
            speeds_of(simulate),
            policies=policies or POLICIES,
            population=population or 200,
            repeat=repeat,
            told=out.told,
        )
    else:
        from antennaopt.experiment import load_experiment

        experiment = load_experiment(file or quickstart(), overrides)
        if nothing:
            from antennaopt.bench.farm_overhead import BATCH, POPULATION, bench_overhead

            size = experiment.cluster.batch_size
            rows = bench_overhead(
                experiment,
                evaluations=evaluations,
                population=population or POPULATION,
                batch=BATCH if size == "auto" else int(size),
                told=out.told,
            )
        else:
            from antennaopt.bench.farm import POLICIES, bench_farm

            combinations = combinations_of(workers, threads, chosen_backend(backend, quiet=out.quiet))
            rows = bench_farm(
                experiment, combinations, policies=policies or POLICIES, population=population, repeat=repeat,
                grids=grids, told=out.told,
            )  # fmt: skip
    out.finish(rows, _overhead_table if nothing else _table)


def combinations_of(workers: Sequence[str], threads: Sequence[int], backend: str) -> list[Combination]:
    """Return the combinations of `--workers` and `--threads`, or those worth trying on this machine.

    Raises:
        ConfigurationError: An entry is no number of workers.
        DeviceError: There is no device.
    """
    from antennaopt.bench.farm import Combination, usual_combinations
    from antennaopt.solve.device import usable_cores
    from fdtd.backends.cuda.present import devices

    if not workers:
        usual = usual_combinations(len(devices()) if backend == "cuda" else 0, usable_cores())
        found = [one for one in usual if not threads or one.threads in threads]
        if not found:
            raise ConfigurationError(f"nothing usual here has --threads {threads[0]}; add --workers")
        return found
    counts = [workers_of(text, backend) for text in workers]
    return [
        Combination(**count, threads=each)
        for count in counts
        for each in threads or ((2,) if count.get("cuda") else (1,))
    ]


def workers_of(text: str, backend: str) -> dict[str, int]:
    """Read `2`, or `cuda=1,cpu=4`.

    Raises:
        ConfigurationError: It is neither.
    """
    kind = "cuda" if backend == "cuda" else "cpu"
    if re.fullmatch(r"[1-9]\d{0,3}", text):
        return {kind: int(text)}
    found = dict(re.findall(r"(cuda|cpu)=([1-9]\d{0,3})(?:,|$)", text))
    if not found or ",".join(f"{name}={count}" for name, count in found.items()) != text:
        raise ConfigurationError(f"--workers {text} is no number of workers; write 2, or cuda=1,cpu=4")
    if "cuda" in found and backend != "cuda":
        raise ConfigurationError(f"--workers {text} asks for devices; use --backend cuda on a machine that has them")
    return {name: int(count) for name, count in found.items()}


def speeds_of(text: str) -> list[float]:
    """Read `100,10,10`.

    Raises:
        ConfigurationError: Not all of it are speeds.
    """
    try:
        speeds = [float(one) for one in text.split(",")]
    except ValueError:
        speeds = []
    if not 1 <= len(speeds) <= 64 or not all(0.01 <= one <= 1e4 for one in speeds):
        raise ConfigurationError(
            f"--simulate {text} is not a list of 1 to 64 speeds from 0.01 to 10,000 antennas/s; write 100,10,10"
        )
    return speeds


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    """One line a row, and the best as a table for an experiment."""
    from antennaopt.bench.farm import cluster_lines

    lines = [["workers x threads", "policy", "cells", "antennas/s", "spread", "stepping", ""]]
    for row in rows:
        shape = " x ".join(map(str, row["shape"])) if "shape" in row else "-"
        lines.append([
            row["combination"], row["policy"], shape, f"{row['antennas_per_s']:.3g}", f"{row['spread']:.1%}",
            f"{row['stepping_share']:.0%}", "best" if row["best"] else "",
        ])  # fmt: skip
    text = aligned(lines)
    best = next(row for row in reversed(rows) if row["best"])
    if best["simulated"]:
        return (
            f"{text}\n\nsimulated: workers slept, nothing was solved. {best['policy']} reached "
            f"{best['of_ideal']:.0%} of the sum of the speeds"
        )
    notes = [MIXED] if isinstance(best["workers"], Mapping) else []
    busiest = max(row["other_cores"] for row in rows)
    if busiest > QUIET:
        notes.append(f"note: up to {busiest:.1f} cores were busy with something else; repeat it on a quiet machine")
    return "\n".join([text, "", "the best here, for an experiment:", "", *cluster_lines(best), *notes])


def _overhead_table(rows: Sequence[Mapping[str, Any]]) -> str:
    rate, beside = rows
    lines = [
        ["evaluations/s", f"{rate['evaluations_per_s']:.0f} (+-{rate['spread']:.0%})"],
        ["processor time would allow", f"{rate['allowed_per_s']:.0f}/s on {rate['workers']} cores"],
        ["an evaluation's processor time", f"{rate['driver_us']:.0f} us driver, {rate['workers_us']:.0f} us workers"],
        ["beside stepping", f"{beside['seconds_beside']:.3f} s a generation of {beside['population']}"],
        ["driver's memory", f"{rate['memory_mib'][-1][1]:.0f} MiB, grown by {rate['memory_growth']:.1%}"],
        ["other cores", f"{rate['other_cores']:.2f} and {beside['other_cores']:.2f} busy with something else"],
    ]
    width = max(len(value) for _, value in lines)
    return aligned([[name, value.ljust(width)] for name, value in lines], header=False)
