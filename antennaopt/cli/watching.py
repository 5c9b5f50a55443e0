"""`antennaopt status --watch`: a run from its files alone, also while another process works on it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from antennaopt.store.logs import events_in, log_of
from antennaopt.terminal import drawn, one_line
from antennaopt.timeline import Timeline

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


def watch(run: Path, interval_s: float, state: Callable[[], str], *, json_file: str | None, quiet: bool) -> None:
    """Show a run until it is no longer being worked on.

    Args:
        run: The run folder.
        interval_s: Seconds between two looks.
        state: Says `running`, `finished` or `stopped`.
        json_file: Gets an object a change, a line each; `-` is stdout.
        quiet: Whether to show nothing else.
    """
    log, timeline = Log(log_of(run)), Timeline()
    show = _chosen(run, json_file, quiet=quiet)
    try:
        while True:
            word = state()
            if word != "running":
                time.sleep(min(interval_s, SETTLE_S))
                word = state()
            for event in log.events():
                timeline.add(event)
            show(word, timeline)
            if word != "running":
                return
            time.sleep(interval_s)
    except KeyboardInterrupt:
        return  # who watches has seen enough; the run goes on
    finally:
        show.close()


class Shown:
    """Says nothing."""

    def __call__(self, state: str, timeline: Timeline) -> None:
        """Show where a run is."""

    def close(self) -> None:
        """Put the terminal back in order."""


class Lines(Shown):
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


class Objects(Shown):
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


class View(Shown):
    """A view of a terminal: where it is, convergence, failures, devices, time left."""

    def __init__(self, run: Path) -> None:
        from rich.console import Console
        from rich.live import Live

        self._run = run
        self._live = Live(console=Console(file=drawn(sys.stdout), highlight=False), auto_refresh=False)
        self._live.start()

    def __call__(self, state: str, timeline: Timeline) -> None:
        """Draw it anew."""
        self._live.update(rendered(str(self._run), state, timeline), refresh=True)

    def close(self) -> None:
        """Leave the last view standing."""
        self._live.stop()


class Several(Shown):
    """Shows in several ways."""

    def __init__(self, *shown: Shown) -> None:
        self._shown = shown

    def __call__(self, state: str, timeline: Timeline) -> None:
        """Show in each."""
        for one in self._shown:
            one(state, timeline)

    def close(self) -> None:
        """Close each."""
        for one in self._shown:
            one.close()


def _chosen(run: Path, json_file: str | None, *, quiet: bool) -> Shown:
    objects = [Objects(run, json_file)] if json_file else []
    if quiet or json_file == "-":
        return Several(*objects)
    return Several(*objects, View(run) if sys.stdout.isatty() else Lines())


def rendered(run: str, state: str, timeline: Timeline) -> Any:
    """Return the view as rich draws it.

    Args:
        run: Path of the run folder.
        state: `running`, `finished` or `stopped`.
        timeline: What its log says.
    """
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    from antennaopt.run import duration

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
