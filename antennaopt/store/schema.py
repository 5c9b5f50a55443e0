"""The columns of a run's Parquet files: one explicit schema, the same for every generation of a run.

A missing column, or a type guessed from a generation in which nothing was `ok`, would break the data set for every
reader after it; so nothing here is guessed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from antennaopt.figures import Figure
from antennaopt.metrics import METRICS, Metric, metric_of
from antennaopt.search.objectives import UNDEFINED_AIM
from antennaopt.solve.cuts import LEVELS

SCHEMA_VERSION = 5
"""2 since rows have the columns of `CERTIFICATE`, 3 since they have those of `ORIGIN`, 4 since the manifest names the
metrics, 5 since patterns are complex; older runs are read, and resumed without them."""

FIRST_METRICS = (
    "s11_db",
    "directivity_dbi",
    "max_directivity_dbi",
    "gain_dbi",
    "radiation_efficiency",
    "hpbw_e_deg",
    "hpbw_h_deg",
    "sidelobe_db",
    "front_to_back_db",
    "crosspol_db",
    "power_balance",
    "contour_balance",
)
"""Metrics of runs of schema versions 1 to 3, in the order of their columns; later runs name theirs in the manifest."""

PARTS_OF_S11 = ("s11_re", "s11_im")
"""Columns of `s11`, which an outcome holds as pairs; they stand before those of the metrics."""

GENE_UNITS = {"length": ("_mm", 1e3), "number": ("", 1.0)}
"""By a gene's dimension: the ending of its column's name, and what its SI value is multiplied by."""


@dataclass(frozen=True, kw_only=True)
class GeneColumn:
    """Where one gene's values stand.

    Attributes:
        name: Dotted name of the design parameter, `lens.radii.0`.
        dimension: `length` (SI metres, shown in mm) or `number`.
    """

    name: str
    dimension: str = "length"

    @property
    def column(self) -> str:
        """Column name with the unit in it, `lens_radii_0_mm`."""
        return self.name.replace(".", "_") + GENE_UNITS[self.dimension][0]

    @property
    def scale(self) -> float:
        """Column value over SI value."""
        return GENE_UNITS[self.dimension][1]


@dataclass(frozen=True, kw_only=True)
class RunColumns:
    """What differs from one run's columns to another's.

    Attributes:
        genes: One column each, in the genome's order.
        frequencies: Hz, in the solver's order; each metric has one column for each.
        objectives: Name of each objective, in the experiment's order; one shortfall column each.
        certificate: Whether there are columns for the certificate; runs of schema version 1 have none.
        origin: Whether there are the columns of `ORIGIN`; runs of schema versions 1 and 2 have none.
        feed_radius: Inner radius of the feed, m, for certificates, where it is no gene; None where a port feeds the
            antenna, and in older runs.
        feed_permittivity: Of what fills the feed, where it is no gene.
        metrics: Keys of the metrics, one column each a frequency, in the order of the columns.
        complex_cuts: Whether patterns are complex amplitudes; runs of schema versions 1 to 4 have directivity in dBi.
        figures: That the objectives ask for, columns as of a metric after those of the metrics.
        outline: SHA-256 of the sections that the file draws, hexadecimal, a column; empty where the family draws none.
        modes: Whether there is a column of the waves of modes.
        constraints: Number of constraints, the last of `objectives`; with any there is the column `violation`.
        fidelity: Whether there is a column of the level, of a run on several lattices.
        sampled: Parameters that made copies differ in; with any there are the columns of `SAMPLING`, and `samples/`.
        aims: One an objective, `largest`, `least` or empty; empty without any aim.
    """

    genes: tuple[GeneColumn, ...]
    frequencies: tuple[float, ...]
    objectives: tuple[str, ...]
    certificate: bool = True
    origin: bool = True
    feed_radius: float | None = None
    feed_permittivity: float = 1.0
    metrics: tuple[str, ...] = tuple(METRICS)
    complex_cuts: bool = True
    figures: tuple[Figure, ...] = ()
    outline: str = ""
    modes: bool = False
    constraints: int = 0
    aims: tuple[str, ...] = ()
    fidelity: bool = False
    sampled: tuple[GeneColumn, ...] = ()

    @classmethod
    def of(
        cls,
        genes: Iterable[Any],
        frequencies: Iterable[float],
        objectives: Iterable[str],
        *,
        feed_radius: float | None,
        feed_permittivity: float = 1.0,
        figures: Iterable[Figure] = (),
        **more: Any,
    ) -> RunColumns:
        """Build the columns from anything whose genes have a `name` and a `dimension`; `more` are other attributes."""
        return cls(
            genes=tuple(GeneColumn(name=gene.name, dimension=gene.dimension) for gene in genes),
            frequencies=tuple(float(hz) for hz in frequencies),
            objectives=tuple(objectives),
            feed_radius=None if feed_radius is None else float(feed_radius),
            feed_permittivity=float(feed_permittivity),
            figures=tuple(figures),
            **more,
        )

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> RunColumns:
        """Read back what `to_dict` wrote."""
        radius = table.get("feed_radius")
        if radius is not None and not 0 < float(radius) < math.inf:
            raise ValueError(f"columns.feed_radius = {radius} m (must be > 0)")
        return cls(
            genes=tuple(GeneColumn(name=gene["name"], dimension=gene["dimension"]) for gene in table["genes"]),
            frequencies=tuple(float(hz) for hz in table["frequencies"]),
            objectives=tuple(table["objectives"]),
            certificate=bool(table.get("certificate", False)),
            origin=bool(table.get("origin", False)),
            feed_radius=None if radius is None else float(radius),
            feed_permittivity=float(table.get("feed_permittivity", 1.0)),
            metrics=tuple(str(name) for name in table.get("metrics", FIRST_METRICS)),
            complex_cuts=bool(table.get("complex_cuts", False)),
            figures=tuple(Figure.of(one) for one in table.get("figures", ())),
            outline=str(table.get("outline", "")),
            modes=bool(table.get("modes", False)),
            constraints=int(table.get("constraints", 0)),
            aims=tuple(str(one) for one in table.get("aims", ())),
            fidelity=bool(table.get("fidelity", False)),
            sampled=tuple(GeneColumn(name=one["name"], dimension=one["dimension"]) for one in table.get("sampled", ())),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as JSON-able values, for the manifest."""
        data = asdict(self) | {"figures": [one.to_dict() for one in self.figures]}
        plain = {"figures": [], "outline": "", "modes": False, "feed_permittivity": 1.0,
                 "constraints": 0, "aims": (), "fidelity": False, "sampled": ()}  # fmt: skip
        return {name: value for name, value in data.items() if name not in plain or value != plain[name]}

    @property
    def shortfall_columns(self) -> tuple[str, ...]:
        """One column an objective, then one a constraint: `shortfall_0_s11_db`; of an aim `aim_1_length_mm`."""
        aims = (*self.aims, *("",) * (len(self.objectives) - len(self.aims)))
        return tuple(
            f"{'aim' if aim else 'shortfall'}_{place}_{plain_name(name)}"
            for place, (name, aim) in enumerate(zip(self.objectives, aims, strict=True))
        )

    def levels(self, place: int, minimised: Iterable[float | None]) -> list[float | None]:
        """Return what an objective's column holds: shortfalls as they are; of an aim the metric, None where undefined.

        Args:
            place: Of the objective.
            minimised: The numbers that are minimised, one a row.
        """
        aim = self.aims[place] if place < len(self.aims) else ""
        if not aim:
            return list(minimised)
        sign = -1.0 if aim == "largest" else 1.0
        return [None if one is None or one >= UNDEFINED_AIM else sign * one for one in minimised]

    @cached_property
    def metric_columns(self) -> dict[str, tuple[str, ...]]:
        """Columns of each metric, figure and part of S11, one a frequency."""
        return {
            metric: tuple(self.metric_column(metric, hz) for hz in self.frequencies)
            for metric in (*PARTS_OF_S11, *self.metrics, *(one.name for one in self.figures))
        }

    @property
    def merits(self) -> tuple[Metric, ...]:
        """Metrics, then figures: names, labels and units."""
        return (*map(metric_of, self.metrics), *(one.about for one in self.figures))

    def metric_column(self, metric: str, frequency_hz: float) -> str:
        """Return the column of a metric at a frequency: `directivity_dbi_28500mhz`."""
        return f"{metric}_{frequency_label(frequency_hz)}"

    def evals_schema(self, *, config_hash: str = "") -> pa.Schema:
        """Return the schema of `evals/gen-*.parquet`."""
        metrics = [pa.field(name, pa.float64()) for names in self.metric_columns.values() for name in names]
        fields = [
            *(pa.field(name, kind) for name, kind in IDENTITY),
            *(pa.field(gene.column, pa.float64()) for gene in self.genes),
            *metrics,
            pa.field("decay_db", pa.float64()),
            *(pa.field(name, kind) for name, kind in CERTIFICATE if self.certificate),
            *(pa.field(name, pa.float64()) for name in self.shortfall_columns),
            *([pa.field(VIOLATION, pa.float64())] if self.constraints else []),
            *(pa.field(name, kind) for name, kind in ACCOUNT),
            *(pa.field(name, kind) for name, kind in ORIGIN if self.origin),
            *([pa.field(OUTLINE, pa.string())] if self.outline else []),
            *([pa.field(MODES, WAVES)] if self.modes else []),
            *([pa.field(LEVEL, pa.int64())] if self.fidelity else []),
            *(pa.field(name, kind) for name, kind in SAMPLING if self.sampled),
        ]
        return pa.schema(fields, metadata=file_metadata(config_hash))

    def samples_schema(self, *, config_hash: str = "") -> pa.Schema:
        """Return the schema of `samples/gen-*.parquet`: a row a made copy."""
        metrics = [pa.field(name, pa.float64()) for names in self.metric_columns.values() for name in names]
        fields = [
            *(pa.field(name, kind) for name, kind in SAMPLE),
            *(pa.field(one.column, pa.float64()) for one in self.sampled),
            *metrics,
            pa.field("decay_db", pa.float64()),
            *(pa.field(name, pa.float64()) for name in self.shortfall_columns),
            *(pa.field(name, kind) for name, kind in ACCOUNT if name != "cached"),
            *(pa.field(name, kind) for name, kind in ORIGIN if name in ("origin", "stepping_seconds")),
        ]
        return pa.schema(fields, metadata=file_metadata(config_hash))


