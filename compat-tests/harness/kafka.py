"""Apache Kafka itself, as the other broker that opens our folders."""

import subprocess

from harness.broker import Broker, free_port
from harness.clients import WORK
from harness.tools import LOG4J


class Kafka(Broker):
    """One Apache Kafka node on the same settings and the same data folder."""

    # Further classes, behind Kafka's own.
    classpath = ""
    jvm = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]

    def command(self):
        controller = free_port()
        lines = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "100",
        }
        lines.update(self.settings)
        if "CONTROLLER" not in lines["listeners"]:
            lines["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
        config = self.folder / "kafka.properties"
        config.write_text("".join(f"{k}={v}\n" for k, v in lines.items()))
        classes = [f"-Dlog4j2.configurationFile={LOG4J}", "-cp", f"{WORK}/java/libs/*{self.classpath}"]
        if not (self.data / "meta.properties").exists():
            subprocess.run(
                ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"] + classes + ["kafka.tools.StorageTool", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", str(config)],
                check=True, capture_output=True)
        return ["java"] + self.jvm + classes + ["kafka.Kafka", str(config)]
