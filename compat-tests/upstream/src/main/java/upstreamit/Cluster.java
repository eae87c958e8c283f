package upstreamit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.utils.Time;

import org.opentest4j.TestAbortedException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A set of external nodes and what a test may ask of them as a whole. */
public final class Cluster implements AutoCloseable {
    /** Where the nodes keep files; removed at the end unless KEEP_DIRS=1. */
    static final Path WORK = Path.of(System.getenv().getOrDefault("UPSTREAM_IT_WORK",
        System.getProperty("java.io.tmpdir"))).toAbsolutePath();
    /** Extra listener for the harness, added where the test's own listener is not plaintext. */
    public static final String SIDE_DOOR = "HARNESS";

    public final SortedMap<Integer, Node> nodes = new TreeMap<>();
    final String clusterId;
    final String brokerListener;
    private Admin admin;

    public Cluster(String clusterId, String brokerListener) {
        this.clusterId = clusterId;
        this.brokerListener = brokerListener;
    }

    /** Properties whose value names a class that the server has to load. */
    private static final Set<String> PLUGIN_KEYS = Set.of(
        "authorizer.class.name", "create.topic.policy.class.name", "alter.config.policy.class.name",
        "client.quota.callback.class", "metric.reporters", "kafka.metrics.reporters", "principal.builder.class",
        "replica.selector.class", "remote.log.storage.manager.class.name",
        "remote.log.metadata.manager.class.name", "group.consumer.assignors", "group.share.assignors",
        "sasl.server.callback.handler.class", "sasl.client.callback.handler.class", "sasl.login.callback.handler.class",
        "sasl.login.class", "connections.max.reauth.ms.class", "ssl.engine.factory.class", "security.providers",
        "config.providers", "broker.interceptor.class", "early.start.listeners.class",
        "share.coordinator.state.store.class", "group.share.persister.class.name");
    private static final Set<String> BUILT_IN = Set.of(
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        "org.apache.kafka.common.metrics.JmxReporter",
        "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
        "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
        "org.apache.kafka.coordinator.group.assignor.SimpleAssignor",
        "org.apache.kafka.server.share.persister.DefaultStatePersister",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        "range", "uniform", "simple");

    /** Skips the test when its server would have to load the test's own classes. */
    static void refusePlugins(Map<String, String> props) {
        for (Map.Entry<String, String> e : props.entrySet()) {
            String key = e.getKey().replaceFirst("^listener\\.name\\.[^.]+\\.(?:(?:plain|gssapi|oauthbearer|scram-sha-(?:256|512))\\.)?", "");
            if (!PLUGIN_KEYS.contains(key) || e.getValue() == null) continue;
            for (String v : e.getValue().split(",")) {
                String c = v.trim();
                if (!c.isEmpty() && !BUILT_IN.contains(c)) throw new TestAbortedException("needs a server plug-in: " + e.getKey() + "=" + c);
            }
        }
    }

