"""Run: several processes, and processes and servers that are killed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import unittest
from typing import Any

from streamer_client import Session, streamer

from .fixture import Fixture
from .proxy import Proxy
from .server import WITHIN


class Processes(Fixture):
    def setUp(self) -> None:
        self.proxy = Proxy(self.server.url, [])  # clients connect again without a delay
        self.addCleanup(self.proxy.close)

    def agent(self, session: Session) -> subprocess.Popen[str]:
        """Starts a process that runs the call, and waits until it is ready."""
        command = [sys.executable, "-B", "-m", "tests.agent", self.proxy.url, session.name, "call_1"]
        agent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(agent.communicate)
        self.addCleanup(agent.kill)
        self.assertEqual(self.line(agent), "ready")
        return agent

    def line(self, agent: subprocess.Popen[str]) -> str:
        timer = threading.Timer(WITHIN, agent.kill)
        timer.start()
        assert agent.stdout
        line = agent.stdout.readline().strip()
        timer.cancel()
        return line

    def claims(self, session: Session, count: int) -> None:
        """Waits for claims."""
        for _, _ in zip(range(count), session.events(types=["tool_call_progress"])):
            pass

    def test_two_processes_and_a_killed_server(self) -> None:
        session, _ = self.fresh()
        agents = [self.agent(session), self.agent(session)]
        self.claims(session, 1)
        self.server.restart()
        for agent in agents:
            assert agent.stdin
            print("go", file=agent.stdin, flush=True)
        lines = [[self.line(agent)] for agent in agents]
        runner = next(n for n, first in enumerate(lines) if first == ["running"])
        lines[runner].append(self.line(agents[runner]))
        want = json.dumps({"args": {"q": "fjord"}, "line": "go"})
        self.assertEqual(lines[runner], ["running", want])
        self.assertEqual(lines[1 - runner], [want])
        self.check_result(session, "completed", json.loads(want))

    def test_killed_process(self) -> None:
        session, _ = self.fresh()
        first = self.agent(session)
        self.assertEqual(self.line(first), "running")
        first.kill()
        first.wait()
        second = self.agent(session)
        session.interrupt(reason="the process is gone")
        self.assertEqual(self.line(second), '{"cancelled": "interrupt"}')

    def test_server_killed_at_the_end_of_the_tool(self) -> None:
        session, call = self.fresh()

        def tool(args: Any) -> str:
            self.server.restart()  # the first tries to store the result fail
            return "done"

        self.assertEqual(streamer(self.proxy.url).session(session.name).run(call, tool), "done")
        self.check_result(session, "completed", "done")


if __name__ == "__main__":
    unittest.main()
