"""A device that only plans: it shows which texts a batch compiles, without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from fdtd.schemes.machine import HOPPER, Limits


class DryDevice:
    """Takes everything that a device takes, and keeps only the texts of programs.

    Attributes:
        limits: Of the device that it stands for.
        texts: Flattened kernel texts, in the order in which they were compiled.
    """

    def __init__(self, limits: Limits = HOPPER) -> None:
        self.limits = limits
        self.texts: list[str] = []

    def upload(self, array: np.ndarray, copies: int = 1) -> Any:
        """Nothing."""
        del array, copies

    def zeros(self, count: int, dtype: np.dtype | type) -> Any:
        """Nothing."""
        del count, dtype

    def free_bytes(self) -> int:
        """All memory of the device that it stands for."""
        return self.limits.memory_bytes

    def address(self, buffer: Any) -> int:
        """No place."""
        del buffer
        return 0

    def download(self, buffer: Any) -> np.ndarray:
        """Refused: there is nothing to look at."""
        raise NotImplementedError("a device that only plans holds no numbers")

    def start_download(self, buffer: Any) -> Callable[[], np.ndarray]:
        """Refused likewise."""
        return lambda: self.download(buffer)

    def start(self, text: str, kernel: str, grid: tuple[int, int], threads: int, *arguments: Any) -> None:
        """Keep the text."""
        del kernel, grid, threads, arguments
        self.texts.append(text)

    def program(self, text: str, place: int = 0) -> DryProgram:
        """Note a text."""
        del place
        self.texts.append(text)
        return DryProgram()

    def apart(self, place: int, rank: int) -> AbstractContextManager[None]:
        """Nothing."""
        del place, rank
        return nullcontext()

    def ahead(self) -> AbstractContextManager[None]:
        """Nothing."""
        return nullcontext()


class DryProgram:
    """Launches nothing."""

    def set_parameters(self, data: bytes) -> None:
        """Nothing."""
        del data

    def launch(
        self,
        kernel: str,
        grid: tuple[int, ...],
        threads: int,
        *arguments: int,
        shared: int = 0,
        cluster: int = 1,
        together: bool = False,
    ) -> None:
        """Nothing."""
        del kernel, grid, threads, arguments, shared, cluster, together