    /**
     * Adds a node. Every port 0 of listeners and advertised.listeners gets a number.
     * @param raw properties as the test wants them
     */
    public Node add(int id, Map<String, ?> raw, List<String> formatArgs) {
        if (nodes.keySet().stream().anyMatch(k -> k != id)) throw new TestAbortedException("needs a cluster: a second node");
        Map<String, String> props = new HashMap<>();
        raw.forEach((k, v) -> {
            if (v != null) props.put(k, String.valueOf(unwrap(v)));
        });
        Shape.add(listenersInUse(props), props.containsKey("authorizer.class.name"));
        One.node(id);
        One.lower(props);
        refusePlugins(props);
        Map<String, Integer> ports = new LinkedHashMap<>();
        Map<String, String> protocols = new HashMap<>();
        for (String m : props.getOrDefault("listener.security.protocol.map", "").split(",")) {
            int c = m.lastIndexOf(':');
            if (c > 0) protocols.put(m.substring(0, c).trim().toUpperCase(java.util.Locale.ROOT), m.substring(c + 1).trim());
        }
        Set<String> controllerNames = new HashSet<>();
        for (String c : props.getOrDefault("controller.listener.names", "CONTROLLER").split(",")) controllerNames.add(c.trim().toUpperCase(java.util.Locale.ROOT));

        List<String> listeners = new ArrayList<>();
        int plainPort = -1;
        for (String l : props.get("listeners").split(",")) {
            String s = l.trim();
            if (s.isEmpty()) continue;
            String name = s.substring(0, s.indexOf("://"));
            String host = s.substring(s.indexOf("://") + 3, s.lastIndexOf(':'));
            int port = Integer.parseInt(s.substring(s.lastIndexOf(':') + 1));
            Integer reserved = pre.get(id + "/" + name.toUpperCase(java.util.Locale.ROOT));
            if (port == 0) port = reserved != null ? reserved : Processes.freePort();
            ports.put(name, port);
            listeners.add(name + "://" + (host.isEmpty() ? "localhost" : host) + ":" + port);
            String up = name.toUpperCase(java.util.Locale.ROOT);
            if (!controllerNames.contains(up) && protocols.getOrDefault(up, up).equals("PLAINTEXT")) plainPort = port;
        }
        if (plainPort < 0) {
            plainPort = Processes.freePort();
            ports.put(SIDE_DOOR, plainPort);
            listeners.add(SIDE_DOOR + "://localhost:" + plainPort);
            props.merge("listener.security.protocol.map", SIDE_DOOR + ":PLAINTEXT", (a, b) -> a.isEmpty() ? b : a + "," + b);
            if (props.containsKey("advertised.listeners")) props.merge("advertised.listeners", SIDE_DOOR + "://localhost:" + plainPort, (a, b) -> a + "," + b);
            if (props.containsKey("authorizer.class.name")) props.merge("super.users", "User:ANONYMOUS", (a, b) -> a.isEmpty() ? b : a + ";" + b);
        }
        props.put("listeners", String.join(",", listeners));
        String adv = props.get("advertised.listeners");
        if (adv != null) {
            StringBuilder b = new StringBuilder();
            for (String l : adv.split(",")) {
                String name = l.substring(0, l.indexOf("://")).trim();
                if (b.length() > 0) b.append(',');
                b.append(l.endsWith(":0") ? l.substring(0, l.length() - 1) + ports.get(name) : l);
            }
            props.put("advertised.listeners", b.toString());
        }
        Jaas.inline(props, ports.keySet(), protocols);
        Path dir = WORK.resolve("c" + Long.toHexString(System.nanoTime()) + "-" + id);
        Node n = new Node(id, dir, props, ports, formatArgs, clusterId, plainPort);
        nodes.put(id, n);
        return n;
    }

    /** The part of the protocol map that names real listeners. */
    private static String listenersInUse(Map<String, String> props) {
        StringBuilder b = new StringBuilder();
        String listeners = "," + props.getOrDefault("listeners", "").toUpperCase(java.util.Locale.ROOT);
        for (String m : props.getOrDefault("listener.security.protocol.map", "").split(",")) {
            int c = m.lastIndexOf(':');
            if (c > 0 && listeners.contains("," + m.substring(0, c).trim().toUpperCase(java.util.Locale.ROOT) + "://")) b.append(m.trim()).append(',');
        }
        return b.toString();
    }

    private final Map<String, Integer> pre = new HashMap<>();

    /** Fixes a port before the node is added (controllers have to know each other). */
    public int reserve(int id, String listener) {
        return pre.computeIfAbsent(id + "/" + listener.toUpperCase(java.util.Locale.ROOT), k -> Processes.freePort());
    }

    private static Object unwrap(Object v) {
        if (v instanceof org.apache.kafka.common.config.types.Password p) return p.value();
        if (v instanceof Class<?> c) return c.getName();
        if (v instanceof java.util.Collection<?> c) {
            List<String> l = new ArrayList<>();
            c.forEach(x -> l.add(String.valueOf(unwrap(x))));
            return String.join(",", l);
        }
        return v;
    }

    public void start() {
        nodes.values().forEach(Node::spawn);
        nodes.values().forEach(Node::awaitReady);
        awaitRegistered();
    }

