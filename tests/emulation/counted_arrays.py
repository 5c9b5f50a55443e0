"""An array library that counts what a device's would launch; each array operation counts as one launch at least.

NumPy does the work. Arrays of the host and of this library do not mix, as on a device: an operation on both is refused.
Kernels run on the emulated device.
"""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
from host_device import HostLauncher

COUNTS: Counter[str] = Counter()
"""Operations by name since `reset`, kernels included."""
WAITS: Counter[str] = Counter()
"""Those for which the host waits."""

_VIEWS = {"broadcast_to", "broadcast_arrays", "reshape", "ravel", "swapaxes", "transpose", "empty", "imag", "real"}
_WAITING = {"nonzero", "unique"}


def reset() -> None:
    """Begin to count again."""
    COUNTS.clear()
    WAITS.clear()


def _count(name: str, waits: bool = False) -> None:
    if name not in _VIEWS:
        COUNTS[name] += 1
    if waits or name in _WAITING:
        WAITS[name] += 1


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def host(value: Any) -> Any:
    """Return NumPy's arrays in place of this library's."""
    if isinstance(value, ndarray):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)):
        return type(value)(host(one) for one in value)
    return {name: host(one) for name, one in value.items()} if isinstance(value, dict) else value


def _ours(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value).view(ndarray)
    return type(value)(_ours(one) for one in value) if isinstance(value, (list, tuple)) else value


class ndarray(np.ndarray):  # noqa: N801 - as array libraries call it
    """An array of this library."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        for one in inputs:
            if isinstance(one, np.ndarray) and not isinstance(one, ndarray) and one.ndim:
                raise TypeError(f"{ufunc.__name__} of a device's array and one of the host")
        _count(ufunc.__name__)
        if out is not None:
            options["out"] = host(out)
        found = getattr(ufunc, method)(*map(host, inputs), **host(options))
        return out[0] if out is not None else _ours(found)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        _count(function.__name__)
        return _ours(function(*host(list(arguments)), **host(options)))

    def __getitem__(self, key: Any) -> Any:
        if any(isinstance(one, (np.ndarray, list)) for one in _parts(key)):
            _count("take", isinstance(key, np.ndarray) and key.dtype == np.bool_)
        return _ours(host(self)[host(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        _count("put", any(isinstance(one, np.ndarray) and one.dtype == np.bool_ for one in _parts(key)))
        host(self)[host(key)] = host(value)

    def __bool__(self) -> bool:
        WAITS["bool"] += 1
        return bool(host(self))

    def get(self) -> np.ndarray:
        WAITS["get"] += 1
        return host(self).copy()


def _method(name: str) -> Any:
    def method(self: ndarray, *arguments: Any, **options: Any) -> Any:
        _count(name)
        return _ours(getattr(host(self), name)(*host(list(arguments)), **host(options)))

    return method


for _name in ("sum", "mean", "any", "all", "min", "max", "astype", "copy", "ravel", "reshape"):
    setattr(ndarray, _name, _method(_name))


def asarray(value: Any, dtype: Any = None) -> Any:
    """Return the array itself, or a copy of the host's."""
    if isinstance(value, ndarray) and dtype in (None, value.dtype):
        return value
    return _ours(np.array(host(value), dtype=dtype))


class _Stream:
    """The one stream of this library's device."""

    def synchronize(self) -> None:
        WAITS["synchronize"] += 1


cuda = SimpleNamespace(get_current_stream=_Stream)


def __getattr__(name: str) -> Any:
    found = getattr(np, name)
    if isinstance(found, type) or not callable(found):
        return found

    def function(*arguments: Any, **options: Any) -> Any:
        _count(name)
        return _ours(found(*host(list(arguments)), **host(options)))

    return function


class CountingLauncher:
    """A `fdtd.backends.cuda.rasterise.Launcher` on the emulated device."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays
        self._launch = HostLauncher()

    def __call__(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        _count(kernel)
        assert not any(isinstance(one, np.ndarray) and not isinstance(one, ndarray) for one in arguments)
        self._launch(text, kernel, grid, threads, *host(list(arguments)))
