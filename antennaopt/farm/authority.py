"""Certificates for a farm across machines: an authority made for the purpose, and one pair signed by it."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from antennaopt.errors import ConfigurationError, StorageError

if TYPE_CHECKING:
    from cryptography.x509 import GeneralName

FILES = ("ca.pem", "certificate.pem", "key.pem")
CLOCKS_APART = timedelta(hours=1)
"""How far the clock of another machine may be behind."""


def issue(folder: Path, *, hosts: Sequence[str] = (), days: int = 365, now: datetime | None = None) -> list[Path]:
    """Make an authority and one certificate with its key, for every scheduler, worker and driver of a farm.

    Whoever has the three files belongs to the farm. The authority's own key is never written: nobody can add a
    certificate later, and to shut somebody out all are made anew.

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
    there = [folder / name for name in FILES if (folder / name).exists()]
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
    """Write the files so that nobody else can read them at any moment."""
    paths = [folder / name for name in FILES]
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
