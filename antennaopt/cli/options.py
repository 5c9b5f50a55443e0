"""Options that several commands share, and their checks."""

from __future__ import annotations

import errno
import json
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from antennaopt.errors import ConfigurationError, StorageError
from antennaopt.solve.device import BACKENDS
from antennaopt.store.files import require_name
from antennaopt.terminal import one_line

quiet_option = click.option("--quiet", "-q", is_flag=True, help="Print only errors and the requested data.")
plot_option = click.option(
    "--plot", type=click.Path(path_type=Path), metavar="FILE", help="Write a figure (.png, .svg, .pdf)."
)
json_option = click.option("--json", "json_file", metavar="FILE", help="Write the data as JSON; - is stdout.")

bare_json_option = click.option(
    "--json",
    "json_file",
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="Write the data as JSON; without a file, or with -, to stdout.",
)
set_option = click.option(
    "--set",
    "overrides",
    metavar="A.B=V",
    multiple=True,
    help="Change an entry of the file, e.g. --set evolution.population=48; may be repeated.",
)
scheduler_option = click.option(
    "--scheduler", metavar="ADDRESS", help="Use a running scheduler, e.g. tls://node1:8786."
)
tls_option = click.option("--tls", metavar="FOLDER", help="Folder with certificates from `antennaopt tls`.")
insecure_option = click.option(
    "--insecure", is_flag=True, help="Allow connections to and from other machines without TLS."
)


