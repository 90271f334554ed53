"""Values that processes share under keys, which one of them serves: by XML-RPC, with Python's own server and client."""

from __future__ import annotations

import datetime
import http.client
import threading
import time
import weakref
import xmlrpc.client
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from xmlrpc.server import SimpleXMLRPCServer

from pijit import _check
from pijit.communication._comm_helper import failed

if TYPE_CHECKING:
    from typing import Any

_TURN = 1.0  # seconds that one question waits for a key
_DEFAULT = datetime.timedelta(seconds=300)
_NEVER_SERVED = (ConnectionError, TimeoutError, OSError, http.client.HTTPException)


class _Values:
    """What the server holds. Keys and values are bytes; numbers travel as text, as XML-RPC has 32 bits for them."""

    def __init__(self):
        self._values, self._changed, self._workers = {}, threading.Condition(), 0

    def join(self):
        with self._changed:
            self._workers += 1
            self._changed.notify_all()

    def wait_for_workers(self, count, seconds):
        with self._changed:
            self._changed.wait_for(lambda: self._workers >= count, seconds)
            return self._workers

    def set(self, key, value):
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()

    def get(self, key, seconds):
        """[value], or [] where there is none in time."""
        with self._changed:
            found = self._changed.wait_for(lambda: key in self._values, seconds)
            return [self._values[key]] if found else []

    def add(self, key, amount):
        """The sum, as text; [] where the value is no number."""
        with self._changed:
            try:
                total = str(int(self._values.get(key, b"0")) + int(amount))
            except ValueError:
                return []
            self._values[key] = total.encode()
            self._changed.notify_all()
            return [total]

    def delete(self, key):
        with self._changed:
            return self._values.pop(key, None) is not None

    def count(self):
        with self._changed:
            return len(self._values)


class _Server(ThreadingMixIn, SimpleXMLRPCServer):
    daemon_threads = True
    allow_reuse_address = True


def _served(values, host, port):
    server = _Server((host, port), logRequests=False, allow_none=True, use_builtin_types=True)
    for name in ("join", "set", "get", "add", "delete", "count"):
        server.register_function(getattr(values, name), name)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
    return server


def _closed(server):
    server.shutdown()
    server.server_close()


class _Client:
    """The values of another process."""

    def __init__(self, host, port, seconds):
        self._where = f"{host}:{port}"
        self._proxy = xmlrpc.client.ServerProxy(f"http://{self._where}", allow_none=True, use_builtin_types=True)
        self._turn = threading.Lock()
        end = time.monotonic() + seconds
        while True:  # the server may begin later
            try:
                self._proxy.join()
                return
            except _NEVER_SERVED as e:
                if time.monotonic() > end:
                    raise failed("TCPStore", f"nobody serves the store at {self._where} within {seconds:g} s: {e}. "
                                             "One process makes it with is_master=True") from e
                time.sleep(0.05)

    def __getattr__(self, name):
        def call(*args):
            try:
                with self._turn:
                    return getattr(self._proxy, name)(*args)
            except (*_NEVER_SERVED, xmlrpc.client.Error) as e:
                raise failed(f"TCPStore.{name}", f"the process that serves the store at {self._where} does not answer: "
                                                 f"{e}") from e
        return call


class TCPStore:
    """Values that processes share: the one with is_master serves them, the others name its host and port.

    A master waits for world_size - 1 others, a client for the master, as long as timeout says. Without a host, the
    values are this process's own. Whoever reaches the port reads and writes the values: they are for a network that is
    one's own."""

    host: str | None
    host_name: str | None
    port: int | None

    def __init__(self, host_name: str | None = None, port: int | None = None, world_size: int | None = None,
                 is_master: bool = False, timeout: Any = _DEFAULT, wait_for_workers: bool = True,
                 multi_tenant: bool = False, master_listen_fd: Any = None,  # noqa: ARG002
                 use_libuv: bool = True) -> None:  # noqa: ARG002
        _check.need("TCPStore", "host_name", host_name, _check.optional(_check.STR))
        _check.need("TCPStore", "port", port, _check.optional(_check.INT))
        _check.need("TCPStore", "world_size", world_size, _check.optional(_check.INT))
        _check.need("TCPStore", "is_master", is_master, _check.BOOL)
        _check.need("TCPStore", "wait_for_workers", wait_for_workers, _check.BOOL)
        if world_size is not None and world_size < 1:
            raise _check.refused("TCPStore", "world_size", _check.value("be at least 1"), world_size)
        if port is not None and not 0 <= port <= 65535:
            raise _check.refused("TCPStore", "port", _check.within(0, 65535), port)
        self._seconds = float(getattr(timeout, "total_seconds", lambda: timeout)())
        self.host = self.host_name = host_name
        self.port = port
        self._values: Any
        if host_name is None or port is None:
            if world_size not in (None, 1):
                raise failed("TCPStore", f"'world_size' is {world_size}, but no 'host_name' and 'port' say where the "
                                         "store is", ValueError)
            self._values = _Values()
        elif not is_master:
            self._values = _Client(host_name, port, self._seconds)
        else:
            self._values = _Values()
            server = _served(self._values, host_name, port)
            weakref.finalize(self, _closed, server)
            self.port = server.server_address[1]
            workers = (world_size or 1) - 1
            if wait_for_workers and workers:
                came = self._values.wait_for_workers(workers, self._seconds)
                if came < workers:
                    raise failed("TCPStore", f"{came} of {workers} other processes have come within {self._seconds:g} "
                                             "s: 'world_size' counts the master, too")

    def set(self, key: str, value: str | bytes) -> None:
        """Keeps a str or bytes under a key. TypeError for other values."""
        if not isinstance(value, (str, bytes)):
            raise _check.refused("TCPStore.set", "value", _check.value("be a str or bytes"), value, TypeError)
        self._values.set(_key("set", key), value.encode() if isinstance(value, str) else value)

    def get(self, key: str) -> bytes:
        """The bytes under a key, which is waited for. RuntimeError where there are none within timeout."""
        name, end = _key("get", key), time.monotonic() + self._seconds
        while True:
            left = end - time.monotonic()
            found = self._values.get(name, max(0.0, min(_TURN, left)))
            if found:
                return found[0]
            if left <= 0:
                raise failed("TCPStore.get", f"nobody has set the key {key!r} within {self._seconds:g} s")

    def add(self, key: str, amount: int) -> int:
        """Adds to the number under a key, 0 at first, and returns it. RuntimeError where the value is no number."""
        _check.need("TCPStore.add", "amount", amount, _check.INT)
        found = self._values.add(_key("add", key), str(amount))
        if not found:
            raise failed("TCPStore.add", f"the value of {key!r} is no number")
        return int(found[0])

    def delete_key(self, key: str) -> bool:
        """Takes a key away. Whether it was there."""
        return self._values.delete(_key("delete_key", key))

    def num_keys(self) -> int:
        """How many keys there are."""
        return self._values.count()


def _key(name, key):
    _check.need(f"TCPStore.{name}", "key", key, _check.STR)
    return key.encode()


__all__ = ["TCPStore"]
