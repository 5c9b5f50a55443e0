"""Runs that several files of tests compare with or begin from."""

import pytest


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """The run that nothing happened to, without workers."""
    import cheap_lens

    return cheap_lens.start(tmp_path_factory.mktemp("quiet"), farm=cheap_lens.serial, sleep_s=0.0).folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs with one generation still to do."""
    from unfinished_runs import unfinished

    return unfinished(tmp_path_factory.mktemp("run"))
