"""`antennaopt status`: progress of a run, from its files alone, also while another process works on it."""

from __future__ import annotations

import fcntl
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.options import check_writable, json_option, quiet_option, warn, write_json
from antennaopt.quantities import duration
from antennaopt.store.files import check_run_folder, events_in, hypervolumes, log_of, read_events
from antennaopt.terminal import drawn, one_line
from antennaopt.timeline import Timeline

if TYPE_CHECKING:
    from antennaopt.report.goals import Findings


@click.command(short_help="Show the progress of a run.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Update until the run ends; reads only its files.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Seconds between updates of --watch.",
)
@json_option
@quiet_option
def status(run: Path, watch: bool, interval: float, json_file: str | None, quiet: bool) -> None:
    """Show the progress of a run, the figures of its best antenna, and whether a process works on it.

    --watch continues until the run ends. On a terminal it shows a live view, elsewhere one line per change. --json
    writes one object per change; --quiet prints nothing.

    \b
    Examples:
      antennaopt status results/quickstart/RUN
      antennaopt status results/quickstart/RUN --watch
    """  # noqa: D301 - \b is click's
    from antennaopt.cli.tables import aligned
    from antennaopt.report.goals import reused_words
    from antennaopt.store.stepping import stepping_text

    check_writable(json_file, inputs=[run])
    if watch:
        check_run_folder(run)
        follow(run, interval, lambda: state_word(run), json_file=json_file, quiet=quiet)
        return
    state, findings = read_state(run)
    warn(state["damaged"])
    write_json(json_file, state, allow_nan=False)
    if json_file == "-" or quiet:
        return
    planned, share = state["generations_planned"], state["stepping"]
    rows = [
        ["run", state["run"]],
        ["state", state["state"]],
        ["generations", f"{state['generations']} of {planned}"],
        ["evaluations", str(state["evaluations"])],
        ["not solved again", reused_words(state["reused"]) or "none"],
        ["statuses", ", ".join(f"{count} {name}" for name, count in state["counts"].items()) or "none"],
        ["stepping", "not known" if share is None else stepping_text(share, state["cell_steps_per_s"])],
        ["best", _best(state)],
    ]
    width = max(len(value) for _, value in rows)
    click.echo(aligned([[name, value.ljust(width)] for name, value in rows], header=False))
    if findings is not None:
        from antennaopt.cli.tables import findings_lines

        click.echo("\n" + "\n".join(findings_lines(findings)))


def _best(state: Mapping[str, Any]) -> str:
    if not state["best"]:
        return "none"
    if state["hypervolume"] is not None:  # the fitness only puts rows in an order
        return f"{state['best']}, one of the front; hypervolume {state['hypervolume']:.5g} in the last generation"
    return f"{state['best']} with fitness {state['best_fitness']:.6g}"


def read_state(path: Path) -> tuple[dict[str, Any], Findings | None]:
    """Read the state of a run, JSON-able, and the findings on its best antenna.

    `state` is `running`, `finished` or `stopped` (`antennaopt resume` goes on).

    Raises:
        ConfigurationError: It is not a run folder.
        ResumeRefusedError: It is damaged.
    """
    from antennaopt.report.goals import findings_of, reused
    from antennaopt.store.damage import damage_lines
    from antennaopt.store.levels import finest_rows
    from antennaopt.store.reading import crowned_best
    from antennaopt.store.run_folder import RunFolder
    from antennaopt.store.stepping import stepping_of

    check_run_folder(path)
    folder = RunFolder.open(path, whole=False)
    origin = ["origin"] if folder.columns.origin else []
    rows = folder.all_rows(["individual", "fitness", "status", "cached", *origin]).to_pylist()
    scores = {row["individual"]: row["fitness"] for row in finest_rows(folder, ["individual", "fitness", "status"])}
    first = min(scores, key=lambda name: (scores[name], name), default=None)
    best = crowned_best(folder, first) if first is not None else None
    best = best if best in scores else first  # the file of the crowned one may be damaged
    stepping = stepping_of(folder)
    findings = findings_of(folder, best) if best is not None else None
    volumes = hypervolumes(read_events(path, progress=False))
    state = {
        "run": str(folder.path),
        "state": state_word(folder.path),
        "generations": len(folder.generations()),
        "generations_planned": folder.resolved["evolution"]["generations"],
        "evaluations": sum(not row["cached"] for row in rows),
        "reused": reused([row.get("origin") for row in rows]),
        "counts": dict(sorted(Counter(row["status"] for row in rows).items())),
        "stepping": stepping.share if stepping else None,
        "cell_steps_per_s": stepping.cell_steps_per_s if stepping else None,
        "best": best,
        "best_fitness": scores.get(best) if best is not None else None,
        "hypervolume": volumes[max(volumes)] if volumes else None,
        "damaged": damage_lines(folder),
        **(findings.to_dict() if findings else {}),
    }
    return state, findings


def state_word(path: Path) -> str:
    """Return `running`, `finished` or `stopped`."""
    return "running" if _locked(path) else "finished" if _finished(path) else "stopped"


