"""The driver's side of devices: which there are for local workers, and what every worker's device takes."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from distributed import Client, Future
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from antennaopt.errors import ClusterError
from antennaopt.solve.device import kind_of_worker, room
from fdtd.errors import DeviceError

NO_ANSWER = (KilledWorker, TimeoutError, CommClosedError, CancelledError, FutureCancelledError)
"""A worker died of a question, or does not answer, or the scheduler went meanwhile."""


def enough_devices(count: int | None) -> tuple[str, ...]:
    """Return the UUIDs of this machine's devices, or of so many of them.

    Args:
        count: How many are wanted; all when None.

    Raises:
        ClusterError: There are fewer.
        DeviceError: There is none.
    """
    from fdtd.backends.cuda.present import devices

    found = devices()
    if count is not None and count > len(found):
        many = "1 CUDA device" if len(found) == 1 else f"{len(found)} CUDA devices"
        raise ClusterError(
            f"cluster.workers = {count}, but this machine has {many}, and a worker needs one of its own; "
            f'use "auto" or at most {len(found)}'
        )
    return tuple(one.uuid for one in found[:count])


def ask_devices(
    client: Client, workers: Mapping[str, int], plan: Mapping[str, Any], timeout_s: float
) -> dict[str, Any]:
    """Ask every worker what its device takes of a study's antennas; the question also makes its context.

    Args:
        client: Of the workers.
        workers: Their addresses.
        plan: As `SolverPlan.to_dict` wrote it.
        timeout_s: How long they may take.

    Returns:
        As `antennaopt.solve.device.room`: of the device with the least room, with the names of all as `device`
        and their `count`.

    Raises:
        ClusterError: A worker died of the question, or does not answer.
        DeviceError: A worker has no device, or no room on it for one antenna.
        Unsuitable: A device cannot step these antennas.
    """
    with _told_by_doctor("start its device"):
        answers = ask_each(client, workers, timeout_s, room, dict(plan))
    return one_for_all(answers) or {}


def ask_kinds(
    client: Client, workers: Mapping[str, int], plan: Mapping[str, Any], timeout_s: float
) -> dict[str, dict[str, Any]]:
    """Ask every worker of mixed hardware what it is; see `antennaopt.solve.device.kind_of_worker`.

    Raises:
        ClusterError: A worker died of the question, or does not answer.
        DeviceError: A worker has no room on its device for one antenna.
        Unsuitable: A device cannot step these antennas.
    """
    with _told_by_doctor("say what it solves with"):
        answers = ask_each(client, workers, timeout_s, kind_of_worker, dict(plan))
    return dict(zip(workers, answers, strict=True))


@contextmanager
def _told_by_doctor(what: str) -> Iterator[None]:
    """Say in a sentence that a worker could not do something, where it gives no answer."""
    try:
        yield
    except NO_ANSWER as problem:
        raise ClusterError(
            f"a worker could not {what} ({type(problem).__name__}); `antennaopt doctor` may say why"
        ) from problem


def one_for_all(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what every device takes: of the one with the least room, with the names of all and their count."""
    if not answers:
        return None
    smallest = min(answers, key=lambda answer: answer["antennas"])
    names = dict.fromkeys(answer["device"] for answer in answers)
    return {**smallest, "device": "; ".join(names), "count": len(answers)}


def ask_each(
    client: Client, workers: Iterable[str], timeout_s: float, question: Callable[..., Any], *arguments: Any
) -> list[Any]:
    """Ask every worker the same, and return as many answers.

    Args:
        client: Of the workers.
        workers: Their addresses.
        timeout_s: How long each may take.
        question: Module-level function.
        arguments: Its arguments.

    Raises:
        DeviceError: A worker has no device that it can use, or no room on it; the message names the worker.
        Exception: One of `NO_ANSWER`, or what else the question raised in a worker.
    """
    asked = {
        one: client.submit(question, *arguments, workers=[one], allow_other_workers=False, pure=False, retries=0)
        for one in workers
    }
    return [_answer(one, future, timeout_s) for one, future in asked.items()]


def _answer(worker: str, future: Future, timeout_s: float) -> Any:
    try:
        return future.result(timeout=timeout_s)
    except DeviceError as problem:
        raise type(problem)(f"worker {worker}: {problem}") from problem
