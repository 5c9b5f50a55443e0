"""Far fields and powers of Huygens boxes on a device are those of the host, and do not depend on the batch.

See `tests/emulation/test_yee_surface_emulated.py`, from where scenes and tolerance come.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from fdtd.backends.cuda.device import CudaDevice

sys.path.append(str(Path(__file__).parents[1] / "emulation"))
from test_yee_surface_emulated import BOUND, FACES, numbers, on_device, on_host, surface

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("faces", "hole"), [(name, "closed") for name in FACES] + [("open", "guide")])
def test_far_fields_and_powers_are_those_of_the_host(cuda_device: CudaDevice, faces: str, hole: str) -> None:
    own = surface(faces, hole)
    (found,), (expected,) = on_device([own], "float64", device=cuda_device), on_host([own], "float64")
    for name, value in numbers(expected).items():
        assert np.abs(numbers(found)[name] - value).max() <= BOUND * np.abs(value).max(), name


def test_bits_do_not_depend_on_the_batch(cuda_device: CudaDevice) -> None:
    """Nor on the portions in which samples are added."""
    surfaces = [surface("open", "closed"), surface("in a corner", "closed", 2), surface("open", "guide", 3)]
    together = on_device(surfaces, "float32", device=cuda_device)
    for own, far in zip(surfaces, together, strict=True):
        (alone,) = on_device([own], "float32", 20, 7, device=cuda_device)
        for name, value in numbers(far).items():
            np.testing.assert_array_equal(value, numbers(alone)[name])