    /** Every live broker lists every live broker. */
    public void awaitRegistered() {
        until(60, "brokers do not see each other", () -> {
            Set<Integer> want = new HashSet<>();
            brokers().stream().filter(Node::alive).forEach(n -> want.add(n.id));
            for (Node n : brokers()) {
                if (!n.alive()) continue;
                MetadataResponse m = view(n, List.of());
                if (m == null) return false;
                Set<Integer> got = new HashSet<>();
                m.brokers().forEach(x -> got.add(x.id()));
                if (!got.containsAll(want)) return false;
            }
            return true;
        });
    }

    public List<Node> brokers() {
        return List.copyOf(nodes.values());
    }

    public List<Node> controllers() {
        return List.copyOf(nodes.values());
    }

    /** Metadata as this broker sees it; null while it cannot be asked. */
    static MetadataResponse view(Node n, List<String> topics) {
        if (n.plainPort < 0) throw new TestAbortedException("no listener to look through");
        try {
            return Wire.metadata(n.plainPort, topics);
        } catch (IOException e) {
            return null;
        }
    }

    static void until(int seconds, String what, BooleanSupplier c) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        while (!c.getAsBoolean()) {
            if (System.nanoTime() > end) throw new AssertionError(what + " (waited " + seconds + " s)");
            Time.SYSTEM.sleep(20);
        }
    }

    /** Every live broker shows this number of partitions, each with a leader; 0: the topic is gone. */
    public void awaitTopic(String topic, int partitions) {
        until(60, topic + ": not " + partitions + " partitions everywhere", () -> {
            for (Node n : brokers()) {
                if (!n.alive()) continue;
                MetadataResponse m = view(n, List.of(topic));
                if (m == null) return false;
                int seen = (int) m.topicMetadata().stream().filter(t -> t.error().code() == 0)
                    .flatMap(t -> t.partitionMetadata().stream())
                    .count();
                if (seen != partitions) return false;
            }
            return true;
        });
    }

    /** All live brokers give the same answer about all topics. */
    public void awaitAgreement() {
        List<Node> live = brokers().stream().filter(Node::alive).toList();
        if (live.isEmpty()) return;
        if (live.size() == 1) {
            Time.SYSTEM.sleep(50);
            return;
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        int same = 0;
        while (System.nanoTime() < end && same < 2) {
            Set<String> views = new HashSet<>();
            for (Node n : live) {
                MetadataResponse m = view(n, null);
                if (m == null) {
                    views.add("?" + n.id);
                    continue;
                }
                List<String> parts = new ArrayList<>();
                m.topicMetadata().forEach(t -> t.partitionMetadata().forEach(p ->
                    parts.add(t.topic() + p.topicPartition + p.leaderId + p.leaderEpoch + p.inSyncReplicaIds)));
                parts.sort(null);
                views.add(parts.toString());
            }
            same = views.size() == 1 ? same + 1 : 0;
            Time.SYSTEM.sleep(30);
        }
    }

    /** An Admin client with full rights, for the harness itself. */
    public synchronized Admin admin() {
        if (admin == null) {
            List<String> b = new ArrayList<>();
            brokers().forEach(n -> b.add("localhost:" + n.plainPort));
            admin = Admin.create(Map.<String, Object>of("bootstrap.servers", String.join(",", b),
                "client.id", "upstream-it", "request.timeout.ms", 15000, "default.api.timeout.ms", 30000,
                "enable.metrics.push", false));
        }
        return admin;
    }

    public String bootstrap() {
        List<String> b = new ArrayList<>();
        brokers().forEach(n -> b.add("localhost:" + n.port(brokerListener)));
        return String.join(",", b);
    }

    @Override
    public synchronized void close() {
        if (admin != null) admin.close(java.time.Duration.ZERO);
        admin = null;
        nodes.values().forEach(Node::kill);
        nodes.values().forEach(Node::awaitEnd);
        if (!"1".equals(System.getenv("KEEP_DIRS"))) {
            for (Node n : nodes.values()) Dirs.delete(n.dir);
        }
    }

    static final class Dirs {
        static void delete(Path p) {
            try (var s = Files.walk(p)) {
                s.sorted(java.util.Comparator.reverseOrder()).forEach(x -> x.toFile().delete());
            } catch (IOException | RuntimeException e) {
                // left behind: the work folder as a whole goes later
            }
        }
    }
}
