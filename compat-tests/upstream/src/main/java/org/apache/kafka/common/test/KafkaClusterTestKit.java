package org.apache.kafka.common.test;

import kafka.raft.KafkaRaftManager;
import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaConfig;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.controller.Controller;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import org.opentest4j.TestAbortedException;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

import upstreamit.Cluster;
import upstreamit.Fakes;
import upstreamit.Node;

/** Takes the place of the class of this name: the cluster it makes is of external processes. */
public class KafkaClusterTestKit implements AutoCloseable {
    private static final String ADMIN = "plain-admin";
    private static final String ADMIN_SECRET = "plain-admin-secret";

    public static class Builder {
        private final TestKitNodes nodes;
        private final Map<String, Object> props = new HashMap<>();
        private final Map<String, Short> levels = new TreeMap<>();
        private boolean standalone;
        private Optional<Map<Integer, Uuid>> voters = Optional.empty();

        public Builder(TestKitNodes nodes) {
            this.nodes = nodes;
        }

        public Builder setConfigProp(String key, Object value) {
            props.put(key, value);
            return this;
        }

        public Builder setStandalone(boolean standalone) {
            this.standalone = standalone;
            return this;
        }

        public Builder setInitialVoterSet(Map<Integer, Uuid> initialVoterSet) {
            this.voters = Optional.of(initialVoterSet);
            return this;
        }

        /** Not in the original: all levels, zeros too. */
        public Builder setFeatureLevels(Map<String, Short> featureLevels) {
            levels.putAll(featureLevels);
            return this;
        }

        public Builder setDeleteOnClose(boolean deleteOnClose) {
            return this;
        }

        public KafkaClusterTestKit build() throws Exception {
            if (levels.isEmpty()) {
                nodes.bootstrapMetadata().records().forEach(r -> {
                    if (r.message() instanceof FeatureLevelRecord f) levels.put(f.name(), f.featureLevel());
                });
            }
            return new KafkaClusterTestKit(this);
        }
    }

    private final TestKitNodes nodes;
    private final Cluster cluster;
    private final Map<Integer, BrokerServer> brokers = new TreeMap<>();
    private final Map<Integer, ControllerServer> controllers = new TreeMap<>();
    private final MockFaultHandler fatal = new MockFaultHandler("fatal");
    private final MockFaultHandler nonFatal = new MockFaultHandler("nonFatal");
    private boolean closed;

    private KafkaClusterTestKit(Builder b) {
        this.nodes = b.nodes;
        if (b.voters.isPresent()) throw new TestAbortedException("needs in-JVM broker: chosen voter directories");
        String brokerListener = nodes.brokerListenerName().value();
        String controllerListener = nodes.controllerListenerName().value();
        cluster = new Cluster(nodes.clusterId(), brokerListener);

        upstreamit.One.asked(nodes.brokerNodes().size());
        // One process is the broker and the controller, also where the test asked for more (see One).
        int id = nodes.brokerNodes().firstKey();
        TestKitNode bn = nodes.brokerNodes().get(id);
        TestKitNode cn = nodes.controllerNodes().get(nodes.controllerNodes().firstKey());
        int port = cluster.reserve(id, controllerListener);
        Map<String, Object> p = new HashMap<>(b.props);
        p.put("process.roles", "broker,controller");
        p.put("node.id", Integer.toString(id));
        p.put("log.dirs", String.join(",", bn.logDataDirectories()));
        String bp = nodes.brokerListenerProtocol().name;
        String cp = nodes.controllerListenerProtocol().name;
        if (bp.equals("SASL_PLAINTEXT") || cp.equals("SASL_PLAINTEXT")) {
            p.putIfAbsent("sasl.enabled.mechanisms", "PLAIN");
            p.putIfAbsent("sasl.mechanism.inter.broker.protocol", "PLAIN");
            p.putIfAbsent("sasl.mechanism.controller.protocol", "PLAIN");
            p.putIfAbsent("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer");
            p.putIfAbsent("allow.everyone.if.no.acl.found", "false");
            p.putIfAbsent("super.users", "User:" + ADMIN);
            String jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"" + ADMIN
                + "\" password=\"" + ADMIN_SECRET + "\" user_" + ADMIN + "=\"" + ADMIN_SECRET
                + "\" user_plain-user1=\"plain-user1-secret\";";
            if (bp.equals("SASL_PLAINTEXT")) p.putIfAbsent("listener.name." + brokerListener.toLowerCase(java.util.Locale.ROOT) + ".plain.sasl.jaas.config", jaas);
            if (cp.equals("SASL_PLAINTEXT")) p.putIfAbsent("listener.name." + controllerListener.toLowerCase(java.util.Locale.ROOT) + ".plain.sasl.jaas.config", jaas);
            if (cp.equals("PLAINTEXT")) p.merge("super.users", "User:ANONYMOUS", (x, y) -> x + ";" + y);
        }
        p.putIfAbsent("listener.security.protocol.map", brokerListener + ":" + bp + "," + controllerListener + ":" + cp);
        p.putIfAbsent("listeners", brokerListener + "://localhost:0," + controllerListener + "://localhost:0");
        p.putIfAbsent("inter.broker.listener.name", brokerListener);
        p.putIfAbsent("controller.listener.names", controllerListener);
        if (b.standalone) p.put("controller.quorum.bootstrap.servers", "localhost:" + port);
        else p.put("controller.quorum.voters", id + "@localhost:" + port);
        p.putIfAbsent("log.cleaner.dedupe.buffer.size", "2097152");
        p.putAll(bn.propertyOverrides());
        p.putAll(cn.propertyOverrides());
        p.putIfAbsent("unstable.feature.versions.enable", "true");
        p.putIfAbsent("unstable.api.versions.enable", "true");

        List<String> format = new ArrayList<>();
        b.levels.forEach((name, level) -> {
            if (name.equals("kraft.version")) return;
            format.add("--feature");
            format.add(name + "=" + level);
        });
        if (b.standalone) format.add("--standalone");
        Node n = cluster.add(id, p, format);
        KafkaConfig config = new KafkaConfig(upstreamit.Props.of(n), false);
        brokers.put(id, Fakes.broker(cluster, n, config));
        controllers.put(id, Fakes.controller(cluster, n, config));
    }