VIOLATION = "violation"
"""Column of the total violation of the constraints, 0 when all are met."""

OUTLINE = "outline_sha256"
"""Column of the digest of the sections that a file draws."""

MODES = "modes"
"""Column of the waves of modes in planes, one entry a frequency and wave; see `antennaopt.solve.modes`."""

LEVEL = "level"
"""Column of the level of a run on several lattices, 0 the coarsest; `fidelity` of the manifest has their plans."""

SAMPLING: Sequence[tuple[str, pa.DataType]] = (
    ("samples", pa.int64()),
    ("sample_yield", pa.float64()),
    ("nominal_fitness", pa.float64()),
)
"""Of a search with samples: made copies that were solved, the share of them that meets all goals, and the fitness of
the design itself."""

SAMPLE: Sequence[tuple[str, pa.DataType]] = (
    ("run", pa.string()),
    ("generation", pa.int64()),
    ("individual", pa.string()),
    ("sample", pa.int64()),
    ("met", pa.bool_()),
    ("status", pa.string()),
    ("error", pa.string()),
)
"""Of a made copy: `individual` is its parent, `sample` its number from 1."""

WAVES = pa.list_(
    pa.struct([
        pa.field("frequency_hz", pa.float64()),
        pa.field("plane_m", pa.float64()),
        pa.field("name", pa.string()),
        pa.field("direction", pa.string()),
        pa.field("s_re", pa.float64()),
        pa.field("s_im", pa.float64()),
    ])
)  # fmt: skip

