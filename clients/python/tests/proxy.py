"""A proxy that cuts connections off."""

from __future__ import annotations

import re
import socket
import threading
from urllib.parse import urlsplit

RETRY = re.compile(rb"retry: \d{4}\n")


class Proxy:
    """Passes connections on to a server. Each is closed after the next number of bytes of its answers in `cuts`,
    and is not closed when there is none left. The retry of event streams becomes 10 ms."""

    def __init__(self, url: str, cuts: list[int]) -> None:
        self._to = (str(urlsplit(url).hostname), urlsplit(url).port or 0)
        self._cuts = list(cuts)
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            try:
                server = socket.create_connection(self._to)
            except OSError:  # the server is being started again
                client.close()
                continue
            cut = self._cuts.pop(0) if self._cuts else None
            threading.Thread(target=self._serve, args=(client, server, cut), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket, cut: int | None) -> None:
        with client, server:
            requests = threading.Thread(target=self._copy, args=(client, server, None), daemon=True)
            requests.start()
            self._copy(server, client, cut)
            requests.join()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket, cut: int | None) -> None:
        try:
            while data := source.recv(1 << 16):
                data = RETRY.sub(b"retry: 0010\n", data)
                if cut is not None:
                    data, cut = data[:cut], cut - len(data)
                sink.sendall(data)
                if cut is not None and cut <= 0:
                    break
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
