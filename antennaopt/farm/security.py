"""Rules for connections: TLS with certificates of one authority, optional on loopback only.

A program that reaches a Dask scheduler or worker can have it run any code, and gets any object as an answer; so both
ends must prove that they belong together.
"""

from __future__ import annotations

import os
import re
import socket
import ssl
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed.security import Security

from antennaopt.errors import ConfigurationError, StorageError

if TYPE_CHECKING:
    from cryptography.x509 import GeneralName

LOOPBACK = "127.0.0.1"
SCHEDULER_PORT = 8786
"""Where a scheduler that other machines may join listens, unless another port is asked for."""

ENCRYPTED = ("tls", "wss")
_ADDRESS = re.compile(r"(?:(?:tcp|ws|tls|wss)://)?(?:\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,9})(?:/\S*)?")
FOLDER_FILES = {"ca": "ca.pem", "certificate": "certificate.pem", "key": "key.pem"}
"""What `antennaopt tls` calls its files."""


CLOCKS_APART = timedelta(hours=1)
"""How far the clock of another machine may be behind."""


@dataclass(frozen=True, kw_only=True)
class TlsFiles:
    """Certificates of one program; scheduler, workers and drivers may use the same.

    Attributes:
        ca: PEM file with the authority that signed all certificates.
        certificate: PEM file with this program's certificate.
        key: PEM file with its private key.
    """

    ca: Path
    certificate: Path
    key: Path

    @classmethod
    def of(cls, given: Mapping[str, Any] | Path | str | None) -> TlsFiles | None:
        """Return the files that a setting names: a folder of `antennaopt tls`, or each file by itself; None of None."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            return cls(**{name: Path(given[name]).expanduser().absolute() for name in FOLDER_FILES})
        folder = Path(given).expanduser().absolute()
        return cls(**{name: folder / file for name, file in FOLDER_FILES.items()})

    def security(self) -> Security:
        """Return Dask's settings for all three roles: encryption required, TLS 1.3, certificates asked of both ends.

        Raises:
            ConfigurationError: A file is missing, does not fit the others, has expired, or the key is open to all.
        """
        self.check()
        return _security(str(self.ca), str(self.certificate), str(self.key))

    def check(self) -> None:
        """Refuse files that cannot work.

        Raises:
            ConfigurationError: As for `security`.
        """
        for name in FOLDER_FILES:
            file: Path = getattr(self, name)
            if not file.is_file() or not os.access(file, os.R_OK):
                raise ConfigurationError(
                    f"tls.{name} = {file} is not a file that can be read; `antennaopt tls FOLDER` makes certificates"
                )
        if self.key.stat().st_mode & stat.S_IROTH:
            raise ConfigurationError(f"tls.key = {self.key} can be read by everybody; `chmod 600 {self.key}`")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(self.ca)
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
        except (ssl.SSLError, OSError, ValueError) as problem:
            raise ConfigurationError(
                f"tls: {self.certificate} and {self.key} are not a certificate and its key of the authority "
                f"{self.ca} ({problem}); make new ones with `antennaopt tls FOLDER`"
            ) from None
        ends = [str(authority["notAfter"]) for authority in context.get_ca_certs()]
        if ends and max(ssl.cert_time_to_seconds(end) for end in ends) < datetime.now(UTC).timestamp():
            raise ConfigurationError(
                f"tls.ca = {self.ca} has expired ({ends[0]}); make new certificates with `antennaopt tls FOLDER`"
            )


def throwaway() -> Security:
    """Return Dask's settings with a new certificate: only a program with this object belongs to the farm.

    It is in memory; Dask sends it to the worker processes that it starts through their pipes.
    """
    return _security(*(text.decode("ascii") for text in made()))


def _security(ca: str, certificate: str, key: str) -> Security:
    """Return Dask's settings for all three roles, from files or texts in PEM."""
    pairs = {f"tls_{role}_cert": certificate for role in ("client", "scheduler", "worker")}
    pairs |= {name.replace("_cert", "_key"): key for name in pairs}
    return Security(require_encryption=True, tls_ca_file=ca, tls_min_version=ssl.TLSVersion.TLSv1_3, **pairs)


def _no_password() -> str:
    raise ValueError("the key needs a password")