def _locked(path: Path) -> bool:
    """Return whether a process holds the run's lock; nothing is changed."""
    try:
        with (path / ".lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _finished(path: Path) -> bool:
    """Return whether the last event of starting or stopping in the log is a stop."""
    names = [event.get("event") for event in read_events(path, progress=False)]
    marks = [event for event in names if event in ("stopped", "resumed", "generation")]
    return bool(marks) and marks[-1] == "stopped"


BLOCKS = " ▁▂▃▄▅▆▇█"
CURVE_WIDTH = 60
SETTLE_S = 1.0
"""How long a run may be without its lock before it counts as ended: it is resumed, or writes its last lines."""


class Log:
    """Reads what a log of JSON lines has grown by since the last look; half a line waits for its end."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, 0

    def events(self) -> list[Mapping[str, Any]]:
        """Return the new events; lines that are damaged are passed over."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        return events_in(whole.splitlines())


def follow(run: Path, interval_s: float, state: Callable[[], str], *, json_file: str | None, quiet: bool) -> None:
    """Show a run until it is no longer being worked on.

    Args:
        run: The run folder.
        interval_s: Seconds between two looks.
        state: Returns `running`, `finished` or `stopped`.
        json_file: Gets an object a change, a line each; `-` is stdout.
        quiet: Whether to show nothing else.
    """
    log, timeline = Log(log_of(run)), Timeline()
    views = _views(run, json_file, quiet=quiet)
    try:
        while True:
            word = state()
            if word != "running":
                time.sleep(min(interval_s, SETTLE_S))
                word = state()
            for event in log.events():
                timeline.add(event)
            for view in views:
                view(word, timeline)
            if word != "running":
                return
            time.sleep(interval_s)
    except KeyboardInterrupt:
        return  # the run goes on
    finally:
        for view in views:
            view.close()


class Lines:
    """A line on stdout whenever something has changed."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, state: str, timeline: Timeline) -> None:
        """Print the line."""
        line = f"{state}: {timeline.headline()}"
        if line != self._last:
            click.echo(line)
            sys.stdout.flush()
            self._last = line

    def close(self) -> None:
        """Leave stdout as it is."""


class Objects:
    """An object in a file, or on stdout, whenever something has changed; a line each."""

    def __init__(self, run: Path, file: str) -> None:
        self._run, self._last = str(run), None
        self._stream = sys.stdout if file == "-" else Path(file).open("w", encoding="utf-8")  # noqa: SIM115

    def __call__(self, state: str, timeline: Timeline) -> None:
        """Write the object."""
        found = {"run": self._run, "state": state, **timeline.to_dict()}
        if found != self._last:
            print(json.dumps(found, allow_nan=False), file=self._stream, flush=True)
            self._last = found

    def close(self) -> None:
        """Close the file."""
        if self._stream is not sys.stdout:
            self._stream.close()


class View:
    """A view of a terminal: where it is, convergence, failures, devices, time left."""

    def __init__(self, run: Path) -> None:
        from rich.console import Console
        from rich.live import Live

        self._run = run
        self._live = Live(console=Console(file=drawn(sys.stdout), highlight=False), auto_refresh=False)
        self._live.start()

    def __call__(self, state: str, timeline: Timeline) -> None:
        """Draw it again."""
        self._live.update(rendered(str(self._run), state, timeline), refresh=True)

    def close(self) -> None:
        """Leave the last view standing."""
        self._live.stop()


def _views(run: Path, json_file: str | None, *, quiet: bool) -> list[Lines | Objects | View]:
    objects = [Objects(run, json_file)] if json_file else []
    if quiet or json_file == "-":
        return [*objects]
    return [*objects, View(run) if sys.stdout.isatty() else Lines()]


def rendered(run: str, state: str, timeline: Timeline) -> Any:
    """Return the view as rich draws it.

    Args:
        run: Path of the run folder.
        state: `running`, `finished` or `stopped`.
        timeline: Read from its log.
    """
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column()

    def row(name: str, text: str, style: str = "") -> None:
        grid.add_row(Text(one_line(name)), Text(one_line(text), style=style))

    done, planned = len(timeline.steps), timeline.generations
    row("state", state if not timeline.reason else f"{state}, {timeline.reason}")
    row("generations", f"{done} of {planned or '?'}")
    if planned:
        grid.add_row("", ProgressBar(total=planned, completed=done, width=CURVE_WIDTH))
    now = timeline.under_way
    if now is not None and now.to_solve and state == "running":
        row("under way", f"{now.solved} of {now.to_solve} antennas, {duration(now.seconds)}")
    rate = timeline.rate
    row("antennas", f"{timeline.evaluations}" + (f", {rate:.3g} a second" if rate is not None else ""))
    if timeline.best is not None:
        row("best", f"{timeline.best:.6g} ({timeline.individual})")
    row("convergence", curve([step.best for step in timeline.steps]))
    failures = ", ".join(f"{count} {status}" for status, count in timeline.failures.items())
    row("not ok", failures or "none", "red" if failures else "")
    for worker, share in timeline.use.items():
        device = timeline.devices.get(worker, "")
        bar = "█" * round(20 * share)
        row(f"worker {worker}", f"{bar:20} {100 * share:3.0f} %  {device}")
    if timeline.certified is not None:
        row("certificates", "{} of {}".format(*timeline.certified))
    if timeline.seconds_left is not None and state == "running":
        row("time left", duration(timeline.seconds_left))
    return Panel(grid, title=Text(one_line(run)), title_align="left", expand=False)


def curve(values: list[float | None]) -> str:
    """Draw a row of values as blocks, the lowest as the lowest block; empty where there is none."""
    step = max(-(-len(values) // CURVE_WIDTH), 1)
    chosen = values[::-1][::step][::-1]
    known = [value for value in chosen if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    scale = (len(BLOCKS) - 2) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[0] if value is None else BLOCKS[1 + round((value - low) * scale)] for value in chosen)
