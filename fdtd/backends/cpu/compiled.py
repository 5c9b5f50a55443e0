"""Functions compiled by Numba, and the cache of their machine code.

Numba's own disk cache knows a function by the file that it stands in, so a change in another file that it calls into
leaves old machine code running. Here an entry is known by everything that goes into it: text and byte code of this
whole package, compiler, processor, argument types. There is one folder for each such state of the package; checkouts
that differ do not meet, equal ones share. Only functions of this package are kept there.

An entry is two files of its own, each put in place by one rename, so that any number of processes may read and write
at the same time. What cannot be read or written is compiled again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite
import numba
from numba import njit
from numba.core import config
from numba.core.caching import IndexDataCacheFile, _Cache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target

from fdtd.cache_folder import cache_folder

config._config_fname = os.devnull  # Numba reads settings from the current folder, which may be another user's
config.reload_config()

KEPT = 16
"""Folders, of about 1 MB, at most; those used longest ago go."""

SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")
"""Numba's settings (environment variables `NUMBA_...`) that change the machine code."""


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator: Numba's `njit` with these options, and machine code kept in this package's cache."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher: Any = njit(**options)(function)
        dispatcher._cache = KernelCache(function)  # what Numba's `cache=True` does with its own
        return dispatcher

    return decorate


def compiler() -> str:
    """Return compiler, version and settings, where these are not the usual ones."""
    changed = [f"{name}={getattr(config, name)}" for name in SETTINGS if f"NUMBA_{name}" in os.environ]
    return ", ".join((f"Numba {numba.__version__}", f"llvmlite {llvmlite.__version__}", *changed))


def target() -> str:
    """Return for which processor functions are compiled here: family, name, digest of its features."""
    context: Any = cpu_target.target_context
    triple, name, features = context.codegen().magic_tuple()
    return f"{triple}, {name}, features {hashlib.sha256(features.encode()).hexdigest()[:8]}"


def _digest() -> str:
    """Return the SHA-256 in hexadecimal of all that compiled functions are made from.

    The byte code counts beside the text: Python takes a file for unchanged by its size and whole seconds, and may run
    the byte code of an earlier text.
    """
    digest = hashlib.sha256(f"{compiler()}\n{sys.implementation.cache_tag}".encode())
    package = __package__ or ""
    for file in sorted(files(package).iterdir(), key=lambda one: one.name):
        if file.name.endswith(".py") and not file.name.startswith("."):  # else an editor's or a file system's
            name = f"{package}.{file.name.removesuffix('.py')}".removesuffix(".__init__")
            digest.update(f"\n{file.name}\n{file.read_text('utf-8')}".encode())
            loader: Any = getattr(find_spec(name), "loader", None)
            digest.update("\n".join(_parts(loader.get_code(name))).encode())
    return digest.hexdigest()


def _parts(code: CodeType) -> Iterator[str]:
    """Yield what a code object computes with, without places in files."""
    yield from (code.co_name, code.co_code.hex(), repr((code.co_names, code.co_varnames, code.co_freevars)))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        else:
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


KERNEL_DIGEST = _digest()
"""Of this process's compiled functions; taken when the package is imported, as its files may change later."""


@lru_cache(maxsize=4)
def folder(caches: Path) -> Path:
    """Return where the machine code of this state of the package is, and mark it as in use."""
    found = caches / "kernels" / KERNEL_DIGEST[:24]
    with suppress(OSError):
        if not found.exists():
            found.mkdir(parents=True, exist_ok=True)
            _prune(found)
        os.utime(found)
    return found


def _prune(current: Path) -> None:
    """Remove the folders that were not used for longest; a process that runs their code has it in memory."""

    def last_used(one: Path) -> float:
        with suppress(OSError):
            return one.stat().st_mtime
        return 0.0

    others = sorted((one for one in current.parent.iterdir() if one != current), key=last_used, reverse=True)
    for one in others[KEPT - 1 :]:
        shutil.rmtree(one, ignore_errors=True)


class KernelCache(_Cache):
    """Machine code of one function, on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(folder(cache_folder()))

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the function for argument types; None where it is not there, or cannot be read."""
        if not self._enabled:
            return None
        target_context.refresh()
        about = self._about(sig, target_context.codegen())
        try:
            data = self._entry(about).load(self._name)
            return None if data is None else CompileResult._rebuild(target_context, *data)
        except Exception:  # whatever a damaged file makes the loading raise
            self._remove(about)
            return None

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Keep the function for argument types, where the folder can be written."""
        if self._enabled and not data.lifted and not data.library.has_dynamic_globals:
            with suppress(OSError):
                self._entry(self._about(sig, data.codegen)).save(self._name, data._reduce())

    def enable(self) -> None:
        """Read and write from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write."""
        self._enabled = False

    def flush(self) -> None:
        """Remove this function's entries."""
        self._remove("*")

    def _about(self, sig: Any, codegen: Any) -> str:
        """Digest of argument types and processor."""
        return hashlib.sha256(repr((sig, codegen.magic_tuple())).encode()).hexdigest()[:16]

    def _entry(self, about: str) -> IndexDataCacheFile:
        return IndexDataCacheFile(self.cache_path, f"{self._name}-{about}", KERNEL_DIGEST)

    def _remove(self, about: str) -> None:
        with suppress(OSError):
            for file in Path(self.cache_path).glob(f"{self._name}-{about}.*"):
                file.unlink(missing_ok=True)
