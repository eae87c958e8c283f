package upstreamit;

import kafka.network.SocketServer;
import kafka.raft.KafkaRaftManager;
import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KafkaApis;
import kafka.server.KafkaConfig;
import kafka.server.ReplicaManager;
import kafka.server.SharedServer;

import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.internals.Plugin;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.common.requests.ListOffsetsResponse;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.controller.Controller;
import org.apache.kafka.controller.ResultOrError;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.metadata.BrokerState;
import org.apache.kafka.metadata.KRaftMetadataCache;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.server.BrokerLifecycleManager;
import org.apache.kafka.server.authorizer.AclCreateResult;
import org.apache.kafka.server.authorizer.AclDeleteResult;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import org.mockito.Mockito;
import org.mockito.invocation.InvocationOnMock;
import org.opentest4j.TestAbortedException;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * Objects of the in-JVM server's types that stand for an external process. What can be
 * answered from outside is; any other call ends the test as skipped.
 */
public final class Fakes {
    private static final Map<Object, Cluster> CLUSTERS = Collections.synchronizedMap(new java.util.WeakHashMap<>());

    private Fakes() { }

    static Cluster clusterOf(Object broker) {
        return CLUSTERS.get(broker);
    }

    private static TestAbortedException inside(InvocationOnMock i) {
        return new TestAbortedException("needs in-JVM broker: " + i.getMethod().getDeclaringClass().getSimpleName() + "." + i.getMethod().getName());
    }

    private static <T> T fake(Class<T> type, String name, Function<InvocationOnMock, Object> answer) {
        return Mockito.mock(type, Mockito.withSettings().stubOnly().defaultAnswer(i -> {
            switch (i.getMethod().getName()) {
                case "toString": return name;
                case "hashCode": return System.identityHashCode(i.getMock());
                case "equals": return i.getMock() == i.getArgument(0);
                case "info": case "debug": case "trace": case "warn": case "error": case "fatal": return null;
                default: return answer.apply(i);
            }
        }));
    }

    public static BrokerServer broker(Cluster c, upstreamit.Node n, KafkaConfig config) {
        KRaftMetadataCache cache = cache(c, n);
        SocketServer socket = socket(n);
        boolean[] down = {false};
        BrokerServer b = fake(BrokerServer.class, "external broker " + n.id, i -> {
            switch (i.getMethod().getName()) {
                case "config": return config;
                case "metadataCache": return cache;
                case "boundPort": return n.port(((ListenerName) i.getArgument(0)).value());
                case "socketServer": return socket;
                case "clusterId": return clusterId(c);
                case "time": return Time.SYSTEM;
                case "brokerState": return n.alive() && !down[0] ? BrokerState.RUNNING : BrokerState.NOT_RUNNING;
                case "isShutdown": return !n.alive();
                case "awaitShutdown": n.awaitEnd(); return null;
                case "startup":
                    down[0] = false;
                    n.spawn();
                    n.awaitReady();
                    c.awaitRegistered();
                    return null;
                case "shutdown":
                    down[0] = true;
                    if (atTheEnd()) n.kill();
                    else if (i.getArguments().length == 1) n.stop(Math.max(1, ((Duration) i.getArgument(0)).toSeconds()));
                    else n.stop();
                    return null;
                case "authorizerPlugin": return plugin(c, config);
                case "sharedServer": return shared(c, config);
                case "dataPlaneRequestProcessor": return apis(c, n, cache, config);
                case "groupCoordinator": return groups(c, config);
                case "replicaManager": return replicas(c, n);
                case "lifecycleManager": return fake(BrokerLifecycleManager.class, "life of " + n.id, j -> {
                    if (j.getMethod().getName().equals("initialUnfenceFuture")) return CompletableFuture.completedFuture(null);
                    throw inside(j);
                });
                default: throw inside(i);
            }
        });
        CLUSTERS.put(b, c);
        return b;
    }

