"""Programs of the ecosystem as processes of their own: Connect workers, MirrorMaker, Spring, Flink."""

import os
import signal
import subprocess

from harness.tools import LOG4J
from harness.clients import WORK


def jvm(line, *arguments, memory=384, level=os.environ.get("COMPAT_LOG", "WARN"), options=()):
    """The command for a Java program whose classes are those of one installed line; COMPAT_LOG=INFO has it say more."""
    return ["java", f"-Xmx{memory}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true", *options,
            f"-Dlog4j2.configurationFile={LOG4J}", f"-Dcompat.level={level}", "-cp", f"{WORK}/{line}/classes:{WORK}/{line}/libs/*", *arguments]


class Program:
    """A process whose output goes to a file; `kill` and `stop` may be called at any time, also twice."""

    def __init__(self, folder, name, command):
        self.log = folder / f"{name}.log"
        self.command = command
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def check(self):
        """Fails with what the program said when it ended by itself."""
        assert self.process.poll() is None, f"it ended with {self.process.returncode}: {self.tail()}"

    def finish(self, seconds):
        """Waits for the program's own end and returns what it said; fails when it ends badly."""
        code = self.process.wait(seconds)
        assert code == 0, f"it ended with {code}: {self.tail()}"
        return self.log.read_text(errors="replace")

    def stop(self, seconds=60):
        """Asks for an orderly end."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(seconds)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)

    def tail(self, size=4000):
        return self.log.read_text(errors="replace")[-size:]
