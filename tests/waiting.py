"""How tests wait: for an event, however slow the machine is, with one deadline as a safety net."""

import time

SAFETY_S = 150.0
"""Ends a wait whose event never comes. pytest-timeout ends a test after 300 s."""


def wait_until(condition, what="the event"):
    """Return once `condition()` is true."""
    until = time.monotonic() + SAFETY_S
    while not condition():
        assert time.monotonic() < until, f"{what} did not come within {SAFETY_S:g} s"
        time.sleep(0.01)
