package dohle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The Java client behind the verbs that every client of the compatibility tests offers. */
public final class Client {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "produce" -> produce(args[1], args[2], args[3], args.length > 4 ? args[4] : "");
            case "digest" -> read(args[1], args[2], false);
            case "dump" -> read(args[1], args[2], true);
            case "group" -> group(args[1], args[2], args[3], args[4], args.length > 5 ? args[5] : "");
            case "admin" -> AdminSession.run(args[1]);
            case "transactions" -> Transactions.run(args[1], args[2], args[3]);
            case "committed" -> Transactions.committed(args[1], args[2]);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() ? null : node.asText().getBytes(StandardCharsets.UTF_8);
    }

    private static void produce(String bootstrap, String topic, String codec, String extra) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        p.put("compression.type", codec);
        p.put("acks", "all");
        p.put("linger.ms", "5");
        for (String pair : extra.split(",")) {
            if (pair.contains("=")) p.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        AtomicLong acked = new AtomicLong();
        AtomicLong failed = new AtomicLong();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p)) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                JsonNode row = JSON.readTree(line);
                ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, bytes(row.get(0)), bytes(row.get(1)));
                if (row.has(2)) for (JsonNode h : row.get(2)) record.headers().add(h.get(0).asText(), bytes(h.get(1)));
                producer.send(record, (metadata, error) -> {
                    if (error == null) acked.incrementAndGet();
                    else if (failed.incrementAndGet() == 1) error.printStackTrace();
                });
            }
            producer.flush();
        }
        System.out.println("{\"acked\":" + acked + ",\"failed\":" + failed + "}");
    }

    private static Properties consumerProperties(String bootstrap) {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        p.put("auto.offset.reset", "earliest");
        p.put("enable.auto.commit", "false");
        return p;
    }

    private static void add(MessageDigest digest, byte[] value) {
        digest.update(ByteBuffer.allocate(4).putInt(value == null ? -1 : value.length).array());
        if (value != null) digest.update(value);
    }

    private static String text(byte[] value) {
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    private static void read(String bootstrap, String topic, boolean dump) throws Exception {
        PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, StandardCharsets.UTF_8);
        Map<Integer, MessageDigest> digests = new TreeMap<>();
        Map<Integer, Long> counts = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consumerProperties(bootstrap))) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(i -> partitions.add(new TopicPartition(topic, i.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            for (TopicPartition tp : partitions) {
                digests.put(tp.partition(), MessageDigest.getInstance("SHA-256"));
                counts.put(tp.partition(), 0L);
            }
            long quietUntil = System.nanoTime() + 60_000_000_000L;
            while (partitions.stream().anyMatch(tp -> consumer.position(tp) < ends.get(tp)) && System.nanoTime() < quietUntil) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(500))) {
                    quietUntil = System.nanoTime() + 60_000_000_000L;
                    counts.merge(r.partition(), 1L, Long::sum);
                    if (dump) {
                        List<Object> headers = new ArrayList<>();
                        for (Header h : r.headers()) {
                            List<Object> pair = new ArrayList<>();
                            pair.add(h.key());
                            pair.add(text(h.value()));
                            headers.add(pair);
                        }
                        List<Object> row = new ArrayList<>();
                        row.add(r.partition());
                        row.add(r.offset());
                        row.add(r.timestamp());
                        row.add(text(r.key()));
                        row.add(text(r.value()));
                        row.add(headers);
                        out.println(JSON.writeValueAsString(row));
                    } else {
                        MessageDigest d = digests.get(r.partition());
                        d.update(ByteBuffer.allocate(8).putLong(r.offset()).array());
                        add(d, r.key());
                        add(d, r.value());
                    }
                }
            }
        }
        if (!dump) {
            Map<String, Object> answer = new TreeMap<>();
            digests.forEach((p, d) -> answer.put(p.toString(), List.of(counts.get(p), HexFormat.of().formatHex(d.digest()))));
            out.println(JSON.writeValueAsString(answer));
        }
        out.flush();
    }

    /** Commits what was read; where a rebalance came first, the next call commits again or the next owner reads again. */
    private static void commit(KafkaConsumer<byte[], byte[]> consumer) {
        try {
            consumer.commitSync();
        } catch (RebalanceInProgressException | CommitFailedException refused) {
            System.err.println(refused);
        }
    }

    private static void group(String bootstrap, String topic, String group, String mode, String instance) throws Exception {
        Properties p = consumerProperties(bootstrap);
        p.put("group.id", group);
        if (mode.equals("consumer")) {
            p.put("group.protocol", "consumer"); // the broker says when and how (KIP-848)
        } else {
            p.put("session.timeout.ms", instance.isEmpty() ? "10000" : "45000"); // long enough for a restart on a busy machine
            p.put("heartbeat.interval.ms", "500");
            p.put("partition.assignment.strategy", mode.equals("cooperative")
                ? "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
                : "org.apache.kafka.clients.consumer.RangeAssignor");
        }
        if (!instance.isEmpty()) p.put("group.instance.id", instance);
        Thread stdin = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (java.io.IOException ignored) { }
        });
        stdin.setDaemon(true);
        stdin.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
                @Override public void onPartitionsAssigned(Collection<TopicPartition> a) { }
                @Override public void onPartitionsRevoked(Collection<TopicPartition> a) { commit(consumer); }
            });
            List<Integer> before = null;
            while (stdin.isAlive()) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println("record " + r.partition() + " " + r.offset());
                }
                List<Integer> now = consumer.assignment().stream().map(TopicPartition::partition).sorted().toList();
                if (!now.equals(before) && !(before == null && now.isEmpty())) System.out.println("assigned " + now);
                before = now.isEmpty() ? before : now;
                commit(consumer);
            }
        }
        System.out.println("closed");
    }
}
