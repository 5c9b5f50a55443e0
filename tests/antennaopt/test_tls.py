"""Certificates made by one command, and what is refused without them: nothing but loopback goes in the open."""

import socket
import ssl
import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from antennaopt.cli import main
from antennaopt.errors import ConfigurationError
from antennaopt.farm.security import (
    TlsFiles,
    host_and_port,
    host_of,
    is_loopback,
    issue,
    made,
    security_for,
    security_for_listening,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("certificates") / "farm"
    issue(path, hosts=["node1", "10.0.0.5"], days=30)
    return path


def test_only_the_owner_reads_them_and_the_authoritys_key_is_nowhere(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["ca.pem", "certificate.pem", "key.pem"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert "PRIVATE" not in (folder / "ca.pem").read_text()


def test_the_certificate_is_its_hosts_for_both_ends_and_signs_nothing(folder):
    authority, member = (x509.load_pem_x509_certificate((folder / name).read_bytes())
                         for name in ("ca.pem", "certificate.pem"))  # fmt: skip
    member.verify_directly_issued_by(authority)
    names = member.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"node1", "localhost"} <= set(names.get_values_for_type(x509.DNSName))
    assert "10.0.0.5" in {str(one) for one in names.get_values_for_type(x509.IPAddress)}
    assert not member.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert member.not_valid_after_utc - member.not_valid_before_utc == timedelta(days=30, hours=1)
    assert abs(member.not_valid_before_utc - datetime.now(UTC) + timedelta(hours=1)) < timedelta(minutes=5)


def test_a_host_whose_name_is_not_ascii_has_certificates(monkeypatch):
    """Runs on this machine make one too. The name stands in it in its form for DNS."""
    monkeypatch.setattr(socket, "gethostname", lambda: "b\u00fcro")
    member = x509.load_pem_x509_certificate(made(hosts=["m\u00fcnchen.example"])[1])
    names = member.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"xn--bro-hoa", "xn--mnchen-3ya.example"} <= set(names.get_values_for_type(x509.DNSName))


def test_dask_gets_tls_13_with_certificates_asked_of_both_ends(folder):
    security = TlsFiles.of(str(folder)).security()
    assert security.require_encryption
    for role in ("client", "scheduler", "worker"):
        context = security.get_connection_args(role)["ssl_context"]
        assert context.verify_mode is ssl.CERT_REQUIRED
        assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert security.get_listen_args("scheduler")["ssl_context"].verify_mode is ssl.CERT_REQUIRED


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "localhost", "::1"])
def test_loopback_needs_nothing(host):
    assert is_loopback(host)
    assert security_for(f"tcp://{f'[{host}]' if ':' in host else host}:8786", None) is None
    assert security_for_listening(host, None) is None


@pytest.mark.parametrize("address", ["tcp://10.0.0.5:8786", "tcp://node1:8786", "10.0.0.5:8786", "ws://node1:8786",
                                     "tcp://localhost.evil.example:1", "tcp://[2001:db8::1]:8786"])  # fmt: skip
def test_another_machine_in_the_open_is_refused(address, folder):
    for tls in (None, TlsFiles.of(str(folder))):  # certificates do not encrypt tcp://
        with pytest.raises(ConfigurationError, match="without encryption"):
            security_for(address, tls)
    assert security_for(address, None, insecure=True) is None


@pytest.mark.parametrize("address", ["nonsense", "", "node1", "tcp://node1", "tls://:8786", "tcp://node1:x", "ftp://a:1",
                                     "tcp://2001:db8::1", "tcp://node 1:8786"])  # fmt: skip
def test_what_is_no_address_is_called_that(address, folder):
    """Another machine without encryption is refused at once."""
    for tls in (None, TlsFiles.of(str(folder))):
        with pytest.raises(ConfigurationError, match=r"is no scheduler's address; write for example tls://"):
            security_for(address, tls, insecure=True)


@pytest.mark.parametrize("port", [0, 65536, 99999])
def test_ports_that_there_are_not(port, folder):
    with pytest.raises(ConfigurationError, match=rf"has port {port} \(allowed: 1 to 65535\)"):
        security_for(f"tls://127.0.0.1:{port}", TlsFiles.of(str(folder)))
    assert security_for("tls://127.0.0.1:65535", TlsFiles.of(str(folder))) is not None


def test_tls_without_certificates_and_listening_without_them_are_refused(folder):
    with pytest.raises(ConfigurationError, match="no certificates are named"):
        security_for("tls://127.0.0.1:8786", None, insecure=True)
    for host in ("0.0.0.0", "10.0.0.5", "node1", "::"):
        with pytest.raises(ConfigurationError, match="lets other machines in"):
            security_for_listening(host, None)
        assert security_for_listening(host, None, insecure=True) is None
        assert security_for_listening(host, TlsFiles.of(str(folder))).require_encryption


@pytest.mark.parametrize(
    ("listen", "found"),
    [
        (None, ("127.0.0.1", 0)),
        ("localhost", ("localhost", 0)),
        ("10.0.0.5", ("10.0.0.5", 8786)),
        ("10.0.0.5:9000", ("10.0.0.5", 9000)),
        ("tls://node1:9000", ("node1", 9000)),
        ("[2001:db8::1]:9000", ("2001:db8::1", 9000)),
        ("2001:db8::1", ("2001:db8::1", 8786)),
    ],
)
def test_where_to_listen(listen, found):
    assert host_and_port(listen) == found
    if listen:
        assert host_of(listen) == found[0]


@pytest.mark.parametrize("listen", ["10.0.0.5:x", "10.0.0.5:99999"])
def test_no_port_is_refused(listen):
    with pytest.raises(ConfigurationError, match="no port"):
        host_and_port(listen)


def changed(folder, to, **changes):
    issue(to)
    for name, text in changes.items():
        path = to / f"{name}.pem"
        path.unlink() if text is None else path.write_bytes(text)
    return TlsFiles.of(str(to))


def test_files_that_cannot_work_are_refused(folder, tmp_path):
    with pytest.raises(ConfigurationError, match=r"tls\.key = .* is not a file"):
        changed(folder, tmp_path / "a", key=None).security()
    with pytest.raises(ConfigurationError, match="not a certificate and its key"):
        changed(folder, tmp_path / "b", key=(folder / "key.pem").read_bytes()).security()
    with pytest.raises(ConfigurationError, match="not a certificate and its key"):
        changed(folder, tmp_path / "c", certificate=b"garbage").security()
    open_to_all = changed(folder, tmp_path / "d")
    open_to_all.key.chmod(0o644)
    with pytest.raises(ConfigurationError, match="can be read by everybody"):
        open_to_all.security()
    issue(tmp_path / "e", days=1, now=datetime.now(UTC) - timedelta(days=3))
    with pytest.raises(ConfigurationError, match="has expired"):
        TlsFiles.of(str(tmp_path / "e")).security()


def test_the_command_makes_them_once(tmp_path, capsys):
    target = tmp_path / "farm"
    assert main(["tls", str(target), "--host", "node1"]) == 0
    assert capsys.readouterr().out.split() == [str(target / name) for name in ("ca.pem", "certificate.pem", "key.pem")]
    before = (target / "key.pem").read_bytes()
    assert main(["tls", str(target)]) == 2
    assert "exists; remove it" in capsys.readouterr().err
    assert (target / "key.pem").read_bytes() == before
    file = tmp_path / "file"
    file.touch()
    assert main(["tls", str(file / "below")]) == 6
    assert "cannot be written" in capsys.readouterr().err