def options_of(*options: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds options to a command, in the order of its help."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


cluster_options = options_of(scheduler_option, tls_option, insecure_option)
"""`--scheduler`, `--tls` and `--insecure`: where antennas are solved and which hosts are admitted."""


def cluster_changes(tls: str | None) -> list[str]:
    """Return what `--tls` changes in the experiment's `[cluster]`."""
    return [] if tls is None else [f"cluster.tls={json.dumps(str(Path(tls).expanduser().absolute()))}"]


def cache_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--cache` and `--no-cache`: whether outcomes of earlier runs are reused."""
    off = click.option("--no-cache", is_flag=True, help="Solve every antenna; do not use the evaluation cache.")
    folder = click.option("--cache", metavar="FOLDER", help="Folder of the evaluation cache; default: the user's.")
    return folder(off(command))


def asked_cache(folder: str | None, off: bool) -> str | None:
    """Return the setting of `--cache` and `--no-cache` as `antennaopt.run.run` takes it.

    Raises:
        ConfigurationError: Both were given, or the folder is none.
    """
    if off and folder is not None:
        raise ConfigurationError("--cache and --no-cache exclude each other; leave one out")
    if folder is not None:
        check_folder(folder)
    return "off" if off else folder


def completed_from(values: Iterable[str]) -> Callable[..., list[str]]:
    """Return what gives a shell the values of an option that begin as typed; the option itself checks its value."""

    def matching(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return matching


def backend_option(default: str | None = "auto") -> Callable[[Any], Any]:
    """Return the option `--backend`."""
    return click.option(
        "--backend",
        metavar="NAME",
        default=default,
        help=f"Solver backend: {', '.join(BACKENDS)}.",
        show_default=True,
        shell_complete=completed_from(BACKENDS),
    )


def check_writable(*files: Path | str | None, inputs: Iterable[Path | str | None] = ()) -> None:
    """Make sure, before hours are spent, that files can be written, each to a place of its own. Makes nothing.

    Args:
        files: Files to be written; None and `-` (stdout) are passed over.
        inputs: Files and run folders that the command reads.

    Raises:
        ConfigurationError: Two of them are one file, whatever they are called, or one is an input or a run's own.
        StorageError: One of them is a folder, or its folder is not there or cannot be written.
    """
    paths = [Path(file) for file in files if file is not None and str(file) != "-"]
    _refuse_overwriting(paths, [Path(file) for file in inputs if file is not None])
    for path in paths:
        if path.is_dir():
            raise StorageError(f"{path} is a folder; name a file in it")
        if path.parent.resolve() == Path("/dev") or (path.exists() and not path.is_file()):
            raise StorageError(
                f"{path} is not a regular file, and would be replaced by one; name a file, or - for stdout"
            )
        if path.exists() and not _can_open(path):
            raise StorageError(f"{path} cannot be written; change its permissions or name another file")
        check_folder(path.parent)
        if not path.parent.exists():
            raise StorageError(f"{path.parent} does not exist, so {path} cannot be written; make that folder first")


def _refuse_overwriting(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Refuse outputs that are one file, by whatever path, or that the command reads."""
    seen: dict[Any, Path] = {}
    for path in outputs:
        mark = _identity(path)
        if mark is not None and mark in seen:
            what = "is named for two outputs" if path == seen[mark] else f"and {seen[mark]} are one file"
            raise ConfigurationError(f"{path} {what}; give each output a file of its own")
        seen[mark] = path
    for source in inputs:
        for path in outputs:
            if source.is_dir():
                _refuse_own_file(source, path)
            elif _identity(path) is not None and _identity(path) == _identity(source):
                raise ConfigurationError(f"{path} would overwrite the input {source}; name another file")


def _refuse_own_file(run: Path, output: Path) -> None:
    from antennaopt.store.files import is_own_file

    if is_own_file(run, output):
        raise ConfigurationError(f"{output} would overwrite a file of the run {run}; name another file")


def _identity(path: Path) -> Any:
    """Return what two paths of one file have in common; None for what is no file."""
    try:
        found = path.stat()
    except OSError:
        return str(path.resolve())
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def check_plot(plot: Path | None, json_file: str | None = None, *, inputs: Iterable[Path | str | None] = ()) -> None:
    """Refuse a figure, and the data that go with it, when they cannot be written; call it before measuring.

    Raises:
        ConfigurationError: Its ending is not known, or both are one file.
        StorageError: One cannot be written.
    """
    check_writable(plot, json_file, inputs=inputs)
    if plot is None:
        return
    from antennaopt.report.canvas import check_kind

    check_kind(plot)


def given_options(context: click.Context) -> set[str]:
    """Return the options that stand on the command line."""
    return {
        option
        for parameter in context.command.params
        if context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        for option in parameter.opts
    }


def check_folder(folder: Path | str) -> None:
    """Make sure that files can be made in a folder, or that it can be made itself.

    Raises:
        ConfigurationError: Its name is not UTF-8, or no folder can have it.
        StorageError: They cannot.
    """
    require_name(folder)
    at = Path(folder).absolute()
    while not at.exists() and at != at.parent:
        at = at.parent
    if not at.is_dir():
        raise StorageError(f"{at} is not a folder, so {folder} cannot be written; choose another folder")
    try:
        with tempfile.TemporaryFile(dir=at):
            pass
    except OSError as error:
        mend = "change its permissions or " if error.errno in (errno.EACCES, errno.EPERM) else ""
        raise StorageError(
            f"nothing can be written in {at}, so not {folder} ({error.strerror or error}); {mend}choose another folder"
        ) from None


def warn(lines: Iterable[str]) -> None:
    """Print warnings on stderr, one line each."""
    for line in lines:
        print(f"warning: {one_line(line)}", file=sys.stderr)


@contextmanager
def warnings_as_lines(*, quiet: bool = False) -> Iterator[None]:
    """Print a `UserWarning` of the solver as a line of its own, or not at all; others stay as they are."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if not issubclass(category, UserWarning):
                usual(message, category, *where, **more)
            elif not quiet:
                warn([str(message)])

        warnings.showwarning = show
        yield


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Name the file in what the solver refuses of it, as in what the file's own check refuses.

    Raises:
        ConfigurationError: In place of the solver's `ConfigError`.
    """
    from fdtd.errors import ConfigError

    try:
        yield
    except ConfigError as error:
        raise ConfigurationError(f"{file}: {error}") from None


def write_out(file: str, text: str) -> None:
    """Write text to a file in one step, or to stdout for `-`.

    Raises:
        StorageError: The file cannot be written.
    """
    if file == "-":
        click.echo(text, nl=False)
        return
    from antennaopt.store.files import write_text

    write_text(Path(file), text)


def write_json(file: str | None, data: Any, *, allow_nan: bool = True) -> None:
    """Write data as JSON, where a file is named; `-` is stdout."""
    if file is not None:
        write_out(file, json.dumps(data, indent=1, allow_nan=allow_nan) + "\n")


def teller(*, quiet: bool) -> Callable[[str], None]:
    """Return a function that prints a line on stderr at once; one that prints nothing when quiet."""

    def print_line(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    return print_line


def _can_open(path: Path) -> bool:
    try:
        with path.open("ab"):
            return True
    except OSError:
        return False