IDENTITY: Sequence[tuple[str, pa.DataType]] = (
    ("run", pa.string()),
    ("generation", pa.int64()),
    ("slot", pa.int64()),
    ("individual", pa.string()),
    ("parents", pa.list_(pa.string())),
    ("operator", pa.string()),
    ("status", pa.string()),
    ("error", pa.string()),
    ("genome", pa.list_(pa.float64())),
)

NEVER_EMPTY = frozenset({
    "run", "generation", "slot", "individual", "parents", "operator", "status", "genome", "fitness", "cached",
    "frequency_hz",
})  # fmt: skip
"""Columns of evaluations or patterns that every row has: one without is damaged."""

CERTIFICATE: Sequence[tuple[str, pa.DataType]] = (
    ("certificate", pa.string()),
    ("certificate_reason", pa.string()),
    ("mesh_directivity_db", pa.float64()),
    ("mesh_s11", pa.float64()),
)
"""Verdict and what speaks against it; the changes with another mesh where the antenna was solved on one."""

ACCOUNT: Sequence[tuple[str, pa.DataType]] = (
    ("fitness", pa.float64()),
    ("cached", pa.bool_()),
    ("seconds", pa.float64()),
    ("steps", pa.int64()),
    ("worker", pa.string()),
    ("device", pa.string()),
    ("attempt", pa.int64()),
)

