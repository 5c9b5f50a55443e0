"""A device that does nothing but note what it should compile: for planning, and for compiling ahead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fdtd.schemes.machine import HOPPER, Limits


class DryDevice:
    """Takes everything that a device takes, and keeps only the texts of programs.

    Attributes:
        limits: Of the device that it stands for.
        texts: Flattened kernel texts, in the order in which they were asked for.
    """

    def __init__(self, limits: Limits = HOPPER) -> None:
        self.limits = limits
        self.texts: list[str] = []

    def upload(self, array: np.ndarray, copies: int = 1) -> Any:
        """Nothing."""
        del array, copies

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

    def program(self, text: str) -> DryProgram:
        """Note a text."""
        self.texts.append(text)
        return DryProgram()


class DryProgram:
    """Launches nothing."""

    def set_parameters(self, data: bytes) -> None:
        """Nothing."""
        del data

    def launch(
        self, kernel: str, grid: tuple[int, ...], threads: int, *arguments: int, shared: int = 0, cluster: int = 1
    ) -> None:
        """Nothing."""
        del kernel, grid, threads, arguments, shared, cluster
