"""Tests with a server of their own."""

from __future__ import annotations

import unittest
from typing import Any

from streamer_client import Event, Session

from .server import Server, publish_call


class Fixture(unittest.TestCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)

    def fresh(self) -> tuple[Session, Event]:
        """Returns a session of this test, with a call."""
        session = self.server.session(self.id())
        return session, publish_call(session)

    def events(self, session: Session) -> list[Event]:
        """Returns the stored events."""
        session.end()
        found = []
        for event in session.events():
            found.append(event)
            if event.type == "run_finished":
                return found
        return found

    def check_result(self, session: Session, status: str, value: Any) -> None:
        """Checks that the only call has one result, and nothing was rejected."""
        events = self.events(session)
        results = [(e["status"], session.tool_result(e)) for e in events if e.type == "tool_call_result"]
        self.assertEqual(results, [(status, value)])
        odd = ("rejected", "orphan_result", "tool_call_late_result")
        self.assertEqual([e for e in events if e.type in odd], [])
