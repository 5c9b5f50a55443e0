"""Certificates of a run's best antennas, each solved again with half the cell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from antennaopt.errors import Interrupted
from antennaopt.farm.interface import Solving
from antennaopt.report.front import front_of, front_values
from antennaopt.run.driver import Driver
from antennaopt.run.process import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.run.summary import Finalist, finalist
from antennaopt.search import HALL_OF_FAME_SIZE
from antennaopt.search.fronts import spread
from antennaopt.solve.certificate import balance_unmeasured, certify, feed_of, is_trusted
from antennaopt.solve.outcome import REPEATABLE, Outcome, finite
from antennaopt.store.reading import mark_rows, read_certificates, write_certificates
from antennaopt.store.run_folder import RunFolder

if TYPE_CHECKING:
    from antennaopt.experiment import Experiment

Certificates = dict[str, dict[str, Any]]


def best_of(driver: Driver, experiment: Experiment, folder: RunFolder) -> list[Finalist]:
    """Return the antennas to certify, the best first: the hall of fame.

    The hall of fame of a search for a front is of its last population. Where that has fewer antennas than are
    certified, the others on the front of all rows follow, those that are farthest from the chosen ones first.

    Args:
        driver: After its last generation.
        experiment: Whose run it was.
        folder: Its run folder, with all rows.
    """
    search = driver.search
    names = [one.candidate.individual for one in search.hall_of_fame]
    if search.reference is not None and 0 < len(names) < HALL_OF_FAME_SIZE:
        rows = front_of(folder.path)
        values = front_values(folder, rows)
        if len(values) == len(rows):  # they all meet the constraints, or none does
            on_front = [str(name) for name in rows["individual"]]
            others = [place for place, name in enumerate(on_front) if name not in names]
            pool = np.array([*(one.values for one in search.hall_of_fame), *values[others]])
            chosen = spread(pool, HALL_OF_FAME_SIZE, given=len(names))
            names += [on_front[others[place - len(names)]] for place in chosen[len(names) :]]
    return [finalist(driver, experiment, name) for name in names]


def certify_best(
    hall: list[Finalist],
    *,
    driver: Driver,
    folder: RunFolder,
    farm: Solving,
    plans: tuple[Mapping[str, Any], Mapping[str, Any]],
    backend: str,
    signals: StopSignals,
    progress: Progress,
) -> Certificates:
    """Certify the best antennas of a run, write `best/certificates.json` and put the verdicts into their rows.

    What an earlier session certified with the same cell and backend is taken over. An antenna whose losses the search
    did not measure is solved with the run's cell too, now with them.

    Args:
        hall: The best, best first.
        driver: Whose run it is; for its wall time.
        folder: Open for writing.
        farm: Solves them.
        plans: With the run's cell, losses measured, and with half the cell.
        backend: What solves.
        signals: Says when to stop.
        progress: Shows progress.

    Returns:
        Certificates by individual, in the order of the hall. They do not depend on the worker that solved an
        antenna or on the time that it took.

    Raises:
        Interrupted: After a signal; finished certificates are kept.
    """
    own, finer = plans
    about = {"cell": finer["cell"], "backend": backend}
    if "between" in finer:  # certificates in space that do not have it halved fewer cells
        about["between"] = finer["between"]
    known = {name: one for name, one in read_certificates(folder).items() if _still_holds(one, about)}
    missing = {one.individual: one for one in hall if one.individual not in known}
    if missing and not signals.requested:
        many = f"the {len(missing)} best antennas" if len(missing) > 1 else "the best antenna"
        progress.note(f"certificate: solving {many} again with cells of {finer['cell'] * 1e3:.4g} mm")
        batch = "auto" if farm.device else 1
        progress.certification_started(len(missing))
        lossy = [(name, one.design) for name, one in missing.items() if balance_unmeasured(one.outcome)]
        for name, outcome in farm.run(farm.cut(lossy, batch), plan=own) if lossy else ():
            missing[name] = replace(missing[name], outcome=_balanced(missing[name].outcome, outcome))
        jobs = [(name, one.design) for name, one in missing.items()] if not signals.requested else []
        for name, outcome in farm.run(farm.cut(jobs, batch), plan=finer) if jobs else ():
            known[name] = _certificate(missing.pop(name), outcome, about)
            progress.certified(name, trusted=is_trusted(known[name]))
    certificates = {one.individual: known[one.individual] for one in hall if one.individual in known}
    if certificates:
        write_certificates(folder, certificates)
    if missing:
        folder.log("interrupted", to_certify=len(missing), run_seconds=driver.seconds)
        raise Interrupted(
            f"interrupted before all of the best were certified; {folder.path} can be resumed",
            exit_code=signals.exit_code or 130,
        )
    mark_rows(folder, certificates)
    return certificates


def _balanced(outcome: Outcome, measured: Outcome) -> Outcome:
    """Return an outcome with the power balance of another, solved with losses; with none where that one failed."""
    metrics = dict(outcome.metrics)
    metrics.pop("power_balance", None)
    return outcome.changed(metrics=metrics | ({"power_balance": measured["power_balance"]} if measured.ok else {}))


def _certificate(one: Finalist, halved: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the certificate with what its mesh check rests on, and the power balance at each frequency."""
    basis: dict[str, Any] = {**about, "status": halved["status"]}
    if halved["status"] == "ok":
        basis |= {name: halved[name] for name in ("directivity_dbi", "s11")}
    certificate = {**certify(one.outcome, halved, **feed_of(one.design)), "halved": basis}
    certificate["power_balance"] = finite(one.outcome.get("power_balance"))
    try:
        json.dumps(certificate, allow_nan=False)
    except ValueError:
        certificate["halved"] = {**about, "status": "diverged"}
    return certificate


def _still_holds(certificate: Mapping[str, Any], about: Mapping[str, Any]) -> bool:
    """Return whether solving again would give the same result; False after a fault of the farm."""
    basis, balance = certificate.get("halved") or {}, certificate.get("balance") or {}
    if balance.get("figure") is None:
        return False
    return basis.get("status") in REPEATABLE and all(basis.get(name) == value for name, value in about.items())
