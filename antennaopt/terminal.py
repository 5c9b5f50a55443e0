r"""Text output of the program: hidden characters are made visible, and a failed write becomes an exit code.

Titles, keys, paths and messages of workers come from files and from other machines. On a terminal their control
characters could recolour, overwrite or reorder the output. So `sys.stdout` and `sys.stderr` are replaced, while a
command runs, by streams that write such characters as `\x1b` or `\u202e`.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from antennaopt.errors import ReaderGone, StorageError

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction of writing
    "\u200b\u2028\u2029\u2060-\u2065\ufeff"  # no width, or another line; emoji and Persian need U+200C and U+200D
    "\ud800-\udfff]"  # halves of surrogate pairs: bytes of a path that are not UTF-8
)
DRAWING = re.compile(r"(\x1b\[[0-9;?]*[A-Za-z]|\r)")
"""What rich moves the cursor and colours with."""


def visible(text: str) -> str:
    """Return text with its hidden characters written as escapes; line feeds, tabs and all letters stay."""
    return HIDDEN.sub(lambda found: _escape(found[0]), text)


def one_line(text: str) -> str:
    """Return text as `visible` does, in one line."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def with_article(name: str) -> str:
    """Return a family's name with its indefinite article: `an open_waveguide`."""
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Printed:
    """A text stream in the place of `sys.stdout` or `sys.stderr`.

    Results go to stdout: where they cannot be written, the command ends. Messages go to stderr: where they cannot be
    written, the command continues, and the fault decides the exit code at the end.

    Attributes:
        problem: Reason of a failed write; None without one.
    """

    def __init__(self, stream: TextIO | None, *, name: str, results: bool) -> None:
        """Wrap a stream.

        Args:
            stream: As Python opened it; None for one that was closed when the program began.
            name: For the error.
            results: Whether a failed write ends the command.
        """
        self._stream: TextIO = io.StringIO() if stream is None else stream
        self._closed_before = stream is None
        self._name, self._results = name, results
        self.problem: OSError | None = None

    def write(self, text: str) -> int:
        """Write text, its hidden characters as escapes.

        Raises:
            StorageError: Results cannot be written.
            ReaderGone: The pipe's reader has ended.
        """
        self.send(visible(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write each text."""
        for line in lines:
            self.write(line)

    def send(self, text: str) -> None:
        """Write text as it is."""
        if self._closed_before and text:
            self._failed(OSError(errno.EBADF, "it is closed"))
        elif self.problem is not None:
            self._failed(self.problem)
        else:
            try:
                self._stream.write(self._encodable(text))
            except (OSError, ValueError) as problem:
                self._failed(problem)

    def flush(self) -> None:
        """Write the buffer."""
        if self.problem is not None:
            return
        try:
            self._stream.flush()
        except (OSError, ValueError) as problem:
            self._failed(problem)

    def error(self) -> StorageError | ReaderGone:
        """Return the error of a command for this fault."""
        if self.problem is not None and self.problem.errno == errno.EPIPE:
            return ReaderGone(f"{self._name} has no reader any more")
        reason = self.problem.strerror or str(self.problem) if self.problem else "unknown"
        return StorageError(f"{self._name} cannot be written ({reason}); send it to another file")

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # else click would write around us
            raise AttributeError(name)
        return getattr(self._stream, name)

    def _encodable(self, text: str) -> str:
        encoding = self._stream.encoding or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            return text.encode(encoding, "backslashreplace").decode(encoding)
        return text

    def _failed(self, problem: OSError | ValueError) -> None:
        if self.problem is None:
            self.problem = problem if isinstance(problem, OSError) else OSError(errno.EBADF, "it is closed")
            self._give_up()
        if self._results:
            raise self.error()

    def _give_up(self) -> None:
        """Discard the rest of the buffer: Python would fail again, with a message, at its end."""
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nowhere, self._stream.fileno())
            finally:
                os.close(nowhere)


class _Drawn:
    """A `Printed` for rich that lets its escape sequences pass."""

    def __init__(self, stream: Printed) -> None:
        self._printed = stream

    def write(self, text: str) -> int:
        parts = DRAWING.split(text)
        self._printed.send("".join(part if place % 2 else visible(part) for place, part in enumerate(parts)))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._printed, name)


def drawn(stream: TextIO) -> Any:
    """Return the stream that rich draws on; make text of other sources `visible` before rich gets it."""
    return _Drawn(stream) if isinstance(stream, Printed) else stream


@contextmanager
def printed() -> Iterator[tuple[Printed, Printed]]:
    """Replace `sys.stdout` and `sys.stderr`; yields both in this order."""
    _fill_descriptors()
    before = sys.stdout, sys.stderr
    out = Printed(sys.stdout, name="stdout", results=True)
    err = Printed(sys.stderr, name="stderr", results=False)
    sys.stdout, sys.stderr = out, err  # type: ignore[assignment]
    try:
        yield out, err
    finally:
        sys.stdout, sys.stderr = before


def _fill_descriptors() -> None:
    """Open streams that were closed at the start: else the next opened file would get their number, and their text."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number is this one


def plain(text: str) -> str:
    """Return text with signs that every terminal has: those of the report are of print."""
    return text.replace("\N{MINUS SIGN}", "-").replace("\N{DEGREE SIGN}", "deg")
