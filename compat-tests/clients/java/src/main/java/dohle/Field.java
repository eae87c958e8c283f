package dohle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What the field reports ask of the Java client beside the verbs of {@link Client}. */
public final class Field {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "send" -> send(args[1], args[2], args[3], args.length > 4 ? args[4] : "");
            case "times" -> times(args[1], args[2], args[3]);
            case "idle" -> idle(args[1], args[2], args.length > 3 ? args[3] : "");
            case "drain" -> drain(args[1], args[2], args.length > 3 ? args[3] : "");
            case "commit" -> commit(args[1], args[2], args[3], Long.parseLong(args[4]));
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static byte[] bytes(JsonNode node) {
        return node == null || node.isNull() ? null : node.asText().getBytes(StandardCharsets.UTF_8);
    }

    private static void set(Properties p, String extra) {
        for (String pair : extra.split(",")) {
            if (pair.contains("=")) p.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
    }

    /** Sends rows of [partition, key, value, timestamp or null] of the input as one burst; prints what came of each. */
    private static void send(String bootstrap, String topic, String codec, String extra) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        p.put("compression.type", codec);
        p.put("linger.ms", "500");
        set(p, extra);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p)) {
            producer.partitionsFor(topic);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                if (line.startsWith("sleep ")) {
                    producer.flush();
                    Thread.sleep(Long.parseLong(line.substring(6)));
                    continue;
                }
                JsonNode row = JSON.readTree(line);
                Long timestamp = row.has(3) && !row.get(3).isNull() ? row.get(3).asLong() : null;
                sent.add(producer.send(new ProducerRecord<>(topic, row.get(0).asInt(), timestamp, bytes(row.get(1)), bytes(row.get(2)))));
            }
            producer.flush();
            for (Future<RecordMetadata> future : sent) {
                Map<String, Object> shown = new LinkedHashMap<>();
                try {
                    RecordMetadata metadata = future.get();
                    shown.put("offset", metadata.offset());
                    shown.put("timestamp", metadata.timestamp());
                } catch (java.util.concurrent.ExecutionException failed) {
                    shown.put("error", failed.getCause().getClass().getSimpleName());
                    shown.put("message", failed.getCause().getMessage());
                }
                System.out.println(JSON.writeValueAsString(shown));
            }
        }
    }

    private static Properties consumer(String bootstrap) {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        p.put("auto.offset.reset", "earliest");
        p.put("enable.auto.commit", "false");
        return p;
    }

    /** Offsets of partition 0 for times, as {time: [offset, timestamp] or null}, for both isolation levels. */
    private static void times(String bootstrap, String topic, String times) throws Exception {
        TopicPartition tp = new TopicPartition(topic, 0);
        Map<String, Object> shown = new TreeMap<>();
        for (String isolation : List.of("read_uncommitted", "read_committed")) {
            Properties p = consumer(bootstrap);
            p.put("isolation.level", isolation);
            try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
                Map<String, Object> found = new TreeMap<>();
                for (String time : times.split(",")) {
                    OffsetAndTimestamp at = consumer.offsetsForTimes(Map.of(tp, Long.parseLong(time))).get(tp);
                    found.put(time, at == null ? null : List.of(at.offset(), at.timestamp()));
                }
                found.put("beginning", consumer.beginningOffsets(List.of(tp)).get(tp));
                found.put("end", consumer.endOffsets(List.of(tp)).get(tp));
                shown.put(isolation, found);
            }
        }
        System.out.println(JSON.writeValueAsString(shown));
    }

    /** Polls a quiet topic; prints how late the first record comes, in milliseconds after its timestamp. */
    private static void idle(String bootstrap, String topic, String extra) throws Exception {
        Properties p = consumer(bootstrap);
        set(p, extra);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream().map(i -> new TopicPartition(topic, i.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long limit = System.nanoTime() + 60_000_000_000L;
            while (System.nanoTime() < limit) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(1000))) {
                    System.out.println("late " + (System.currentTimeMillis() - r.timestamp()));
                    return;
                }
            }
        }
    }

    /** Reads a topic to its end; prints the lengths of the values in the order in which they came. */
    private static void drain(String bootstrap, String topic, String extra) throws Exception {
        Properties p = consumer(bootstrap);
        set(p, extra);
        List<Object> seen = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream().map(i -> new TopicPartition(topic, i.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long wanted = consumer.endOffsets(partitions).values().stream().mapToLong(Long::longValue).sum();
            long limit = System.nanoTime() + 60_000_000_000L;
            while (seen.size() < wanted && System.nanoTime() < limit) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(500))) seen.add(List.of(r.partition(), r.value().length));
            }
        }
        System.out.println(JSON.writeValueAsString(seen));
    }

    /** Commits an offset of partition 0 as a stranger who was never a member; prints "done" or the error's class. */
    private static void commit(String bootstrap, String topic, String group, long offset) {
        Properties p = consumer(bootstrap);
        p.put("group.id", group);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            TopicPartition tp = new TopicPartition(topic, 0);
            consumer.assign(List.of(tp));
            consumer.commitSync(Map.of(tp, new OffsetAndMetadata(offset)));
            System.out.println("done");
        } catch (org.apache.kafka.common.KafkaException refused) {
            System.out.println(refused.getClass().getSimpleName());
        }
    }
}
