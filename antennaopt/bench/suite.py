"""Frozen problems for search algorithms: many searches with equal evaluations share one farm.

Each search asks for a generation at a time. The generations of all searches of a problem fill the farm together, so
that a device always has whole batches. Searches of a seed share their first generation, which is solved once.
"""

from __future__ import annotations

import heapq
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antennaopt.errors import ConfigurationError, TooManyFailuresError
from antennaopt.farm.batches import Job
from antennaopt.farm.interface import Farm
from antennaopt.machine import read_regular
from antennaopt.run.memory import design_digest
from antennaopt.run.planning import figuring, plan_for
from antennaopt.run.start import open_farm
from antennaopt.search import ALGORITHMS, Candidate, EvolutionSettings, Mutation, Stop, decode, new_search
from antennaopt.search.candidate import Result
from antennaopt.search.objectives import Ranking, shortfalls
from antennaopt.solve.figures import planned
from antennaopt.solve.outcome import REPEATABLE, Outcome

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

Row = dict[str, Any]
Solved = tuple[str, list[float], list[list[float]]]
"""Status, shortfalls and misses of an antenna."""

PROBLEMS = ("dual_mode_horn", "quickstart", "ka_band_lens", "spline_horn", "corrugated_horn", "shaped_lens")
"""Files of `antennaopt/bench/frozen`, by number of genes but for the one with whole numbers and choices."""

COMPARED = ("ga", "cmaes", "de", "surrogate", "random")
VARIANTS: dict[str, Callable[[EvolutionSettings, int], EvolutionSettings]] = {
    "ga_1/n": lambda own, genes: replace(own, mutation=replace(own.mutation, probability=1.0 / genes)),
    "ga_wide": lambda own, _: replace(own, crossover=replace(own.crossover, eta=5.0), mutation=_wide(own.mutation)),
}
"""The genetic algorithm with other settings: mutation of one gene on average; children farther from their parents."""

PLAIN = tuple(name for name, one in ALGORITHMS.items() if not one.front and name != "steady_state")
POLISHED = "+polish"
NAMES = (*PLAIN, *VARIANTS, *(f"{name}{POLISHED}" for name in (*PLAIN, *VARIANTS)))
"""What can be compared; with the ending `POLISHED` the last share of the budget is a local search."""

KEY = ("problem", "algorithm", "seed", "evaluations", "overrides")
"""What names a search: a store has one row of each."""

DECIMALS = 6
"""Of stored fitness."""

_SPARE = 4
"""Generations that a search may take over those of its budget: copies of known designs are no evaluations."""


def _wide(own: Mutation) -> Mutation:
    return replace(own, eta=8.0)


def settings_of(name: str, own: EvolutionSettings, genes: int) -> EvolutionSettings:
    """Return the settings of one of `NAMES` for a problem.

    Args:
        name: Which.
        own: Of the problem's file.
        genes: How many it has.
    """
    if name.endswith(POLISHED):
        return replace(settings_of(name.removesuffix(POLISHED), own, genes), polish=True)
    if name in VARIANTS:
        return VARIANTS[name](replace(own, algorithm="ga"), genes)
    return replace(own, algorithm=name)


def frozen(name: str) -> Path:
    """Return the file of a problem: of a name, or the one that a path ending in `.toml` names.

    Raises:
        ConfigurationError: There is no such problem.
    """
    if name.endswith(".toml"):
        return Path(name)
    if name not in PROBLEMS:
        names = ", ".join(PROBLEMS)
        raise ConfigurationError(f"--problem {name} is unknown; it is all, a file.toml or one of {names}")
    return Path(str(files("antennaopt").joinpath("bench", "frozen", f"{name}.toml")))


def evaluate_any(
    family: str, designs: list[dict[str, float]], plan: dict[str, Any], *, backend: str, **how: Any
) -> Sequence[Mapping[str, Any]]:
    """Solve a batch of the family that the plan names, so that one farm solves all problems."""
    from antennaopt.solve.evaluate import evaluate

    return evaluate(plan.get("family", family), designs, plan, backend=backend, **how)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Searches on one problem.

    Attributes:
        problem: Its name.
        experiment: What it is.
        algorithms: In the order of rows.
        seeds: A search each, of every algorithm.
        evaluations: Antennas that each search solves.
        overrides: What `--set` changed in the problem's file.
    """

    problem: str
    experiment: Experiment
    algorithms: Sequence[str]
    seeds: Sequence[int]
    evaluations: int
    overrides: tuple[str, ...] = ()

    def rows(self) -> Iterator[Row]:
        """Yield the row of each search, as far as it is known before."""
        for seed in self.seeds:
            for algorithm in self.algorithms:
                about = (self.problem, algorithm, seed, self.evaluations, list(self.overrides))
                yield {**dict(zip(KEY, about, strict=True)), "genes": len(self.experiment.genes)}


def key_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what names the search of a row."""
    return tuple(tuple(row[name]) if isinstance(row[name], list) else row[name] for name in KEY)