    public static ControllerServer controller(Cluster c, upstreamit.Node n, KafkaConfig config) {
        SocketServer socket = socket(n);
        return fake(ControllerServer.class, "external controller " + n.id, i -> {
            switch (i.getMethod().getName()) {
                case "config": return config;
                case "socketServer": return socket;
                case "clusterId": return clusterId(c);
                case "time": return Time.SYSTEM;
                case "authorizerPlugin": return plugin(c, config);
                case "sharedServer": return shared(c, config);
                case "controller": return active(c);
                case "startup":
                    n.spawn();
                    n.awaitReady();
                    return null;
                case "shutdown":
                    throw inside(i);
                case "awaitShutdown": n.awaitEnd(); return null;
                default: throw inside(i);
            }
        });
    }

    private static Controller active(Cluster c) {
        return fake(Controller.class, "controller", i -> {
            switch (i.getMethod().getName()) {
                case "isActive": return true;
                case "findAllTopicIds": return CompletableFuture.completedFuture(ids(c));
                case "findTopicIds": {
                    Map<String, Uuid> ids = ids(c);
                    Map<String, ResultOrError<Uuid>> r = new HashMap<>();
                    for (Object t : (Collection<?>) i.getArgument(1)) {
                        Uuid id = ids.get((String) t);
                        r.put((String) t, id == null ? new ResultOrError<>(Errors.UNKNOWN_TOPIC_OR_PARTITION, null) : new ResultOrError<>(id));
                    }
                    return CompletableFuture.completedFuture(r);
                }
                case "findTopicNames": {
                    Map<Uuid, ResultOrError<String>> r = new HashMap<>();
                    Map<Uuid, String> names = new HashMap<>();
                    ids(c).forEach((k, v) -> names.put(v, k));
                    for (Object t : (Collection<?>) i.getArgument(1)) {
                        String n = names.get((Uuid) t);
                        r.put((Uuid) t, n == null ? new ResultOrError<>(Errors.UNKNOWN_TOPIC_ID, null) : new ResultOrError<>(n));
                    }
                    return CompletableFuture.completedFuture(r);
                }
                default: throw inside(i);
            }
        });
    }

