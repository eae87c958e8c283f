"""Apache Kafka's own command-line programs."""

import atexit
import json
import select
import subprocess
import threading

from harness.clients import HERE, WORK

CLASSES = {
    "client-compat": "ClientCompatibilityTest",
    "topics": "TopicCommand",
    "configs": "ConfigCommand",
    "consumer-groups": "consumer.group.ConsumerGroupCommand",
    "share-groups": "consumer.group.ShareGroupCommand",
    "console-share-consumer": "consumer.ConsoleShareConsumer",
    "groups": "GroupsCommand",
    "streams-groups": "streams.StreamsGroupCommand",
    "get-offsets": "GetOffsetShell",
    "console-producer": "ConsoleProducer",
    "console-consumer": "consumer.ConsoleConsumer",
    "producer-perf": "ProducerPerformance",
    "consumer-perf": "ConsumerPerformance",
    "dump-log": "DumpLogSegments",
    "delete-records": "DeleteRecordsCommand",
    "transactions": "TransactionsCommand",
    "log-dirs": "LogDirsCommand",
    "broker-api-versions": "BrokerApiVersionsCommand",
    "features": "FeatureCommand",
    "metadata-quorum": "MetadataQuorumCommand",
    "leader-election": "LeaderElectionCommand",
    "reassign-partitions": "reassign.ReassignPartitionsCommand",
    "client-metrics": "ClientMetricsCommand",
    "cluster": "ClusterTool",
}
JVM = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def tool(name, *args, stdin=None, check=True, timeout=180):
    """Runs a tool by its short name in a JVM of its own; returns output and errors together."""
    command = [*JVM, f"-Dlog4j2.configurationFile={LOG4J}", "-cp", f"{WORK}/java/libs/*", *_line(name, args)]
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
    assert not check or done.returncode == 0, f"{name} {args}: {done.stdout[-3000:]}"
    return done.stdout


def _line(name, args):
    return ["org.apache.kafka.tools." + CLASSES[name], *map(str, args)]


class Tools:
    """Tools that run one after the other in one JVM, which starts with the first of them and ends with the tests."""

    def __init__(self):
        self.process = None
        self.lock = threading.Lock()

    def __call__(self, name, *args, check=True, timeout=60):
        with self.lock:
            done = self._ask(_line(name, args), timeout)
        assert not check or done["code"] == 0, f"{name} {args}: {done['text'][-3000:]}"
        return done["text"]

    def _ask(self, line, timeout):
        if self.process is None or self.process.poll() is not None:
            command = [*JVM, f"-Dlog4j2.configurationFile={LOG4J}", "-cp", f"{WORK}/java/libs/*", str(HERE / "clients/java/tools/Tools.java")]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], timeout)[0]:
            self.close()
            raise AssertionError(f"no end within {timeout} s: {line}")
        answer = self.process.stdout.readline()
        assert answer, f"the JVM ended at {line}"
        return json.loads(answer)

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait(30)


# As `tool`, for programs that need no input and end by themselves.
short_tool = Tools()
atexit.register(short_tool.close)


LOG4J = WORK / "log4j2.properties"
LOG4J.write_text(
    "status = error\nappender.c.type = Console\nappender.c.name = c\nappender.c.target = SYSTEM_ERR\n"
    "appender.c.layout.type = PatternLayout\nappender.c.layout.pattern = %d{HH:mm:ss.SSS} %p %m%n\n"
    "rootLogger.level = ${sys:compat.level:-WARN}\nrootLogger.appenderRef.c.ref = c\n")
