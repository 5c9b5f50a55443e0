"""The data that every scheme and the tile model need to know about an update equation set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Stencil:
    """One cell's update, both half steps together.

    Attributes:
        name: As the command line spells it.
        fields: State of a cell, in the order of the arrays.
        halves: Half updates a step that must follow each other (a leapfrog has two).
        coefficients: Numbers a cell needs where the medium is neither air nor metal.
        column_coefficients: Numbers that depend on the column alone.
        radial_memory: Filter states of a cell in the radial layer (or in a layer that ends the first axis).
        axial_memory: Filter states of a cell in a layer that ends the second axis.
        additions: Additions a cell and step, air.
        multiply_adds: Fused multiply-adds a cell and step, air.
        text: The CUDA file that holds the update.
    """

    name: str
    fields: tuple[str, ...]
    halves: int
    coefficients: int
    column_coefficients: int
    radial_memory: int
    axial_memory: int
    additions: int
    multiply_adds: int
    text: str

    @property
    def flops(self) -> int:
        """Floating-point operations a cell and step, air."""
        return self.additions + 2 * self.multiply_adds

    def bytes_per_step(self, size: int, steps: int = 1) -> float:
        """Memory traffic a cell and step when the fields are read and written once for `steps` steps.

        Args:
            size: Bytes of a number.
            steps: Time steps a trip; one step in separate launches of each half costs `split_bytes`.
        """
        return 2 * len(self.fields) * size / steps

    def split_bytes(self, size: int) -> float:
        """Memory traffic a cell and step with one launch a half step: each reads all fields and writes its share."""
        return (self.halves + 1) * len(self.fields) * size
