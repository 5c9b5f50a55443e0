"""The device that these tests need. Without one they are skipped; under FDTD_REQUIRE_GPU=1 (`make gpu`) they fail."""

from __future__ import annotations

import os

import pytest

from fdtd.backends.cuda.device import CudaDevice
from fdtd.errors import DeviceError


@pytest.fixture(scope="session")
def cuda_device() -> CudaDevice:
    try:
        return CudaDevice()
    except DeviceError as error:
        if os.environ.get("FDTD_REQUIRE_GPU") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))
