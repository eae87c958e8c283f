import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.List;
import java.util.ArrayList;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a share group; ends when its input closes. Run as a source file: older lines of the client do not have it.
 *
 * <p>{@code Sharing BOOTSTRAP TOPIC GROUP RULE [key=value,...]}. RULE: {@code hold} keeps what it gets, and says how much;
 * {@code sort} rejects values that can be divided by ten and accepts others; {@code release} gives back what it gets the
 * first time and accepts it after that; {@code renew} holds each record for two locks and accepts it then. What was
 * acknowledged is printed when the broker has said so: {@code accepted VALUE DELIVERY}, {@code rejected VALUE DELIVERY}.
 */
public final class Sharing {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("group.id", args[2]);
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        p.put("share.acknowledgement.mode", "explicit");
        p.put("max.poll.records", "20");
        if (args.length > 4) {
            for (String pair : args[4].split(",")) p.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        String rule = args[3];
        Thread watcher = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (java.io.IOException ended) { }
            done = true;
        });
        watcher.setDaemon(true);
        watcher.start();
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(p)) {
            consumer.subscribe(List.of(args[1]));
            System.out.println("ready");
            int held = 0;
            while (!done) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(200));
                if (rule.equals("hold")) {
                    held += records.count();
                    if (records.count() > 0) {
                        System.out.println("held " + held);
                        while (!done) Thread.sleep(50);
                        // It goes without a word.
                        Runtime.getRuntime().halt(0);
                    }
                    continue;
                }
                if (rule.equals("renew") && records.count() > 0) {
                    for (ConsumerRecord<byte[], byte[]> r : records) consumer.acknowledge(r, AcknowledgeType.RENEW);
                    commit(consumer);
                    Integer timeout = consumer.acquisitionLockTimeoutMs().orElse(null);
                    System.out.println("renewed " + records.count() + " " + timeout);
                    Thread.sleep(10_000);
                    consumer.poll(Duration.ofMillis(200));
                }
                List<String> said = new ArrayList<>();
                for (ConsumerRecord<byte[], byte[]> r : records) {
                    String value = new String(r.value(), StandardCharsets.UTF_8);
                    short delivery = r.deliveryCount().orElse((short) 0);
                    boolean gives = rule.equals("release") && delivery < 2;
                    boolean rejects = rule.equals("sort") && Long.parseLong(value) % 10 == 0;
                    AcknowledgeType type = gives ? AcknowledgeType.RELEASE : rejects ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT;
                    consumer.acknowledge(r, type);
                    said.add((gives ? "released " : rejects ? "rejected " : "accepted ") + value + " " + delivery);
                }
                if (!said.isEmpty() && commit(consumer)) said.forEach(System.out::println);
            }
        }
    }

    private static volatile boolean done;

    /** Whether the broker has kept all that was acknowledged. */
    private static boolean commit(KafkaShareConsumer<byte[], byte[]> consumer) {
        boolean kept = true;
        for (Map.Entry<TopicIdPartition, java.util.Optional<KafkaException>> one : consumer.commitSync().entrySet()) {
            if (one.getValue().isPresent()) {
                System.out.println("failed " + one.getValue().get());
                kept = false;
            }
        }
        return kept;
    }
}
