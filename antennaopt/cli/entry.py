"""Entry point: commands, exit codes, and the part of stderr that the user sees."""

from __future__ import annotations

import atexit
import errno
import fcntl
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any

import click

from antennaopt import __version__
from antennaopt.errors import AntennaoptError, Interrupted, ReaderGone
from antennaopt.terminal import Printed, printed, visible

COMMANDS = {
    "demo": "run",
    "new": "new",
    "run": "run",
    "resume": "run",
    "status": "status",
    "compare": "compare",
    "report": "compare",
    "tolerance": "tolerance",
    "simulate": "simulate",
    "export": "export",
    "validate": "validate",
    "cache": "cache",
    "doctor": "doctor",
    "tls": "cluster",
    "scheduler": "cluster",
    "worker": "cluster",
    "bench": "bench",
    "tiles": "tiles",
    "stencils": "stencils",
}
"""In the order of `--help`; each with the module of this package that holds it under its name."""

CACHING = (
    "demo",
    "run",
    "resume",
    "compare",
    "report",
    "tolerance",
    "simulate",
    "cache",
    "doctor",
    "worker",
    "bench",
    "tiles",
)
"""Commands that solve or draw, and so keep something in a cache folder."""

SOLVER_EXIT_CODES = {"ConfigError": 2, "Unsuitable": 5, "DeviceError": 5, "OutOfMemory": 5, "KernelBuildError": 5}
"""By the name of an error of `fdtd.errors`; the others are bugs."""

COMPLETE = "_ANTENNAOPT_COMPLETE"
"""Variable by which a shell requests completions, or the lines that set them up."""

