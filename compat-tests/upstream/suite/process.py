"""Runs one class of tests in a JVM of its own, against Dohle or against Apache Kafka in a warm JVM."""

import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

from . import tables

WORK = Path(os.environ["UPSTREAM_WORK"])
JVM = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss512k"]
JAVA = os.environ.get("JAVA", "java")


def broker_command():
    """
    The command of one node. It takes no {format}: the harness formats the node's folders with Apache Kafka's own
    kafka-storage before the first start. No broker takes the default port of the metrics.
    """
    return f"{shlex.quote(os.path.abspath(os.environ['DOHLE_BIN']))} --config {{config}} --override dohle.admin.listeners="


class WarmKafka:
    """Apache Kafka nodes in one JVM, so that a test does not pay for the start of a JVM."""

    def __init__(self, folder):
        port = folder / "port"
        log = open(folder / "host.log", "w")
        classpath = f"{WORK}/build/harness.jar:{WORK}/build/kafka/*"
        command = [JAVA, "-Xmx1500m", *JVM, "-cp", classpath, "upstreamit.KafkaHost", str(port)]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        while not (port.exists() and port.read_text()):
            assert self.process.poll() is None, f"the warm Kafka ended, see {folder}/host.log"
            time.sleep(0.05)
        node = tables.HERE / "kafka-warm-node"
        self.command = f"{shlex.quote(str(node))} {shlex.quote(str(port))} {{config}} {{format}}"

    def stop(self):
        self.process.kill()
        self.process.wait()


def run(cls, out, kafka):
    """Runs one class; returns its results and whether its time was up."""
    folder = out / f"w-{cls}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    report = out / f"{cls}.tsv"
    report.unlink(missing_ok=True)
    warm = WarmKafka(folder) if kafka else None
    try:
        command = warm.command if warm else broker_command()
        not_run = "" if kafka else tables.not_run(cls)
        late = launch(cls, folder, report, command, out / f"{cls}.log", not_run)
    finally:
        if warm:
            warm.stop()
        if os.environ.get("KEEP_DIRS") != "1":
            shutil.rmtree(folder, ignore_errors=True)
    return tables.report(report), late


def launch(cls, folder, report, broker, log, not_run):
    test_s = os.environ.get("TEST_S", "120")
    command = [
        JAVA, f"-Xmx{os.environ.get('HEAP', '900m')}", *JVM,
        f"-Djava.io.tmpdir={folder}", f"-Dupstreamit.report={report}",
        "-cp", f"{WORK}/build/patched:{WORK}/build/harness.jar:{WORK}/libs/*",
        "org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--details=none",
        "--config", f"junit.jupiter.execution.timeout.testable.method.default={test_s}s",
        "--config", "junit.jupiter.params.displayname.default={displayName}.{argumentsWithNames}",
        "--config", "junit.jupiter.extensions.autodetection.enabled=true",
        "-c", cls,
    ]  # fmt: skip
    environment = os.environ | {
        "BROKER_CMD": broker,
        "UPSTREAM_IT_WORK": str(folder),
        "UPSTREAM_NOT_RUN": not_run,
    }
    with open(log, "w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, env=environment, cwd=folder,
            start_new_session=True,
        )
        try:
            process.wait(timeout=float(os.environ.get("CLASS_S", "900")))
            return False
        except subprocess.TimeoutExpired:
            return True
        finally:
            # The brokers are in the session of their JVM: nothing of it outlives the class.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