    public Cluster external() {
        return cluster;
    }

    public void format() {
        // the server's own start does what is needed
    }

    public void startup() {
        cluster.start();
    }

    public void waitForReadyBrokers() {
        cluster.awaitRegistered();
    }

    public Admin admin() {
        return admin(Map.of());
    }

    public Admin admin(Map<String, Object> configs) {
        return admin(configs, false);
    }

    public Admin admin(Map<String, Object> configs, boolean usingControllers) {
        Map<String, Object> p = new HashMap<>(configs);
        if (usingControllers) p.putIfAbsent("bootstrap.controllers", bootstrapControllers());
        else p.putIfAbsent("bootstrap.servers", bootstrapServers());
        String proto = usingControllers ? nodes.controllerListenerProtocol().name : nodes.brokerListenerProtocol().name;
        if (proto.equals("SASL_PLAINTEXT")) {
            p.putIfAbsent("security.protocol", proto);
            p.putIfAbsent("sasl.mechanism", "PLAIN");
            p.putIfAbsent("sasl.jaas.config", "org.apache.kafka.common.security.plain.PlainLoginModule required username=\""
                + ADMIN + "\" password=\"" + ADMIN_SECRET + "\";");
        }
        return Admin.create(p);
    }

    public String bootstrapServers() {
        return cluster.bootstrap();
    }

    public String bootstrapControllers() {
        List<String> l = new ArrayList<>();
        cluster.controllers().forEach(n -> l.add("localhost:" + n.port(nodes.controllerListenerName().value())));
        return String.join(",", l);
    }

    public Map<Integer, ControllerServer> controllers() {
        return controllers;
    }

    public Map<Integer, BrokerServer> brokers() {
        return brokers;
    }

    public Controller waitForActiveController() {
        throw new TestAbortedException("needs in-JVM broker: active controller");
    }

    public Map<Integer, KafkaRaftManager<ApiMessageAndVersion>> raftManagers() {
        throw new TestAbortedException("needs in-JVM broker: raft managers");
    }

    public TestKitNodes nodes() {
        return nodes;
    }

    public MockFaultHandler fatalFaultHandler() {
        return fatal;
    }

    public MockFaultHandler nonFatalFaultHandler() {
        return nonFatal;
    }

    @Override
    public void close() {
        if (closed) return;
        closed = true;
        cluster.close();
        upstreamit.Props.delete(nodes.baseDirectory());
    }
}
