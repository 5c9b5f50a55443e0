"""What another account of this machine tries: `python second_account.py UID FOLDER SCHEDULER_PORT PORT...`, as root.

Everything is imported before the account is changed: the interpreter may lie where no other account can read. Prints
one JSON line a port: for each way of connecting the user id under which code ran there, or the name of the error.
"""

import asyncio
import json
import os
import ssl
import sys

import distributed.comm.tcp
import distributed.protocol.pickle
from distributed import Client
from distributed.core import rpc
from distributed.security import Security

from antennaopt.farm.security import made

TIMEOUT_S = 120.0
"""Safety net: what is refused is refused at once."""


class Careless(Security):
    """Believes any server, and shows a certificate of its own or none."""

    def __init__(self, context):
        super().__init__(require_encryption=True)
        self.context = context

    def get_connection_args(self, role):
        return {"ssl_context": self.context, "require_encryption": True}


def securities(folder):
    """Ways to connect: without TLS, with it and no certificate, with a certificate of another authority."""
    _, *pair = made()
    for name, text in zip(("certificate", "key"), pair, strict=True):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(text)
    none, foreign = (ssl._create_unverified_context() for _ in range(2))
    foreign.load_cert_chain(os.path.join(folder, "certificate"), os.path.join(folder, "key"))
    return {"tcp": None, "tls, no certificate": Careless(none), "tls, another authority": Careless(foreign)}


async def as_client(address, security):
    """Run a function in the workers of a scheduler, as any Dask client can."""
    async with Client(address, security=security, asynchronous=True, timeout=TIMEOUT_S) as client:
        return list((await client.run(os.getuid)).values())


async def as_peer(address, security):
    """Run a function in a worker or its nanny, as a scheduler or another worker can."""
    arguments = security.get_connection_args("client") if security else {}
    async with rpc(address, connection_args=arguments) as peer:
        call = distributed.protocol.pickle.dumps(os.getuid)
        answer = await asyncio.wait_for(peer.run(function=call), TIMEOUT_S)
        return [answer["result"]]


async def tried(connect, port, ways):
    """Return what came of each way to a port: the user ids under which code ran, or the name of the error."""
    found = {}
    for name, security in ways.items():
        try:
            found[name] = await connect(f"{'tls' if security else 'tcp'}://127.0.0.1:{port}", security)
        except Exception as problem:
            found[name] = type(problem).__name__
    return found


async def main(scheduler, others, folder):
    ways = securities(folder)
    for connect, port in [(as_client, scheduler), *((as_peer, port) for port in others)]:
        print(json.dumps(await tried(connect, port, ways)), flush=True)


if __name__ == "__main__":
    user, folder, *ports = sys.argv[1:]
    os.setgroups([])
    os.setgid(int(user))
    os.setuid(int(user))
    assert os.getuid() == int(user)
    asyncio.run(main(ports[0], ports[1:], folder))
