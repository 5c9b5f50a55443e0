"""Modules that are tables: `antennaopt.metrics["gain_dbi"]`, `list(antennaopt.families)`."""

from __future__ import annotations

import sys
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from types import ModuleType
from typing import Any


class TableModule(ModuleType):
    """A module that offers its table by subscription."""

    _table: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        if key not in self._table:
            raise KeyError(f"{key!r} is not in {self.__name__}; it has {', '.join(self._table)}")
        return self._table[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, key: object) -> bool:
        return key in self._table

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._table.keys()

    def values(self) -> ValuesView[Any]:
        """Return the entries."""
        return self._table.values()

    def items(self) -> ItemsView[str, Any]:
        """Return names and entries."""
        return self._table.items()


def read_as(module: str, table: dict[str, Any]) -> None:
    """Make a module readable like a table.

    Args:
        module: Its `__name__`.
        table: Entries by name.
    """
    found = sys.modules[module]
    found.__class__ = TableModule
    found._table = table  # type: ignore[attr-defined]