SIGNALS = {signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Exit codes of the signals that end a command as Ctrl-C does."""

EPILOG = """\b
Start here:
  antennaopt demo                                         evolve a lens in a minute
  antennaopt new conical_horn --frequency "10 GHz" --gain 20 --out horn.toml
  antennaopt run experiments/ka_band_lens.toml --dry-run  show its cost
  antennaopt run experiments/ka_band_lens.toml            evolve the antenna
  antennaopt simulate antenna.toml --plot antenna.png     solve one antenna

\b
Exit codes: 0 done; 1 a bug; 2 bad usage or configuration; 3 run folder in use; 4 resume refused;
5 cluster or device; 6 storage, stdout or stderr; 7 too many failed evaluations; 129/130/143 interrupted, resumable."""


class Commands(click.Group):
    """A group that imports a command's module when the command is used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the arguments, of which the context has none when the group itself is called."""
        ctx.obj = frozenset(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of `--help`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(f"antennaopt.cli.{COMMANDS[cmd_name]}"), cmd_name)


SETTINGS = {"help_option_names": ["-h", "--help"], "color": True}
"""Escape sequences are shown, on a terminal or not (see `antennaopt.terminal`); click would take out some of them."""


@click.group(cls=Commands, epilog=EPILOG, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="antennaopt")
@click.pass_context
def commands(context: click.Context) -> None:
    """Evolve antennas: a genetic algorithm whose fitness function is an FDTD solver.

    An experiment file gives the antenna, the ranges of its dimensions, and the goals.
    """
    if context.invoked_subcommand in CACHING and not context.obj & {*context.help_option_names}:
        from antennaopt.cli.options import warnings_as_lines
        from fdtd.cache_folder import cache_folder

        # Before Matplotlib is imported and before processes are started: they take over what it finds.
        with warnings_as_lines(quiet=bool(context.obj & {"--quiet", "-q"})):
            cache_folder()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: Without the program's name; `sys.argv` when None.

    Returns:
        The exit code.
    """
    if arguments is None and os.environ.get(COMPLETE):
        commands.main(prog_name="antennaopt")  # click answers the shell, in bytes on the true stdout, and ends
    if arguments is not None:  # another program calls us
        return _called(arguments)
    over = leaving_at_once()
    end = divert()
    try:
        code = _called(arguments)
    finally:
        end()
    over(code)
    return code


def _called(arguments: Sequence[str] | None) -> int:
    with printed() as (out, err):
        return _settled(_with_signals(arguments), out, err)


def leaving_at_once() -> Callable[[int], None]:
    """Return a function that takes the exit code; after it this process ends without taking its modules apart.

    That takes half a second after a run. What is registered with `atexit` from now on still happens.
    """
    codes: list[int] = []

    def leave() -> None:
        if codes:
            for stream in (sys.stdout, sys.stderr):
                with suppress(AttributeError, OSError, ValueError):  # it is closed, or was never there
                    stream.flush()
            os._exit(codes[0])

    atexit.register(leave)
    return codes.append


def _with_signals(arguments: Sequence[str] | None) -> int:
    if threading.current_thread() is not threading.main_thread():
        return _guarded(arguments)
    ours = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores SIGHUP
    before = {number: signal.signal(number, _terminated) for number in ours}
    try:
        return _guarded(arguments)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    except ReaderGone as error:
        return error.exit_code
    except AntennaoptError as error:
        return _said(f"error: {error}", error.exit_code)
    except Exception as error:  # the last line of defence: a bug shows its traceback
        return _unexpected(error)
    return code if isinstance(code, int) else 0


def _settled(code: int, out: Printed, err: Printed) -> int:
    """Write what waits in both streams; a command that did all but print has the exit code of that."""
    try:
        out.flush()
    except AntennaoptError as error:
        code = code or (error.exit_code if isinstance(error, ReaderGone) else _said(f"error: {error}", error.exit_code))
    err.flush()
    return code or (err.error().exit_code if err.problem is not None else 0)


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
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return _said(f"error: {error.filename!s:.60} cannot name a file ({error.strerror}); use a shorter name", 2)
    traceback.print_exc()
    return _said("this is a bug in antennaopt; please report it with the lines above", 1)


def _said(text: str, code: int) -> int:
    """Print one line on stderr, whatever the text, and pass the exit code on."""
    print(" ".join(visible(text).split()), file=sys.stderr, flush=True)
    return code


def _terminated(number: int, frame: FrameType | None) -> None:
    raise Interrupted("terminated", exit_code=SIGNALS[signal.Signals(number)])


_log = logging.getLogger("antennaopt.noise")

FREE = 10
"""Lowest file descriptor that the user's stderr may get: 0 to 2 keep their meaning, also where one was closed."""


def divert() -> Callable[[], None]:
    """Show the user only what is printed to `sys.stderr`; return a function that ends even that.

    Whatever writes to the process's own stderr goes nowhere: libraries in C, and the processes started from now on, as
    workers and the helper of `multiprocessing`. Warnings, and exceptions that nothing can catch, are logged; a run
    keeps them in `logs/run.jsonl` (event `noise`). Development mode (`PYTHONDEVMODE=1`) shows everything.
    """
    if sys.flags.dev_mode or sys.stderr is None:
        return lambda: None
    try:
        user = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, FREE)
        nowhere = os.open(os.devnull, os.O_WRONLY)
    except OSError:  # it is closed
        return lambda: None
    stream = open(user, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)  # noqa: SIM115
    sys.stderr.flush()
    sys.stderr = stream
    os.dup2(nowhere, 2)  # inheritable
    os.close(nowhere)
    logging.getLogger().addHandler(logging.NullHandler())  # else Python prints what has no handler
    logging.captureWarnings(True)
    threading.excepthook = _of_thread
    sys.unraisablehook = _unraisable

    def end() -> None:
        with suppress(OSError, ValueError):
            stream.flush()
        os.dup2(2, user)

    return end


def _of_thread(about: Any) -> None:
    if about.exc_type is not SystemExit:
        name = about.thread.name if about.thread else "a thread"
        _log.warning("in %s", name, exc_info=(about.exc_type, about.exc_value, about.exc_traceback))


def _unraisable(about: Any) -> None:
    text = about.err_msg or "exception ignored in"
    _log.warning("%s %r", text, about.object, exc_info=(about.exc_type, about.exc_value, about.exc_traceback))
