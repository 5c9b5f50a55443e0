"""The end of a run: its ten best are solved again with half the cell and get their certificates."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from antennaopt.errors import Interrupted
from antennaopt.run.bookkeeping import Bookkeeping
from antennaopt.run.interfaces import Farm
from antennaopt.run.interrupt import StopSignals
from antennaopt.run.progress import Progress
from antennaopt.run.summary import Finalist
from antennaopt.solve.certificate import certify, is_trusted
from antennaopt.solve.outcome import REPEATABLE
from antennaopt.store import RunFolder, mark_rows, read_certificates, write_certificates

Certificates = dict[str, dict[str, Any]]


def certify_best(
    hall: list[Finalist],
    *,
    driver: Bookkeeping,
    folder: RunFolder,
    farm: Farm,
    plan: Mapping[str, Any],
    backend: str,
    signals: StopSignals,
    progress: Progress,
) -> Certificates:
    """Certify the best antennas of a run, write `best/certificates.json` and put the verdicts into their rows.

    What an earlier session certified with the same cell and backend is taken over.

    Args:
        hall: The best, best first.
        driver: Whose run it is; for its wall time.
        folder: Open for writing.
        farm: Solves them.
        plan: With half the run's cell.
        backend: What solves.
        signals: Says when to stop.
        progress: Tells people.

    Returns:
        Certificates by individual, in the order of the hall. Nothing in them depends on who solved it or how long it
        took.

    Raises:
        Interrupted: A signal came; what is certified is kept.
    """
    about = {"cell": plan["cell"], "backend": backend}
    known = {name: one for name, one in read_certificates(folder).items() if _still_holds(one, about)}
    missing = {one.individual: one for one in hall if one.individual not in known}
    if missing and not signals.requested:
        many = f"the {len(missing)} best antennas" if len(missing) > 1 else "the best antenna"
        progress.note(f"certificate: solving {many} again with cells of {plan['cell'] * 1e3:.4g} mm")
        jobs = [(name, one.design) for name, one in missing.items()]
        progress.certification_started(len(jobs))
        for name, outcome in farm.run(farm.cut(jobs, "auto" if farm.device else 1), plan=plan):
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


def _certificate(one: Finalist, halved: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the certificate with what its mesh check rests on."""
    basis: dict[str, Any] = {**about, "status": halved["status"]}
    if halved["status"] == "ok":
        basis |= {name: halved[name] for name in ("directivity_dbi", "s11")}
    certificate = {**certify(one.outcome, halved, feed_radius=one.design["feed.inner_radius"]), "halved": basis}
    try:
        json.dumps(certificate, allow_nan=False)
    except ValueError:
        certificate["halved"] = {**about, "status": "diverged"}
    return certificate


def _still_holds(certificate: Mapping[str, Any], about: Mapping[str, Any]) -> bool:
    """Say whether solving again would come to the same: not where the farm was at fault."""
    basis = certificate.get("halved") or {}
    return basis.get("status") in REPEATABLE and all(basis.get(name) == value for name, value in about.items())
