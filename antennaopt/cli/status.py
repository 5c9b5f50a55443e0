"""`antennaopt status`: how far a run is."""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from antennaopt.cli.options import check_writable, json_option, quiet_option, warn, write_out
from antennaopt.store.folders import check_run_folder
from antennaopt.store.logs import read_events

if TYPE_CHECKING:
    from antennaopt.report.goals import Findings


@click.command(short_help="Say how far a run is.")
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--watch", is_flag=True, help="Go on until the run ends, from its files alone.")
@click.option("--interval", type=click.FloatRange(min=0.1), default=2.0, show_default=True, help="Of --watch, s.")
@json_option
@quiet_option
def status(run: Path, watch: bool, interval: float, json_file: str | None, quiet: bool) -> None:
    """Show how far a run is, what its best antenna reaches, and whether a process is working on it.

    With --watch it goes on until the run ends: a view on a terminal, elsewhere a line a change, with --json an object a
    change, with --quiet nothing.

    \b
    Examples:
      antennaopt status results/quickstart/RUN
      antennaopt status results/quickstart/RUN --watch
    """  # noqa: D301 - \b is click's
    from antennaopt.cli.tables import aligned
    from antennaopt.report.goals import reused_words
    from antennaopt.store import stepping_text

    check_writable(json_file, inputs=[run])
    if watch:
        from antennaopt.cli.watching import watch as follow

        check_run_folder(run)
        follow(run, interval, lambda: state_word(run), json_file=json_file, quiet=quiet)
        return
    state, findings = _read(run)
    warn(state["damaged"])
    if json_file is not None:
        write_out(json_file, json.dumps(state, indent=1, allow_nan=False) + "\n")
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
        ["best", f"{state['best']} with fitness {state['best_fitness']:.6g}" if state["best"] else "none"],
    ]
    width = max(len(value) for _, value in rows)
    click.echo(aligned([[name, value.ljust(width)] for name, value in rows], header=False))
    if findings is not None:
        from antennaopt.cli.summaries import findings_lines

        click.echo("\n" + "\n".join(findings_lines(findings)))


def state_of(path: Path) -> dict[str, Any]:
    """Read a run's progress from its folder.

    Args:
        path: The run folder.

    Returns:
        JSON-able; `state` is `running`, `finished` or `stopped` (`antennaopt resume` goes on).

    Raises:
        ConfigurationError: It is not a run folder.
        ResumeRefusedError: It is damaged.
    """
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, Any], Findings | None]:
    """Read the state of a run, and the findings on its best antenna."""
    from antennaopt.report.goals import findings_of, reused
    from antennaopt.store import RunFolder, crowned_best, damage_lines, stepping_of

    check_run_folder(path)
    folder = RunFolder.open(path, whole=False)
    origin = ["origin"] if folder.columns.origin else []
    rows = folder.all_rows(["individual", "fitness", "status", "cached", *origin]).to_pylist()
    scores = {row["individual"]: row["fitness"] for row in rows if row["status"] == "ok"}
    first = min(scores, key=lambda name: (scores[name], name), default=None)
    best = crowned_best(folder, first) if first is not None else None
    best = best if best in scores else first  # the file of the crowned one may be damaged
    stepping = stepping_of(folder)
    findings = findings_of(folder, best) if best is not None else None
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
        "damaged": damage_lines(folder),
        **(findings.to_dict() if findings else {}),
    }
    return state, findings


def state_word(path: Path) -> str:
    """Return `running`, `finished` or `stopped`."""
    return "running" if _locked(path) else "finished" if _finished(path) else "stopped"


def _locked(path: Path) -> bool:
    """Look whether a process holds the run's lock; nothing is changed."""
    try:
        with (path / ".lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _finished(path: Path) -> bool:
    """Look whether the last thing that the log tells of starting or stopping is a stop."""
    told = [event.get("event") for event in read_events(path)]
    marks = [event for event in told if event in ("stopped", "resumed", "generation")]
    return bool(marks) and marks[-1] == "stopped"
