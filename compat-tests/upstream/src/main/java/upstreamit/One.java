package upstreamit;

import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;

import java.util.List;
import java.util.Map;

/**
 * Every test has one broker. Where it asked for several, replicas and what has to be in sync come down to one; where
 * it asked for one, all stays as the test has it.
 */
public final class One {
    private static final List<String> COUNTS = List.of("default.replication.factor", "min.insync.replicas",
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor", "transaction.state.log.min.isr",
        "share.coordinator.state.topic.replication.factor", "share.coordinator.state.topic.min.isr");
    private static volatile int node;
    private static volatile int asked = 1;

    private One() { }

    /** The broker of the test that runs. */
    static void node(int id) {
        node = id;
    }

    /** How many brokers the test asked for. */
    public static void asked(int brokers) {
        asked = brokers;
    }

    /** Settings of the broker. */
    static void lower(Map<String, String> props) {
        if (asked <= 1) return;
        for (String key : COUNTS) props.computeIfPresent(key, (k, v) -> v.matches("[2-9]|[1-9][0-9]+") ? "1" : v);
    }

    /** A topic that an Admin client is about to create. */
    public static void lower(CreatableTopic topic) {
        if (asked <= 1) return;
        if (topic.replicationFactor() > 1) topic.setReplicationFactor((short) 1);
        topic.assignments().forEach(a -> {
            if (!a.brokerIds().isEmpty()) a.setBrokerIds(List.of(node));
        });
        topic.configs().forEach(c -> {
            if (c.name().equals("min.insync.replicas") && c.value() != null && c.value().matches("[2-9]")) c.setValue("1");
        });
    }

    /** The first of the brokers that the older harness is about to start. */
    public static scala.collection.Seq<?> first(scala.collection.Seq<?> configs) {
        asked(configs.size());
        return (scala.collection.Seq<?>) configs.take(1);
    }
}