ORIGIN: Sequence[tuple[str, pa.DataType]] = (
    ("origin", pa.string()),
    ("birth", pa.int64()),
    ("bred_after", pa.int64()),
    ("stepping_seconds", pa.float64()),
)
"""Where the outcome is from: `solved`, `twin` (an equal design of this run), `cells` (equal cells solved in this run),
`cache` (an earlier run). Of a steady state the number in order of birth, and how many individuals were complete by
then; `generation` and `slot` are the order of completion."""


CUT_COLUMNS = ("theta_deg", "e_re", "e_im", "h_re", "h_im")
"""Columns of a pattern, lists: angles, and the parts of both planes' amplitudes; see `antennaopt.solve.cuts`."""

OLDER_CUT_COLUMNS = ("theta_deg", *LEVELS)
"""The same of runs of schema versions 1 to 4: angles, and directivity in dBi."""


def cut_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Return which of `CUT_COLUMNS` and `OLDER_CUT_COLUMNS` a table of patterns has."""
    return CUT_COLUMNS if CUT_COLUMNS[1] in schema.names else OLDER_CUT_COLUMNS


def patterns_schema(*, config_hash: str = "", complex_cuts: bool = True) -> pa.Schema:
    """Return the schema of `patterns/gen-*.parquet`: one row an individual and frequency, cuts as lists."""
    cut = pa.list_(pa.float32())
    return pa.schema(
        [
            pa.field("run", pa.string()),
            pa.field("individual", pa.string()),
            pa.field("frequency_hz", pa.float64()),
            *(pa.field(name, cut) for name in (CUT_COLUMNS if complex_cuts else OLDER_CUT_COLUMNS)),
        ],
        metadata=file_metadata(config_hash),
    )


def frequency_label(frequency_hz: float) -> str:
    """Return a frequency as it stands in column names: 28.5 GHz is `28500mhz`, 2.4005 GHz `2400p5mhz`."""
    return f"{frequency_hz / 1e6:.12g}mhz".replace(".", "p")


def plain_name(name: str) -> str:
    """Return a name with everything but letters, digits and underscores replaced, fit for a column or a folder."""
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")


def file_metadata(config_hash: str) -> dict[str, str]:
    """Return the key-value metadata that every Parquet file of a run carries."""
    return {"antennaopt_schema": str(SCHEMA_VERSION), "config_hash": config_hash}
