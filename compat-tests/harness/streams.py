"""The Kafka Streams application under test, as processes of its own."""

import queue
import subprocess
import threading

from harness.clients import JAVA_OPTIONS, WORK
from harness.wait import until

COMMAND = ["java", *JAVA_OPTIONS, "-Dlog4j2.level=WARN", "-cp", f"{WORK}/streams/libs/*:{WORK}/streams/classes", "dohle.WordCount"]


class WordCount:
    """One instance; `settings` are Kafka's names."""

    def __init__(self, broker, application, folder, source, sink, **settings):
        folder.mkdir(parents=True, exist_ok=True)
        self.log = open(folder / "application.log", "ab")
        settings = [f"{key.replace('_', '.')}={value}" for key, value in settings.items()]
        command = [*COMMAND, broker.bootstrap, application, str(folder / "state"), source, sink, *settings]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.states = []
        self.tasks = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "tasks":
                self.tasks.put(tuple(int(number) for number in rest.split()))
            else:
                self.states.append(rest or word)

    def runs(self):
        assert self.process.poll() is None, f"the application ended: {self.states}"
        return bool(self.states) and self.states[-1] == "RUNNING"

    def counts(self):
        """How many active and standby tasks it has now."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.tasks.get(timeout=30)

    def kill(self):
        self.process.kill()
        self.process.wait(30)
        self.log.close()

    def close(self):
        """Ends as an application does, and waits for it."""
        if self.process.poll() is None:
            self.process.stdin.close()
            until(lambda: "closed" in self.states, "the application has closed")
        self.process.wait(30)
        self.log.close()
