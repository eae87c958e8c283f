"""Apache Kafka's own command-line programs."""

import subprocess

from harness.clients import WORK

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
}


def tool(name, *args, stdin=None, check=True, timeout=180):
    """Runs a tool by its short name; returns output and errors together."""
    command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={LOG4J}",
               "-cp", f"{WORK}/java/libs/*", "org.apache.kafka.tools." + CLASSES[name], *map(str, args)]
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
    assert not check or done.returncode == 0, f"{name} {args}: {done.stdout[-3000:]}"
    return done.stdout


LOG4J = WORK / "log4j2.properties"
LOG4J.write_text(
    "status = error\nappender.c.type = Console\nappender.c.name = c\nappender.c.target = SYSTEM_ERR\n"
    "appender.c.layout.type = PatternLayout\nappender.c.layout.pattern = %d{HH:mm:ss.SSS} %p %m%n\n"
    "rootLogger.level = ${sys:compat.level:-WARN}\nrootLogger.appenderRef.c.ref = c\n")
