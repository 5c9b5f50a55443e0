"""Rules for connections: TLS with certificates of one authority, except on loopback where that is asked for.

A program that reaches a Dask scheduler or worker can have it run any code, and gets any object as an answer; so both
ends must prove that they belong together.
"""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from distributed.security import Security

from antennaopt.errors import ConfigurationError
from antennaopt.farm.authority import made

LOOPBACK = "127.0.0.1"
SCHEDULER_PORT = 8786
"""Where a scheduler that other machines may join listens, unless another port is asked for."""

ENCRYPTED = ("tls", "wss")
_ADDRESS = re.compile(r"(?:(?:tcp|ws|tls|wss)://)?(?:\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,9})(?:/\S*)?")
FOLDER_FILES = {"ca": "ca.pem", "certificate": "certificate.pem", "key": "key.pem"}
"""What `antennaopt tls` calls its files."""


@dataclass(frozen=True, kw_only=True)
class TlsFiles:
    """Certificates of one party; scheduler, workers and drivers may use the same.

    Attributes:
        ca: PEM file with the authority that everybody's certificate is signed by.
        certificate: PEM file with this party's certificate.
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
        roles = ("client", "scheduler", "worker")
        pairs = {f"tls_{role}_cert": str(self.certificate) for role in roles}
        pairs |= {f"tls_{role}_key": str(self.key) for role in roles}
        return Security(
            require_encryption=True, tls_ca_file=str(self.ca), tls_min_version=ssl.TLSVersion.TLSv1_3, **pairs
        )

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
                f"tls: {self.certificate} and {self.key} are not a certificate and its key beside the authority "
                f"{self.ca} ({problem}); make new ones with `antennaopt tls FOLDER`"
            ) from None
        ends = [str(authority["notAfter"]) for authority in context.get_ca_certs()]
        if ends and max(ssl.cert_time_to_seconds(end) for end in ends) < datetime.now(UTC).timestamp():
            raise ConfigurationError(
                f"tls.ca = {self.ca} has expired ({ends[0]}); make new certificates with `antennaopt tls FOLDER`"
            )


def throwaway() -> Security:
    """Return Dask's settings with a certificate made for the occasion: only who has this object belongs to the farm.

    It is in memory; Dask sends it to the worker processes that it starts through their pipes.
    """
    ca, certificate, key = (text.decode("ascii") for text in made())
    roles = ("client", "scheduler", "worker")
    pairs = {f"tls_{role}_cert": certificate for role in roles} | {f"tls_{role}_key": key for role in roles}
    return Security(require_encryption=True, tls_ca_file=ca, tls_min_version=ssl.TLSVersion.TLSv1_3, **pairs)


def _no_password() -> str:
    raise ValueError("the key needs a password")


def security_for(address: str, tls: TlsFiles | None, *, insecure: bool = False) -> Security | None:
    """Return what a connection to an address needs; None where nothing is.

    Args:
        address: Of a scheduler, `tls://host:8786`.
        tls: Our certificates.
        insecure: The user said that an open connection is all right.

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
        insecure: The user said that open connections are all right.

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
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
