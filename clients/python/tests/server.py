"""A server of the tests, which can be killed and started again on the same directory and port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import threading
from typing import Any

from streamer_client import Session, streamer

PROGRAM = os.environ["STREAMER_PROGRAM"]
WITHIN = 120.0  # seconds that only a test that fails waits


class Server:
    """A process of `streamer serve`."""

    def __init__(self) -> None:
        self._dir = tempfile.TemporaryDirectory()
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self._log = open(os.path.join(self._dir.name, "log"), "ab")
        self.start()

    def start(self) -> None:
        """Starts the process. Clients repeat their requests until it accepts inputs."""
        self._process = subprocess.Popen(
            [PROGRAM, "serve", "--data-dir", self._dir.name, "--http-listen", self.url.removeprefix("http://"),
             "--nats-listen", "127.0.0.1:0", "--partitions", "1"],
            stdout=self._log, stderr=self._log,
        )

    def kill(self) -> None:
        """Ends the process with SIGKILL."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        """Kills the process and starts it again."""
        self.kill()
        self.start()

    def close(self) -> None:
        self.kill()
        self._log.close()
        self._dir.cleanup()

    def session(self, name: str) -> Session:
        return streamer(self.url).session(name)


def free_port() -> int:
    """Returns a port that systems do not assign to connections, so that it stays free during a restart."""
    for port in range(10_000 + os.getpid() * 7 % 20_000, 32_000):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise OSError("no free port")


def chunk(id: str, name: str, args: str, message: str = "m1") -> dict[str, Any]:
    """Returns a whole call in the form of Chat Completions."""
    call = {"index": 0, "id": id, "function": {"name": name, "arguments": args}}
    return {"id": message, "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}


def publish_call(session: Session, id: str = "call_1", name: str = "search", args: str = '{"q":"fjord"}') -> Any:
    """Publishes a call, and returns its event with complete args."""
    session.follow([chunk(id, name, args, message=f"m-{id}")], format="openai-chat")
    return session.call(id, timeout=WITHIN)


def background(function: Any, *args: Any, **options: Any) -> Any:
    """Calls a function in a thread, and returns a function that waits for its value or raises its error."""
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["value"] = function(*args, **options)
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()

    def wait() -> Any:
        thread.join(WITHIN)
        if "error" in outcome:
            raise outcome["error"]
        return outcome["value"]

    return wait
