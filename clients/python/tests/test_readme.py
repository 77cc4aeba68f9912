"""The example of the README."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

from .fixture import Fixture
from .server import WITHIN, publish_call

PACKAGE = Path(__file__).parent.parent


class Readme(Fixture):
    def test_stop_reaches_the_tool(self) -> None:
        example = re.search(r"```python\n(.*?)```", (PACKAGE / "README.md").read_text(), re.DOTALL)
        assert example
        session = self.server.session("trip-7")
        publish_call(session)
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", example[1]], cwd=PACKAGE, text=True, stdout=subprocess.PIPE,
            env={**os.environ, "STREAMER_URL": self.server.url},
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        timer = threading.Timer(WITHIN, process.kill)
        self.addCleanup(timer.cancel)
        timer.start()
        assert process.stdout
        self.assertEqual(process.stdout.readline(), "searching fjord\n")
        session.interrupt(reason="user pressed stop")
        line = next(line for line in process.stdout if line != "searching fjord\n")
        self.assertEqual(line, "stopped: user pressed stop\n")
