package org.apache.kafka.common.test.junit;

import kafka.server.ControllerServer;
import kafka.server.KafkaBroker;

import org.apache.kafka.clients.consumer.GroupProtocol;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.test.ClusterInstance;
import org.apache.kafka.common.test.KafkaClusterTestKit;
import org.apache.kafka.common.test.TestKitNodes;
import org.apache.kafka.common.test.api.ClusterConfig;
import org.apache.kafka.common.test.api.Type;
import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.fault.FaultHandlerException;

import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.opentest4j.TestAbortedException;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

import upstreamit.Cluster;
import upstreamit.Fakes;

/** Takes the place of the class of this name: same parameters, external cluster, shorter names of tests. */
public class RaftClusterInvocationContext implements TestTemplateInvocationContext {
    private final String base;
    private final ClusterConfig config;
    private final boolean combined;

    public RaftClusterInvocationContext(String baseDisplayName, ClusterConfig clusterConfig, boolean isCombined) {
        this.base = baseDisplayName;
        this.config = clusterConfig;
        this.combined = isCombined;
    }

    @Override
    public String getDisplayName(int index) {
        // The order of the two forms of a test differs from run to run, so they have one number.
        return base + " [" + (bothTypes() ? (index + 1) / 2 : index) + "]";
    }

    private boolean bothTypes() {
        return config.clusterTypes().contains(Type.CO_KRAFT) && config.clusterTypes().contains(Type.KRAFT);
    }

    @Override
    public List<Extension> getAdditionalExtensions() {
        External instance = new External(config, combined);
        return List.of(
            (BeforeEachCallback) c -> {
                // Both types are one process here, so a test declared for both runs once.
                if (bothTypes() && !combined) throw new TestAbortedException("same test as the other type");
                instance.build();
                if (config.isAutoStart()) instance.start();
            },
            (AfterTestExecutionCallback) c -> instance.stop(),
            new ClusterInstanceParameterResolver(instance));
    }

    static final class External implements ClusterInstance {
        private final ClusterConfig config;
        private final boolean combined;
        private KafkaClusterTestKit kit;
        private boolean started;
        private boolean stopped;

        External(ClusterConfig config, boolean combined) {
            this.config = config;
            this.combined = combined;
        }

        void build() throws Exception {
            if (kit != null) return;
            Map<String, Short> levels = new TreeMap<>();
            Feature.PRODUCTION_FEATURES.forEach(f -> levels.put(f.featureName(), f.defaultLevel(config.metadataVersion())));
            config.features().forEach((f, l) -> levels.put(f.featureName(), l));
            levels.put(MetadataVersion.FEATURE_NAME, config.metadataVersion().featureLevel());
            TestKitNodes nodes = new TestKitNodes.Builder()
                .setBootstrapMetadata(BootstrapMetadata.fromVersions(config.metadataVersion(), levels, "testkit"))
                .setCombined(combined)
                .setNumBrokerNodes(config.numBrokers())
                .setNumDisksPerBroker(config.numDisksPerBroker())
                .setPerServerProperties(config.perServerOverrideProperties())
                .setNumControllerNodes(config.numControllers())
                .setBrokerListenerName(config.brokerListenerName())
                .setBrokerSecurityProtocol(config.brokerSecurityProtocol())
                .setControllerListenerName(config.controllerListenerName())
                .setControllerSecurityProtocol(config.controllerSecurityProtocol())
                .build();
            KafkaClusterTestKit.Builder b = new KafkaClusterTestKit.Builder(nodes);
            b.setStandalone(config.standalone());
            b.setFeatureLevels(levels);
            config.serverProperties().forEach(b::setConfigProp);
            kit = b.build();
        }

        private Cluster x() {
            return kit.external();
        }

        @Override
        public Type type() {
            return combined ? Type.CO_KRAFT : Type.KRAFT;
        }

        @Override
        public Map<Integer, KafkaBroker> brokers() {
            return new HashMap<>(kit.brokers());
        }

        @Override
        public Map<Integer, ControllerServer> controllers() {
            return kit.controllers();
        }

        @Override
        public ClusterConfig config() {
            return config;
        }

