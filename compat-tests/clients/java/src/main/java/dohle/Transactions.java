package dohle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A transactional producer that is told what to do, one line each; and a reader of committed records. */
final class Transactions {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final KafkaProducer<String, String> producer;
    private final List<Future<?>> sent = new ArrayList<>();

    private Transactions(KafkaProducer<String, String> producer) {
        this.producer = producer;
    }

    static void run(String bootstrap, String name, String timeoutMs) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("transactional.id", name);
        p.put("transaction.timeout.ms", timeoutMs);
        p.put("key.serializer", StringSerializer.class.getName());
        p.put("value.serializer", StringSerializer.class.getName());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p)) {
            producer.initTransactions();
            Transactions session = new Transactions(producer);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Map<String, Object> answer = new HashMap<>();
                try {
                    session.act(JSON.readTree(line));
                    answer.put("ok", null);
                } catch (ExecutionException failed) {
                    answer.put("error", String.valueOf(failed.getCause()));
                } catch (Exception failed) {
                    answer.put("error", String.valueOf(failed));
                }
                System.out.println(JSON.writeValueAsString(answer));
            }
        }
    }

    private void act(JsonNode line) throws Exception {
        switch (line.get(0).asText()) {
            case "begin" -> producer.beginTransaction();
            case "send" -> sent.add(producer.send(new ProducerRecord<>(line.get(1).asText(), line.get(2).asInt(), null, line.get(3).asText())));
            case "flush" -> {
                producer.flush();
                List<Future<?>> all = List.copyOf(sent);
                sent.clear();
                for (Future<?> one : all) one.get();
            }
            case "offsets" -> {
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                line.get(3).fields().forEachRemaining(e ->
                    offsets.put(new TopicPartition(line.get(2).asText(), Integer.parseInt(e.getKey())), new OffsetAndMetadata(e.getValue().asLong())));
                producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(line.get(1).asText()));
            }
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalArgumentException(line.toString());
        }
    }

    static void committed(String bootstrap, String topic) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("isolation.level", "read_committed");
        p.put("auto.offset.reset", "earliest");
        p.put("key.deserializer", StringDeserializer.class.getName());
        p.put("value.deserializer", StringDeserializer.class.getName());
        Map<Integer, List<String>> values = new TreeMap<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(p)) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                .map(one -> new TopicPartition(topic, one.partition())).collect(Collectors.toList());
            consumer.assign(partitions);
            partitions.forEach(one -> values.put(one.partition(), new ArrayList<>()));
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(500))) values.get(r.partition()).add(r.value());
            }
        }
        System.out.println(JSON.writeValueAsString(values));
    }
}
