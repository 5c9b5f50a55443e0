"""What a file's [cluster] leads to is shown before anything connects there: the file may be another person's."""

import functools

import pytest
from config_files import LENS

from antennaopt.errors import ClusterError
from antennaopt.run import start as study

ADDRESS = '[cluster]\nkind = "address"\naddress = "tls://far.example:8786"\n'
CASES = {
    "address": (ADDRESS, "scheduler tls://far.example:8786 (cluster.address)"),
    "listen": ('[cluster]\nlisten = "10.0.0.5:8786"\n', "local workers, scheduler listens on 10.0.0.5:8786"),
    "slurm": (
        '[cluster]\nkind = "slurm"\nworkers = 2\nlisten = "10.0.0.5"\n[cluster.slurm]\npartition = "gpu"\n',
        "SLURM, partition gpu, scheduler listens on 10.0.0.5",
    ),
    "kubernetes": (
        '[cluster]\nkind = "kubernetes"\nworkers = 2\n[cluster.kubernetes]\n'
        'image = "far.example/image:1"\nnamespace = "theirs"\n',
        "Kubernetes, namespace theirs, image far.example/image:1",
    ),
}
HIDDEN = ('"tls://far.example:8786"', '"tls://near.example:1\\u202e:8786\\nready"')


@pytest.fixture
def connecting(monkeypatch):
    """Put a farm in place that connects to nothing, and is refused."""

    def farm(experiment, **given):
        raise ClusterError("it connects")

    monkeypatch.setattr(study, "run", functools.partial(study.run, farm=farm))


@pytest.mark.parametrize("name", CASES)
def test_validate_and_run_show_it(call, tmp_path, connecting, name):
    table, shown = CASES[name]
    (tmp_path / "lens.toml").write_text(LENS + table)
    code, out, _ = call("validate", "lens.toml")
    assert code == 0
    assert f"cluster      {shown}\n" in out
    code, _, err = call("run", "lens.toml", "--backend", "cpu")
    assert code == 5
    lines = err.splitlines()
    assert lines.index(f"cluster {shown}") < lines.index("error: it connects")


def test_the_option_in_place_of_the_file(call, tmp_path, connecting):
    (tmp_path / "lens.toml").write_text(LENS + ADDRESS)
    _, _, err = call("run", "lens.toml", "--scheduler", "tls://near.example:8786")
    assert "cluster scheduler tls://near.example:8786 (--scheduler)\n" in err
    assert "far.example" not in err


def test_a_dry_run_shows_it(call, tmp_path):
    (tmp_path / "lens.toml").write_text(LENS + CASES["kubernetes"][0])
    _, out, _ = call("run", "lens.toml", "--dry-run", "--insecure")
    assert out.startswith(f"cluster      {CASES['kubernetes'][1]}\n")


def test_an_address_that_hides_another(call, tmp_path, connecting):
    (tmp_path / "lens.toml").write_text(LENS + ADDRESS.replace(*HIDDEN))
    shown = r"scheduler tls://near.example:1\u202e:8786 ready (cluster.address)"
    assert f"cluster      {shown}\n" in call("validate", "lens.toml")[1]
    assert f"cluster {shown}\n" in call("run", "lens.toml", "--backend", "cpu")[2]


def test_nothing_is_said_where_all_stays_here(call, tmp_path, connecting):
    (tmp_path / "lens.toml").write_text(LENS)
    assert "cluster" not in call("validate", "lens.toml")[1]
    assert "cluster" not in call("run", "lens.toml", "--backend", "cpu")[2]
