"""Rules that the kernel texts keep: the curl stands once, each file opens with its contract, none is too long."""

from __future__ import annotations

import re

import pytest

from fdtd.backends.cuda.text import kernel_texts

TEXTS = dict(kernel_texts())
LONGEST = 300  # lines
CURL = "kernels/axisymmetric/curl.cuh"


@pytest.mark.parametrize("mark", [r"P\.order", r"\brounded\("])
def test_the_axisymmetric_curl_stands_once(mark: str) -> None:
    """The azimuthal order is in every curl, and a rounded product in every sum of two: nowhere but in one text."""
    holders = {name for name, text in TEXTS.items() if re.search(mark, text) and "/yee" not in name}
    holders -= {"kernels/intrinsics.cuh"}
    assert holders == {CURL}


def test_every_axisymmetric_scheme_includes_the_curl() -> None:
    def included(name: str) -> set[str]:
        names = re.findall(r'^\s*#include "([\w./]+)"', TEXTS[name], re.MULTILINE)
        return {name}.union(*(included(other) for other in names))

    kernels = [name for name in TEXTS if re.fullmatch(r"schemes/\w+/(kernel|whole)\.cu", name)]
    assert len(kernels) == 5
    assert [name for name in kernels if CURL not in included(name)] == []


@pytest.mark.parametrize("name", TEXTS)
def test_contract_and_length(name: str) -> None:
    text = TEXTS[name]
    assert text.startswith("// "), f"{name} does not open with its contract"
    assert len(text.splitlines()) <= LONGEST
