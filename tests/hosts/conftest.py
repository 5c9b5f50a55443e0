"""Two hosts and certificates for both, for all tests of a file."""

import pytest
from namespaces import DRIVER, WORKER, program, run, two_hosts


@pytest.fixture(scope="module")
def hosts():
    with two_hosts() as found:
        yield found


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls") / "farm"
    done = run(program("tls", folder, "--host", DRIVER, "--host", WORKER))
    assert done.returncode == 0, done.stderr
    return folder