    private static Map<String, Uuid> ids(Cluster c) {
        try {
            Map<String, Uuid> m = new HashMap<>();
            c.admin().listTopics(new org.apache.kafka.clients.admin.ListTopicsOptions().listInternal(true)).listings().get()
                .forEach(l -> m.put(l.name(), l.topicId()));
            return m;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Is this call from a test's clean-up, where an orderly stop is time lost? */
    private static boolean atTheEnd() {
        return StackWalker.getInstance().walk(s -> s.anyMatch(f -> f.getMethodName().equals("tearDown")));
    }

    static String clusterId(Cluster c) {
        try {
            return c.admin().describeCluster().clusterId().get();
        } catch (Exception e) {
            return c.clusterId;
        }
    }

    private static GroupCoordinator groups(Cluster c, KafkaConfig config) {
        return fake(GroupCoordinator.class, "group coordinator", i -> {
            switch (i.getMethod().getName()) {
                case "groupMetadataTopicConfigs": {
                    Properties p = new Properties();
                    p.put("cleanup.policy", "compact");
                    p.put("compression.type", "producer");
                    p.put("segment.bytes", String.valueOf(config.groupCoordinatorConfig().offsetsTopicSegmentBytes()));
                    return p;
                }
                case "partitionFor": return (i.getArgument(0).hashCode() & 0x7fffffff) % config.groupCoordinatorConfig().offsetsTopicPartitions();
                default: throw inside(i);
            }
        });
    }

    private static KafkaApis apis(Cluster c, upstreamit.Node n, KRaftMetadataCache cache, KafkaConfig config) {
        return fake(KafkaApis.class, "apis", i -> {
            switch (i.getMethod().getName()) {
                case "isConsumerGroupProtocolEnabled": return true;
                case "metadataCache": return cache;
                case "brokerId": return n.id;
                case "authorizerPlugin": return plugin(c, config);
                default: throw inside(i);
            }
        });
    }

    private static SharedServer shared(Cluster c, KafkaConfig config) {
        return fake(SharedServer.class, "shared server", i -> {
            switch (i.getMethod().getName()) {
                case "brokerConfig": case "controllerConfig": return config;
                case "clusterId": return clusterId(c);
                default: throw inside(i);
            }
        });
    }

    private static SocketServer socket(upstreamit.Node n) {
        return fake(SocketServer.class, "sockets of " + n.id, i -> {
            if (i.getMethod().getName().equals("boundPort")) return n.port(((ListenerName) i.getArgument(0)).value());
            throw inside(i);
        });
    }

    private static Object plugin(Cluster c, KafkaConfig config) {
        Object cls = config.originals().get("authorizer.class.name");
        if (cls == null || cls.toString().isEmpty()) return scala.Option.empty();
        return scala.Option.apply(Plugin.wrapInstance(authorizer(c), null, "authorizer"));
    }

    @SuppressWarnings("unchecked")
    public static Authorizer authorizer(Cluster c) {
        return fake(Authorizer.class, "external authorizer", i -> {
            try {
                switch (i.getMethod().getName()) {
                    case "acls": return c.admin().describeAcls((AclBindingFilter) i.getArgument(0)).values().get();
                    case "createAcls": {
                        List<AclBinding> l = i.getArgument(1);
                        c.admin().createAcls(l).all().get();
                        List<CompletionStage<AclCreateResult>> r = new ArrayList<>();
                        l.forEach(x -> r.add(CompletableFuture.completedFuture(AclCreateResult.SUCCESS)));
                        return r;
                    }
                    case "deleteAcls": {
                        List<AclBindingFilter> l = i.getArgument(1);
                        List<CompletionStage<AclDeleteResult>> r = new ArrayList<>();
                        for (AclBindingFilter f : l) {
                            Collection<AclBinding> gone = c.admin().deleteAcls(List.of(f)).all().get();
                            List<AclDeleteResult.AclBindingDeleteResult> d = new ArrayList<>();
                            gone.forEach(x -> d.add(new AclDeleteResult.AclBindingDeleteResult(x)));
                            r.add(CompletableFuture.completedFuture(new AclDeleteResult(d)));
                        }
                        return r;
                    }
                    default: throw inside(i);
                }
            } catch (TestAbortedException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("external authorizer: " + e, e);
            }
        });
    }

    private static MetadataResponse view(upstreamit.Node n, List<String> topics) {
        MetadataResponse m = Cluster.view(n, topics);
        if (m == null) throw new IllegalStateException("broker " + n.id + " does not answer");
        return m;
    }

    static KRaftMetadataCache cache(Cluster c, upstreamit.Node n) {
        return fake(KRaftMetadataCache.class, "metadata of " + n.id, i -> {
            Object[] a = i.getArguments();
            switch (i.getMethod().getName()) {
                case "getAllTopics": {
                    Set<String> s = new HashSet<>();
                    view(n, null).topicMetadata().forEach(t -> s.add(t.topic()));
                    return s;
                }
                case "contains":
                    return a[0] instanceof TopicPartition tp
                        ? partition(n, tp.topic(), tp.partition()).isPresent()
                        : topic(n, (String) a[0]).isPresent();
                case "numPartitions": return topic(n, (String) a[0]).map(t -> t.partitionMetadata().size());
                case "getLeaderAndIsr":
                    return partition(n, (String) a[0], (Integer) a[1]).map(p -> {
                        List<org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState> isr = new ArrayList<>();
                        p.inSyncReplicaIds.forEach(x -> isr.add(
                            new org.apache.kafka.common.message.AlterPartitionRequestData.BrokerState().setBrokerId(x).setBrokerEpoch(-1)));
                        return new LeaderAndIsr(p.leaderId.orElse(-1), p.leaderEpoch.orElse(-1), LeaderRecoveryState.RECOVERED, isr, 0);
                    });
                case "getPartitionLeaderEndpoint":
                    return partition(n, (String) a[0], (Integer) a[1]).flatMap(p -> p.leaderId)
                        .flatMap(id -> view(n, List.of()).brokers().stream().filter(x -> x.id() == id).findFirst());
                case "getPartitionReplicaEndpoints": {
                    TopicPartition tp = (TopicPartition) a[0];
                    Map<Integer, Node> m = new HashMap<>();
                    List<Integer> ids = partition(n, tp.topic(), tp.partition()).map(p -> p.replicaIds).orElse(List.of());
                    view(n, List.of()).brokers().stream().filter(x -> ids.contains(x.id())).forEach(x -> m.put(x.id(), at(c, x, (ListenerName) a[1])));
                    return m;
                }
                case "getTopicId": return topic(n, (String) a[0]).map(MetadataResponse.TopicMetadata::topicId).orElse(Uuid.ZERO_UUID);
                case "getTopicName":
                    return view(n, null).topicMetadata().stream().filter(t -> t.topicId().equals(a[0]))
                        .map(MetadataResponse.TopicMetadata::topic).findFirst();
                case "topicNamesToIds": {
                    Map<String, Uuid> m = new HashMap<>();
                    view(n, null).topicMetadata().forEach(t -> m.put(t.topic(), t.topicId()));
                    return Collections.unmodifiableMap(m);
                }
                case "topicIdsToNames": {
                    Map<Uuid, String> m = new HashMap<>();
                    view(n, null).topicMetadata().forEach(t -> m.put(t.topicId(), t.topic()));
                    return Collections.unmodifiableMap(m);
                }
                case "hasAliveBroker": return view(n, List.of()).brokers().stream().anyMatch(x -> x.id() == (Integer) a[0]);
                case "isBrokerFenced": return view(n, List.of()).brokers().stream().noneMatch(x -> x.id() == (Integer) a[0]);
                case "getAliveBrokerNode":
                    return view(n, List.of()).brokers().stream().filter(x -> x.id() == (Integer) a[0]).map(x -> at(c, x, (ListenerName) a[1])).findFirst();
                case "getAliveBrokerNodes": case "getBrokerNodes":
                    return view(n, List.of()).brokers().stream().map(x -> at(c, x, (ListenerName) a[0])).toList();
                case "config": case "topicConfig": case "brokerConfig": case "groupConfig": {
                    ConfigResource r = a[0] instanceof ConfigResource x ? x : new ConfigResource(
                        i.getMethod().getName().startsWith("topic") ? ConfigResource.Type.TOPIC
                            : i.getMethod().getName().startsWith("broker") ? ConfigResource.Type.BROKER : ConfigResource.Type.GROUP, String.valueOf(a[0]));
                    Properties p = new Properties();
                    try {
                        c.admin().describeConfigs(List.of(r)).all().get().get(r).entries().forEach(e -> {
                            if (e.source().name().startsWith("DYNAMIC") && e.value() != null) p.put(e.name(), e.value());
                        });
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                    return p;
                }
                default: throw inside(i);
            }
        });
    }

    static int leaderEpoch(Cluster c, int id, TopicPartition tp) {
        return partition(c.nodes.get(id), tp.topic(), tp.partition()).flatMap(p -> p.leaderEpoch)
            .orElseThrow(() -> new AssertionError("no leader epoch of " + tp + " on " + id));
    }

    static int follower(Cluster c, TopicPartition tp) {
        MetadataResponse.PartitionMetadata p = partition(live(c), tp.topic(), tp.partition()).orElseThrow(() -> new AssertionError("no " + tp));
        return p.replicaIds.stream()
            .filter(r -> r != p.leaderId.orElse(-1).intValue() && c.nodes.get(r).alive()).findFirst()
            .orElseThrow(() -> new AssertionError("no follower of " + tp));
    }

    private static upstreamit.Node live(Cluster c) {
        return c.brokers().stream().filter(upstreamit.Node::alive).findFirst().orElseThrow(() -> new AssertionError("no live broker"));
    }

    private static Integer leaderSeenBy(upstreamit.Node n, TopicPartition tp) {
        MetadataResponse m = Cluster.view(n, List.of(tp.topic()));
        return m == null ? null : m.topicMetadata().stream().flatMap(t -> t.partitionMetadata().stream())
            .filter(p -> p.partition() == tp.partition()).findFirst().flatMap(p -> p.leaderId).orElse(null);
    }

    static int leader(Cluster c, TopicPartition tp, Integer old, Integer expected, long timeoutMs) {
        int[] r = {-1};
        Cluster.until((int) Math.max(1, timeoutMs / 1000), "leader of " + tp + " is not known or did not change", () -> {
            Integer l = leaderSeenBy(live(c), tp);
            if (l == null || l < 0 || l.equals(old) || (expected != null && !expected.equals(l))) return false;
            upstreamit.Node n = c.nodes.get(l);
            if (n == null || !n.alive() || !l.equals(leaderSeenBy(n, tp))) return false;
            r[0] = l;
            return true;
        });
        return r[0];
    }

    private static ReplicaManager replicas(Cluster c, upstreamit.Node n) {
        return fake(ReplicaManager.class, "replicas of " + n.id, i -> {
            if (!i.getMethod().getName().equals("localLog")) throw inside(i);
            TopicPartition tp = i.getArgument(0);
            boolean has = partition(n, tp.topic(), tp.partition()).filter(p -> p.replicaIds.contains(n.id)).isPresent();
            if (!has) return scala.Option.empty();
            return scala.Option.apply(fake(UnifiedLog.class, "log " + tp, j -> {
                switch (j.getMethod().getName()) {
                    case "logStartOffset": return offset(n, tp, ListOffsetsRequest.EARLIEST_TIMESTAMP);
                    case "logEndOffset": case "highWatermark": return offset(n, tp, ListOffsetsRequest.LATEST_TIMESTAMP);
                    default: throw inside(j);
                }
            }));
        });
    }

    /** Asked of this very replica, leader or not. */
    private static long offset(upstreamit.Node n, TopicPartition tp, long which) {
        List<ListOffsetsRequestData.ListOffsetsTopic> ask = List.of(
            new ListOffsetsRequestData.ListOffsetsTopic().setName(tp.topic()).setPartitions(List.of(
                new ListOffsetsRequestData.ListOffsetsPartition().setPartitionIndex(tp.partition()).setTimestamp(which))));
        try {
            ListOffsetsResponse r = (ListOffsetsResponse) Wire.ask(n.plainPort, ListOffsetsRequest.Builder
                .forReplica((short) 5, ListOffsetsRequest.DEBUGGING_REPLICA_ID).setTargetTimes(ask).build((short) 5));
            return r.topics().get(0).partitions().get(0).offset();
        } catch (java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Node at(Cluster c, Node x, ListenerName l) {
        upstreamit.Node n = c.nodes.get(x.id());
        return n == null || !n.ports.containsKey(l.value()) ? x : new Node(x.id(), x.host(), n.port(l.value()), x.rack(), false);
    }

    private static Optional<MetadataResponse.TopicMetadata> topic(upstreamit.Node n, String name) {
        return view(n, List.of(name)).topicMetadata().stream().filter(t -> t.error().code() == 0).findFirst();
    }

    private static Optional<MetadataResponse.PartitionMetadata> partition(upstreamit.Node n, String topic, int p) {
        return topic(n, topic).flatMap(t -> t.partitionMetadata().stream().filter(x -> x.partition() == p).findFirst());
    }
}
