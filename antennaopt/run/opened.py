"""A run folder as a Python object: its rows, its antennas and their yield."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from antennaopt.run.stores import Individual
    from antennaopt.run.tolerance import YieldStudy


class Run:
    """A run folder, finished or not.

    Attributes:
        folder: Its path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def rows(self) -> pd.DataFrame:
        """All evaluations, one row per individual, in order of generation and slot."""
        from antennaopt.store import load

        return load(self.folder)

    @property
    def front(self) -> pd.DataFrame:
        """Non-dominated rows of a run with two or more objectives; see `antennaopt.report.front`."""
        from antennaopt.report.front import front_of

        return front_of(self.folder)

    @property
    def samples(self) -> pd.DataFrame:
        """Made copies solved by a search with `tolerance.samples`, one row each, named by `individual` and `sample`."""
        from antennaopt.store.made import load_made

        return load_made(self.folder)

    @property
    def yields(self) -> list[dict[str, Any]]:
        """Yields from the end of a search with samples or from `tolerance`, in the form that this command writes."""
        from antennaopt.run.yields import yields_in

        return yields_in(self.folder)

    @property
    def best(self) -> Individual:
        """The best individual: `individual`, `design`, `fitness`, `outcome`; `ao.simulate(run.best)` solves it again.

        Raises:
            ConfigurationError: No antenna of the run is `ok` yet.
        """
        return self.individual("best")

    def individual(self, name: str) -> Individual:
        """Return an individual.

        Args:
            name: Id as in the rows, `g0003-s012`, or `best`.

        Raises:
            ConfigurationError: There is no such individual.
        """
        from antennaopt.run.stores import recall

        return recall(self.folder, name)

    def tolerance(
        self,
        individual: str = "best",
        *,
        samples: int = 1000,
        seed: int | None = None,
        of: Mapping[str, Any] | None = None,
        workers: int | None = None,
        backend: str = "auto",
        scheduler: str | None = None,
    ) -> YieldStudy:
        """Compute the yield of an antenna: the share of made antennas that meet all goals, like the command.

        Worker processes import the calling script, so put the call under `if __name__ == "__main__":`.

        Args:
            individual: Id of the antenna, or `best`.
            samples: Number of made antennas.
            seed: Seed of the deviations; that of the run if None.
            of: Tolerances in place of the run's `[tolerance.of]`: `{"lens.radii": {"sigma": "0.02 mm"}}`.
            workers: Number of local worker processes; that of the run if None.
            backend: `auto` (that of the run), `cpu` or `cuda`.
            scheduler: Address of a running Dask scheduler; the run's cluster if None.

        Returns:
            `value` (the yield), `interval`, `account` (spread of each goal, influences), `rows`.

        Raises:
            ConfigurationError: No such individual, no tolerances, or the call is not guarded.
            ClusterError: No scheduler, no worker, no device.
            Interrupted: Ctrl-C; the same call continues, with solved antennas from the evaluation cache.
        """
        from antennaopt.run.process import require_guard

        require_guard("tolerance")
        from antennaopt.run.tolerance import Request, tolerance

        cluster = {} if workers is None else {"workers": workers}
        request = Request(individual=individual, samples=samples, seed=seed, of=of, cluster=cluster)
        return tolerance(self.folder, request, backend=None if backend == "auto" else backend, scheduler=scheduler)

    def __repr__(self) -> str:
        return f"<Run {str(self.folder)!r}>"
