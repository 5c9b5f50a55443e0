"""Where the program starts: which commands there are, and how what happened becomes an exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module
from types import FrameType

import click

from antennaopt import __version__
from antennaopt.errors import AntennaoptError, Interrupted

COMMANDS = (
    "demo",
    "run",
    "resume",
    "status",
    "compare",
    "report",
    "simulate",
    "export",
    "validate",
    "cache",
    "doctor",
    "tls",
    "scheduler",
    "worker",
    "bench",
    "tiles",
)
"""In the order of `--help`; each is a module of this package that holds a command of its name."""

SOLVER_EXIT_CODES = {"ConfigError": 2, "Unsuitable": 5, "DeviceError": 5, "OutOfMemory": 5, "KernelBuildError": 5}
"""By the name of an error of `fdtd.errors`; the others are bugs."""

BROKEN_PIPE = 141

EPILOG = """\b
Start here:
  antennaopt demo                                         see a lens evolve, a minute
  antennaopt run experiments/ka_band_lens.toml --dry-run  what it would cost
  antennaopt run experiments/ka_band_lens.toml            evolve it
  antennaopt simulate antenna.toml --plot antenna.png     solve one antenna

\b
Exit codes: 0 done; 1 a bug; 2 bad usage or configuration; 3 run folder in use; 4 resume refused;
5 cluster or device; 6 storage; 7 too many failed evaluations; 130/143 interrupted, resumable."""


class Commands(click.Group):
    """A group that imports a command's module when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of `--help`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"antennaopt.cli.{cmd_name}"), cmd_name)


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="antennaopt")
def commands() -> None:
    """Evolve antennas: a genetic algorithm whose fitness function is an FDTD solver.

    An experiment file says which antenna, which of its dimensions may change, and what is wanted of it.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Without the program's name; `sys.argv` when None.

    Returns:
        The exit code.
    """
    if threading.current_thread() is not threading.main_thread():
        return _guarded(arguments)
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        return _guarded(arguments)
    finally:
        signal.signal(signal.SIGTERM, before)


def _guarded(arguments: Sequence[str] | None) -> int:
    try:
        code = commands.main(args=arguments, prog_name="antennaopt", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        return _bad_usage(error)
    except (click.Abort, KeyboardInterrupt):
        return _said("interrupted", 130)
    except Interrupted as error:
        return _said(str(error), error.exit_code)
    except AntennaoptError as error:
        return _said(f"error: {error}", error.exit_code)
    except (BrokenPipeError, SystemExit):
        # Whoever read our output has gone (click says so with SystemExit). Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return BROKEN_PIPE
    except Exception as error:  # the last line of defence: a bug shows its traceback
        return _unexpected(error)
    return code if isinstance(code, int) else 0


def _bad_usage(error: click.ClickException) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "antennaopt"
    return _said(f"error: {error.format_message().rstrip('.')}; `{where} --help` says what there is", 2)


def _unexpected(error: Exception) -> int:
    if type(error).__module__ == "fdtd.errors" and type(error).__name__ in SOLVER_EXIT_CODES:
        return _said(f"error: {error}", SOLVER_EXIT_CODES[type(error).__name__])
    traceback.print_exc()
    return _said("this is a bug in antennaopt; please report it with the lines above", 1)


def _said(text: str, code: int) -> int:
    """Print one line on stderr, whatever the text, and pass the exit code on."""
    print(" ".join(text.split()), file=sys.stderr, flush=True)
    return code


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Interrupted("terminated", exit_code=143)
