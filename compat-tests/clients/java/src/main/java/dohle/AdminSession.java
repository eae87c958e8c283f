package dohle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Answers the commands of an admin session, one line each, until the input ends; compiles against every line from 2.8. */
final class AdminSession {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Admin admin;

    private AdminSession(Admin admin) {
        this.admin = admin;
    }

    static void run(String bootstrap) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", bootstrap))) {
            AdminSession session = new AdminSession(admin);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Map<String, Object> answer = new HashMap<>();
                try {
                    answer.put("ok", session.answer(JSON.readTree(line)));
                } catch (ExecutionException failed) {
                    answer.put("error", String.valueOf(failed.getCause()));
                } catch (Exception failed) {
                    answer.put("error", String.valueOf(failed));
                }
                System.out.println(JSON.writeValueAsString(answer));
            }
        }
    }

    private Object answer(JsonNode line) throws Exception {
        String first = line.size() > 1 ? line.get(1).asText() : "";
        return switch (line.get(0).asText()) {
            case "create" -> admin.createTopics(List.of(new NewTopic(first, line.get(2).asInt(), (short) 1).configs(settings(line.get(3))))).all().get();
            case "topics" -> admin.listTopics().names().get();
            case "describe" -> partitions(first).size();
            case "delete" -> admin.deleteTopics(List.of(first)).all().get();
            case "configs" -> configs(first);
            case "alter" -> alter(first, settings(line.get(2)));
            case "grow" -> admin.createPartitions(Map.of(first, NewPartitions.increaseTo(line.get(2).asInt()))).all().get();
            case "truncate" -> truncate(new TopicPartition(first, line.get(2).asInt()), line.get(3).asLong());
            case "times" -> times(first, line.get(2).asLong());
            case "groups" -> admin.listConsumerGroups().all().get().stream().map(g -> g.groupId()).toList();
            case "group" -> group(first);
            case "committed" -> committed(first, line.get(2).asText());
            case "commit" -> commit(first, line.get(2).asText(), line.get(3));
            case "forget" -> admin.deleteConsumerGroups(List.of(first)).all().get();
            default -> throw new IllegalArgumentException("unknown command " + line);
        };
    }

    private static Map<String, String> settings(JsonNode node) {
        Map<String, String> settings = new HashMap<>();
        node.fields().forEachRemaining(field -> settings.put(field.getKey(), field.getValue().asText()));
        return settings;
    }

    /** Calls the first of the methods that this line of the client has. */
    private static Object call(Object target, String... names) throws Exception {
        for (String name : names) {
            if (Arrays.stream(target.getClass().getMethods()).anyMatch(m -> m.getName().equals(name) && m.getParameterCount() == 0)) {
                return target.getClass().getMethod(name).invoke(target);
            }
        }
        throw new IllegalStateException("no method " + List.of(names));
    }

    @SuppressWarnings("unchecked")
    private List<TopicPartition> partitions(String topic) throws Exception {
        Object future = call(admin.describeTopics(List.of(topic)), "allTopicNames", "all");
        TopicDescription description = ((KafkaFuture<Map<String, TopicDescription>>) future).get().get(topic);
        return description.partitions().stream().map(p -> new TopicPartition(topic, p.partition())).toList();
    }

    private Map<String, String> configs(String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        Map<String, String> found = new TreeMap<>();
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
            found.put(entry.name(), entry.value());
        }
        return found;
    }

    private Object alter(String topic, Map<String, String> settings) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        settings.forEach((name, value) -> changes.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
        return admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic), changes)).all().get();
    }

    private Object truncate(TopicPartition partition, long offset) throws Exception {
        admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(offset))).all().get();
        return null;
    }

    private Map<Integer, Long> times(String topic, long at) throws Exception {
        OffsetSpec spec = at == -1 ? OffsetSpec.latest() : at == -2 ? OffsetSpec.earliest() : OffsetSpec.forTimestamp(at);
        Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
        for (TopicPartition partition : partitions(topic)) wanted.put(partition, spec);
        Map<Integer, Long> found = new TreeMap<>();
        admin.listOffsets(wanted).all().get().forEach((tp, info) -> found.put(tp.partition(), info.offset()));
        return found;
    }

    private List<Object> group(String id) throws Exception {
        ConsumerGroupDescription one = admin.describeConsumerGroups(List.of(id)).all().get().get(id);
        return List.of(call(one, "groupState", "state").toString(), one.members().size());
    }

    private Map<Integer, Long> committed(String id, String topic) throws Exception {
        Map<Integer, Long> found = new TreeMap<>();
        admin.listConsumerGroupOffsets(id).partitionsToOffsetAndMetadata().get().forEach((tp, at) -> {
            if (tp.topic().equals(topic)) found.put(tp.partition(), at.offset());
        });
        return found;
    }

    private Object commit(String id, String topic, JsonNode offsets) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> wanted = new HashMap<>();
        offsets.fields().forEachRemaining(field ->
            wanted.put(new TopicPartition(topic, Integer.parseInt(field.getKey())), new OffsetAndMetadata(field.getValue().asLong())));
        return admin.alterConsumerGroupOffsets(id, wanted).all().get();
    }
}