def security_for(address: str, tls: TlsFiles | None, *, insecure: bool = False) -> Security | None:
    """Return what a connection to an address needs; None where nothing is.

    Args:
        address: Of a scheduler, `tls://host:8786`.
        tls: Our certificates.
        insecure: Whether an open connection is allowed.

    Raises:
        ConfigurationError: It is none, it leads to another machine without TLS, or TLS has no certificates.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ConfigurationError(f"{address} is no scheduler's address; write for example tls://10.0.0.5:8786")
    if not 0 < int(found["port"]) < 65536:
        raise ConfigurationError(f"{address} has port {found['port']} (allowed: 1 to 65535); write for example :8786")
    scheme, _, rest = address.partition("://")
    if scheme in ENCRYPTED and rest:
        if tls is None:
            raise ConfigurationError(
                f"{address} asks for TLS and no certificates are named; add --tls FOLDER, or tls to [cluster]"
            )
        return tls.security()
    if not is_loopback(host_of(address)) and not insecure:
        raise ConfigurationError(
            f"{address} leads to another machine without encryption, where anybody on the way could run programs here "
            "and there; use tls:// with certificates of `antennaopt tls FOLDER`, or say --insecure"
        )
    return None


def security_for_listening(host: str, tls: TlsFiles | None, *, insecure: bool = False) -> Security | None:
    """Return what listening on a host needs; None where nothing is.

    Args:
        host: Name or address of one of this machine's interfaces.
        tls: Our certificates.
        insecure: Whether open connections are allowed.

    Raises:
        ConfigurationError: Other machines could come in and there are no certificates to ask them for.
    """
    if tls is not None:
        return tls.security()
    if is_loopback(host) or insecure:
        return None
    raise ConfigurationError(
        f"listening on {host} lets other machines in, and without certificates anybody could run programs here; "
        "add --tls FOLDER (made with `antennaopt tls FOLDER`), or say --insecure"
    )


def host_of(address: str) -> str:
    """Return the host of `scheme://host:port`, of `host:port` or of a bare host."""
    place = address.partition("://")[2] or address
    place = place.partition("/")[0]
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return place.partition(":")[0] if place.count(":") == 1 else place


def host_and_port(listen: str | None) -> tuple[str, int]:
    """Read where to listen: loopback and any port when None; where others may come, a port that they can know.

    Raises:
        ConfigurationError: The port is no number.
    """
    if listen is None:
        return LOOPBACK, 0
    host = host_of(listen)
    port = listen.partition("://")[2] or listen
    port = port[port.rindex("]") + 1 :] if "]" in port else port if port.count(":") == 1 else ""
    number = port.partition(":")[2]
    if number and not (number.isascii() and number.isdigit() and int(number) < 65536):
        raise ConfigurationError(f'listen = "{listen}" has no port after the colon; write for example "10.0.0.5:8786"')
    return host, int(number) if number else 0 if is_loopback(host) else SCHEDULER_PORT


def is_loopback(host: str) -> bool:
    """Say whether a host is this machine and cannot be reached from another."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def issue(folder: Path, *, hosts: Sequence[str] = (), days: int = 365, now: datetime | None = None) -> list[Path]:
    """Make an authority and one certificate with its key, for every scheduler, worker and driver of a farm.

    A program with the three files belongs to the farm. The authority's own key is never written: no certificate can be
    added later, and to shut a program out make all files again.

    Args:
        folder: Made with mode 0700; the files get 0600.
        hosts: As for `made`.
        days: Validity.
        now: When it begins, an hour less; the clock's when None.

    Returns:
        The files: authority, certificate, key.

    Raises:
        ConfigurationError: The folder holds such files already.
        StorageError: The files cannot be written.
    """
    there = [folder / name for name in FOLDER_FILES.values() if (folder / name).exists()]
    if there:
        raise ConfigurationError(f"{there[0]} exists; remove it, or name another folder")
    return _written(folder, made(hosts=hosts, days=days, now=now))


def made(*, hosts: Sequence[str] = (), days: int = 365, now: datetime | None = None) -> tuple[bytes, bytes, bytes]:
    """Return an authority's certificate, one that it signed, and the key of that one, in PEM; nothing is written.

    Args:
        hosts: Names and addresses that the certificate is for, in addition to this machine's name and loopback. Dask
            checks the authority alone, other programs may check these.
        days: Validity.
        now: When it begins, an hour less; the clock's when None.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    begin = (now or datetime.now(UTC)) - CLOCKS_APART
    end = begin + CLOCKS_APART + timedelta(days=days)

    def certificate(
        name: str, key: ec.EllipticCurvePrivateKey, issuer: str, signer: ec.EllipticCurvePrivateKey, *, authority: bool
    ) -> x509.Certificate:
        constraints = x509.BasicConstraints(ca=authority, path_length=0 if authority else None)
        signs = {"key_cert_sign": authority, "crl_sign": authority, "digital_signature": not authority}
        never = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
        usage = x509.KeyUsage(**signs, **dict.fromkeys(never, False), encipher_only=False, decipher_only=False)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
            .add_extension(constraints, critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        )
        if not authority:
            both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
            names = [_general_name(host) for host in dict.fromkeys((*hosts, *_here()))]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(signer, hashes.SHA256())

    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = certificate("antennaopt farm authority", authority_key, "antennaopt farm authority", authority_key,
                            authority=True)  # fmt: skip
    member = certificate("antennaopt farm", key, "antennaopt farm authority", authority_key, authority=False)
    pem = serialization.Encoding.PEM
    return (
        authority.public_bytes(pem),
        member.public_bytes(pem),
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _written(folder: Path, texts: Sequence[bytes]) -> list[Path]:
    """Write the files so that no other user can read them at any moment."""
    paths = [folder / name for name in FOLDER_FILES.values()]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path, text in zip(paths, texts, strict=True):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(text)
    except OSError as error:
        raise StorageError(f"{folder} cannot be written ({error.strerror or error}); name another folder") from None
    return paths


def _here() -> tuple[str, ...]:
    return (socket.gethostname(), "localhost", "127.0.0.1", "::1")


def _general_name(host: str) -> GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host if host.isascii() else host.encode("idna").decode())
