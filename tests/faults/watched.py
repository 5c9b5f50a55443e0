"""Sees what a piece of code does to the machine: files changed outside a folder, programs, code, unpickled objects.

The interpreter calls its audit hooks before each such operation, whatever code requests it.
"""

import os
import sys
from contextlib import contextmanager
from pathlib import Path

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGING = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod",
            "os.chown", "shutil.rmtree", "shutil.move", "shutil.copyfile")  # fmt: skip
NEVER = ("pickle.find_class", "marshal.load", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn",
         "subprocess.Popen", "socket.connect", "socket.bind", "code.__new__", "compile", "ctypes.dlopen")  # fmt: skip

_inside = None
_seen = []


def _hook(event, arguments):
    if _inside is None:
        return
    if event in NEVER:
        _seen.append((event, repr(arguments)[:200]))
    elif event in CHANGING:
        _judge(event, [one for one in arguments if isinstance(one, str | bytes | os.PathLike)])
    elif event == "open" and isinstance(arguments[0], str | bytes | os.PathLike) and arguments[2] & WRITING:
        _judge(event, [arguments[0]])


def _judge(event, paths):
    for path in paths:
        real = Path(os.path.realpath(os.fsdecode(path)))
        if not real.is_relative_to(_inside) and real != Path(os.devnull):
            _seen.append((event, str(real)))


sys.addaudithook(_hook)


@contextmanager
def watched(folder):
    """Fail when anything is changed outside a folder, or run, or unpickled."""
    global _inside
    _seen.clear()
    _inside = Path(os.path.realpath(folder))
    try:
        yield
    finally:
        _inside = None
    if _seen:
        raise AssertionError(f"done outside of what is allowed: {_seen[:5]}")