        @Override
        public Set<Integer> controllerIds() {
            return new HashSet<>(kit.controllers().keySet());
        }

        @Override
        public Set<Integer> brokerIds() {
            return new HashSet<>(kit.brokers().keySet());
        }

        @Override
        public ListenerName clientListener() {
            return config.brokerListenerName();
        }

        @Override
        public ListenerName controllerListenerName() {
            return config.controllerListenerName();
        }

        @Override
        public String bootstrapServers() {
            return kit.bootstrapServers();
        }

        @Override
        public String bootstrapControllers() {
            return kit.bootstrapControllers();
        }

        @Override
        public List<Integer> brokerBoundPorts() {
            return x().brokers().stream().map(n -> n.port(clientListener().value())).toList();
        }

        @Override
        public List<Integer> controllerBoundPorts() {
            return x().controllers().stream().map(n -> n.port(controllerListenerName().value())).toList();
        }

        @Override
        public String clusterId() {
            return kit.brokers().values().iterator().next().clusterId();
        }

        @Override
        public Set<GroupProtocol> supportedGroupProtocols() {
            String p = config.serverProperties().get("group.coordinator.rebalance.protocols");
            Short level = null;
            for (Map.Entry<Feature, Short> e : config.features().entrySet()) {
                if (e.getKey() == Feature.GROUP_VERSION) level = e.getValue();
            }
            boolean consumer = (p == null || p.toLowerCase(java.util.Locale.ROOT).contains("consumer")) && (level == null || level > 0);
            return consumer ? Set.of(GroupProtocol.CLASSIC, GroupProtocol.CONSUMER) : Set.of(GroupProtocol.CLASSIC);
        }

        @Override
        public Optional<FaultHandlerException> firstFatalException() {
            return Optional.empty();
        }

        @Override
        public Optional<FaultHandlerException> firstNonFatalException() {
            return Optional.empty();
        }

        @Override
        public void start() {
            try {
                build();
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
            if (!started) {
                started = true;
                kit.startup();
            }
        }

        @Override
        public boolean started() {
            return started;
        }

        @Override
        public void stop() {
            if (!stopped && kit != null) {
                stopped = true;
                kit.close();
            }
        }

        @Override
        public boolean stopped() {
            return stopped;
        }

        private KafkaBroker known(int id) {
            KafkaBroker b = kit.brokers().get(id);
            if (b == null) throw new IllegalArgumentException("Unknown brokerId " + id);
            return b;
        }

        @Override
        public void shutdownBroker(int id) {
            known(id).shutdown();
        }

        @Override
        public void startBroker(int id) {
            known(id).startup();
        }

        @Override
        public void waitForReadyBrokers() {
            x().awaitRegistered();
        }

        @Override
        public void waitTopicCreation(String topic, int partitions) {
            if (partitions <= 0) throw new IllegalArgumentException("Partition count must be > 0, but was " + partitions);
            x().awaitTopic(topic, partitions);
            x().awaitAgreement();
        }

        @Override
        public void waitTopicDeletion(String topic) {
            x().awaitTopic(topic, 0);
            x().awaitAgreement();
        }

        @Override
        public void ensureConsistentMetadata() {
            x().awaitAgreement();
        }

        @Override
        public void ensureConsistentMetadata(Collection<KafkaBroker> brokers, Collection<ControllerServer> controllers) {
            x().awaitAgreement();
        }

        @Override
        public List<Authorizer> authorizers() {
            return List.of(Fakes.authorizer(x()));
        }

        @Override
        public void waitAcls(AclBindingFilter filter, Collection<AccessControlEntry> entries) {
            Set<AccessControlEntry> want = new HashSet<>(entries);
            long end = System.currentTimeMillis() + 45_000;
            while (true) {
                Set<AccessControlEntry> got = new HashSet<>();
                Fakes.authorizer(x()).acls(filter).forEach(a -> got.add(a.entry()));
                if (got.equals(want)) return;
                if (System.currentTimeMillis() > end) throw new AssertionError("expected acls " + want + ", got " + got);
                org.apache.kafka.common.utils.Time.SYSTEM.sleep(100);
            }
        }
    }
}
