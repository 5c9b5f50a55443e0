"""Kernels that rasterise or look at patterns compile for compute capability 8.0 and 9.0, with the backend's options."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from nvrtc import RefusedError, compile_for

from fdtd.backends.cuda import media, patterns, polygons, rasterise, rims

TEXTS = {
    "open_parts": rasterise.open_parts_text,
    "polygons": polygons.text,
    "rims": rims.text,
    "media": media.text,
    "patterns": patterns.text,
}


@pytest.mark.parametrize("capability", [pytest.param(80, marks=pytest.mark.slow), 90])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_compiles(text: Callable[[], str], capability: int) -> None:
    assert compile_for(text(), f"sm_{capability}", "--fmad=false").startswith(b"\x7fELF")


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(RefusedError, match="AXIS_COLUMNS"):
        compile_for(rasterise.open_parts_text().replace("#define AXIS_COLUMNS", "#define OTHER"), "sm_90")