class Running:
    """One search, its generation under way and its history.

    Attributes:
        row: Problem, algorithm, seed, budget.
        missing: Designs of the generation under way that are not solved yet, by digest.
        history: Evaluations and best fitness, a pair each time the best became better.
    """

    def __init__(self, experiment: Experiment, row: Row) -> None:
        self.row = row
        own = settings_of(row["algorithm"], experiment.evolution.settings, len(experiment.genes))
        settings = replace(
            own,
            generations=_SPARE * (-(-row["evaluations"] // max(own.population - own.elites, 1)) + 1),
            stop=Stop(evaluations=row["evaluations"], goals=False),
        )
        self._search = new_search(settings, experiment.genes, row["seed"], order=Ranking.of(experiment.goals))
        self._genes = experiment.genes
        self._seen: set[str] = set()
        self._asked: list[tuple[Candidate, str, bool]] = []
        self._found: dict[str, Solved] = {}
        self.missing: set[str] = set()
        self.history: list[tuple[int, float]] = []

    def ask(self) -> dict[str, dict[str, float]]:
        """Return gene values of the next generation, SI, by digest; without designs that it had before."""
        wanted = {}
        for one in self._search.ask():
            values = decode(self._genes, one.genome)
            digest = design_digest(values).hex()
            self._asked.append((one, digest, digest in self._seen))
            if digest not in self._seen:
                self._seen.add(digest)
                wanted[digest] = values
        self.missing = set(wanted)
        return wanted

    def take(self, digest: str, solved: Solved) -> bool:
        """Take what came of a design; return whether the generation is complete now."""
        self._found[digest] = solved
        self.missing.discard(digest)
        return not self.missing

    def close(self) -> None:
        """Tell the search what came of its generation, if there was one."""
        count, best = self._search.evaluations, self.history[-1][1] if self.history else None
        results = [
            Result(individual=one.individual, status=self._found[digest][0], shortfalls=self._found[digest][1],
                   misses=self._found[digest][2], cached=cached)
            for one, digest, cached in self._asked
        ]  # fmt: skip
        self._asked = []
        for one in self._search.tell(results):
            count += not one.cached
            if one.ok and (best is None or one.fitness < best):
                best = one.fitness
                self.history.append((count, best))

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return self._search.stopped() is not None

    def finished(self, seconds: float) -> Row:
        """Return the row.

        Raises:
            TooManyFailuresError: No antenna was ok.
        """
        if not self.history:
            raise TooManyFailuresError(f"no antenna of {self.row['problem']} with seed {self.row['seed']} was ok")
        return {
            **self.row,
            "solved": self._search.evaluations,
            "best_fitness": round(self.history[-1][1], DECIMALS),
            "history": [[count, round(best, DECIMALS)] for count, best in self.history],
            "seconds": round(seconds, 3),
        }


class Crowd:
    """Searches of one problem at a farm: what waits to be sent, and which searches wait for a design."""

    def __init__(self, task: Task, farm: Farm, rows: Iterable[Row]) -> None:
        self._task, self._farm = task, farm
        self._figured = figuring(task.experiment)
        self._searches = [Running(task.experiment, row) for row in rows]
        self._solved: dict[str, Solved] = {}
        self._waiting: dict[str, list[int]] = {}
        self._values: dict[str, dict[str, float]] = {}
        self._queue: list[tuple[int, int, Job]] = []
        self._queued = self._in_flight = 0
        self.solved = 0
        self.device: str | None = None

    def run(self, plan: Mapping[str, Any], until: float) -> Iterator[Row]:
        """Yield the row of each search as it is complete.

        Args:
            plan: Of the problem.
            until: Time of `time.monotonic` from which on nothing more is sent; unfinished searches yield nothing.
        """
        began = time.monotonic()
        antennas = len(self._searches) * self._task.experiment.evolution.population
        size = len(self._farm.cut(range(max(antennas // 2, 1)))[0])  # type: ignore[arg-type] - only lengths count
        outcomes = self._farm.run([], plan=plan)
        yield from (self._searches[place].finished(0.0) for place in self._advance(range(len(self._searches))))
        self._send(size)
        for digest, outcome in outcomes:
            self._in_flight -= 1
            ready = self._landed(digest, Outcome.of(outcome))
            for place in self._advance(ready):
                yield self._searches[place].finished(time.monotonic() - began)
            if time.monotonic() > until:
                self._farm.drain()
                return
            self._send(size)

    def _landed(self, digest: str, outcome: Outcome) -> list[int]:
        """Note an outcome; return the searches whose generation is complete with it."""
        outcome = self._figured(outcome, self._values.pop(digest))
        goals = self._task.experiment.goals
        missed = shortfalls(outcome, goals)
        solved = outcome.status, missed, [one.misses(outcome) for one in goals] if missed else []
        self.solved, self.device = self.solved + 1, outcome.device
        if outcome.status in REPEATABLE:
            self._solved[digest] = solved
        return [place for place in self._waiting.pop(digest) if self._searches[place].take(digest, solved)]

    def _advance(self, places: Iterable[int]) -> Iterator[int]:
        """Close the generations of searches and ask for the next ones; yield the searches that are over."""
        for place in places:
            search = self._searches[place]
            while not search.missing:
                search.close()
                if search.is_over:
                    yield place
                    break
                self._want(place, search.ask())

    def _want(self, place: int, wanted: Mapping[str, dict[str, float]]) -> None:
        search = self._searches[place]
        for digest, values in wanted.items():
            if digest in self._solved:
                search.take(digest, self._solved[digest])
            elif digest in self._waiting:
                self._waiting[digest].append(place)
            else:
                self._waiting[digest], self._values[digest] = [place], values
                self._queued += 1
                job = digest, self._task.experiment.design(values)
                heapq.heappush(self._queue, (search.row["seed"], self._queued, job))

    def _send(self, size: int) -> None:
        """Send whole batches, those of low seeds first, and what is left where the farm has nothing to do."""
        while len(self._queue) >= size or (self._queue and not self._in_flight):
            batch = [heapq.heappop(self._queue)[2] for _ in range(min(size, len(self._queue)))]
            self._in_flight += len(batch)
            self._farm.submit([batch])


def bench_suite(
    tasks: Sequence[Task],
    *,
    known: Iterable[Mapping[str, Any]] = (),
    backend: str = "cpu",
    scheduler: str | None = None,
    limit_s: float | None = None,
    note: Callable[[str], None] = lambda _: None,
    opened: Farm | None = None,
) -> Iterator[Row]:
    """Search all problems with one farm.

    Args:
        tasks: One a problem.
        known: Rows of searches that are left out.
        backend: What solves.
        scheduler: Address of a running Dask scheduler, or None for the first problem's cluster.
        limit_s: Time after which nothing more is sent, s; searches under way then are lost.
        note: Gets a line a problem.
        opened: Farm whose evaluation is `evaluate_any`; None opens one.

    Yields:
        One row a search, as it is complete: `KEY`, `genes`, `solved`, `best_fitness`, `history` (evaluations and
        fitness each time the best became better), `seconds` since its problem began, `device`.
    """
    there = {key_of(row) for row in known}
    left = [(task, [row for row in task.rows() if key_of(row) not in there]) for task in tasks]
    left = [(task, rows) for task, rows in left if rows]
    if not left:
        return
    until = time.monotonic() + (limit_s if limit_s is not None else 1e9)
    if opened is None:
        first = left[0][0].experiment
        with open_farm(first, plan=_plan(first), backend=backend, scheduler=scheduler, evaluate=evaluate_any) as farm:
            yield from _all(left, farm, until, note)
    else:
        yield from _all(left, opened, until, note)


def _all(
    left: Sequence[tuple[Task, list[Row]]], farm: Farm, until: float, note: Callable[[str], None]
) -> Iterator[Row]:
    for task, rows in left:
        began, crowd, done = time.monotonic(), Crowd(task, farm, rows), 0
        if began >= until:
            note(f"{task.problem}: {len(rows)} searches left for another call")
            continue
        for row in crowd.run(_plan(task.experiment), until):
            done += 1
            yield {**row, "device": crowd.device}
        seconds = time.monotonic() - began
        lost = f", {len(rows) - done} searches left for another call" if done < len(rows) else ""
        note(
            f"{task.problem}: {done} searches, {crowd.solved} antennas in {seconds:.1f} s "
            f"({crowd.solved / seconds:.0f}/s){lost}"
        )


def _plan(experiment: Experiment) -> dict[str, Any]:
    return {**planned(plan_for(experiment), experiment.figures, experiment.polarisation), "family": experiment.family}


def stored(path: Path) -> list[Row]:
    """Return the rows of a store, a line of JSON each; none where there is no file.

    Raises:
        ConfigurationError: The file cannot be read, or a line is not a row of this bench.
    """
    if not path.exists():
        return []
    try:
        text = read_regular(path).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--store {path} cannot be read: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            row = json.loads(line)
            key_of(row)
            [(int(count), float(best)) for count, best in row["history"]]
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise ConfigurationError(
                f"--store {path}, line {number} is not a row of bench search ({error}); remove it or use another file"
            ) from None
        found.append(row)
    return found


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Add a row to a store."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, separators=(",", ":"), allow_nan=False) + "\n")
