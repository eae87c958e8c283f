package upstreamit;

import kafka.server.BrokerServer;
import kafka.server.ControllerServer;
import kafka.server.KRaftQuorumImplementation;
import kafka.server.KafkaBroker;
import kafka.server.KafkaConfig;
import kafka.server.QuorumTestHarness;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.common.MetadataVersion;

import org.junit.jupiter.api.TestInfo;
import org.opentest4j.TestAbortedException;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/** The external side of the older harness classes: broker and controller in one process. */
public final class Quorum {
    private final QuorumTestHarness harness;
    private final Map<String, Object> controllerProps = new HashMap<>();
    private final List<String> features = new ArrayList<>();
    private final List<String> scram = new ArrayList<>();
    private final String clusterId = Uuid.randomUuid().toString();
    private final Cluster cluster = new Cluster(clusterId, "PLAINTEXT");
    private ControllerServer controller;

    /** What the patched QuorumTestHarness.newKRaftQuorum calls. */
    public static KRaftQuorumImplementation make(QuorumTestHarness harness, TestInfo info, Properties overrides) throws Exception {
        return new KRaftQuorumImplementation(new Quorum(harness, info, overrides), harness);
    }

    private Quorum(QuorumTestHarness h, TestInfo info, Properties overrides) throws Exception {
        harness = h;
        scala.collection.Seq<Properties> l = h.kraftControllerConfigs(info);
        if (l.size() != 1) throw new TestAbortedException("needs a cluster: " + l.size() + " controllers");
        l.head().forEach((k, v) -> controllerProps.put((String) k, v));
        overrides.forEach((k, v) -> controllerProps.put((String) k, v));
        StringBuilder map = new StringBuilder("CONTROLLER:" + h.controllerListenerSecurityProtocol());
        StringBuilder listeners = new StringBuilder("CONTROLLER://localhost:0");
        StringBuilder names = new StringBuilder("CONTROLLER");
        for (int i = 0; i < h.extraControllerSecurityProtocols().size(); i++) {
            String s = h.extraControllerSecurityProtocols().apply(i).toString();
            map.append(',').append(s).append(':').append(s);
            listeners.append(',').append(s).append("://localhost:0");
            names.append(',').append(s);
        }
        controllerProps.put("listener.security.protocol.map", map.toString());
        controllerProps.put("listeners", listeners.toString());
        controllerProps.put("controller.listener.names", names.toString());
        controllerProps.put("unstable.feature.versions.enable", "true");

        Formatter f = new Formatter();
        f.setReleaseVersion(h.metadataVersion());
        f.setFeatureLevel("transaction.version", (short) (kafka.utils.TestInfoUtils.isTransactionV2Enabled(info) ? 2 : 1));
        h.addFormatterSettings(f);
        MetadataVersion mv = (MetadataVersion) field(f, "releaseVersion");
        Map<String, Short> levels = new TreeMap<>();
        ((Map<?, ?>) field(f, "featureLevels")).forEach((k, v) -> levels.put((String) k, (Short) v));
        if (mv != null) levels.putIfAbsent(MetadataVersion.FEATURE_NAME, mv.featureLevel());
        levels.forEach((k, v) -> {
            features.add("--feature");
            features.add(k + "=" + v);
        });
        Object s = field(f, "scramArguments");
        if (s instanceof List<?> args) args.forEach(x -> {
            scram.add("--add-scram");
            scram.add(String.valueOf(x));
        });
    }

    private static Object field(Formatter f, String name) throws Exception {
        Field x = Formatter.class.getDeclaredField(name);
        x.setAccessible(true);
        return x.get(f);
    }

    public String clusterId() {
        return clusterId;
    }

    private List<String> format() {
        List<String> l = new ArrayList<>(features);
        l.addAll(scram);
        return l;
    }

    synchronized public ControllerServer controllerServer() {
        if (controller == null) throw new TestAbortedException("needs a cluster: a controller before the broker");
        return controller;
    }

    synchronized public KafkaBroker broker(KafkaConfig config, boolean startup) {
        Map<String, Object> p = new HashMap<>(config.originals());
        int id = config.nodeId();
        p.put("log.dirs", String.join(",", config.logDirs()));
        p.remove("log.dir");
        int controllerPort = cluster.reserve(id, "CONTROLLER");
        controllerProps.forEach((k, v) -> {
            if (!k.equals("listeners") && !k.equals("node.id")) p.putIfAbsent(k, v);
        });
        p.put("process.roles", "broker,controller");
        p.put("listeners", p.get("listeners") + "," + controllerProps.get("listeners"));
        p.put("controller.listener.names", controllerProps.get("controller.listener.names"));
        String map = String.valueOf(p.getOrDefault("listener.security.protocol.map", ""));
        List<String> m = new ArrayList<>();
        for (String s : map.split(",")) if (!s.isBlank() && !s.toUpperCase(Locale.ROOT).startsWith("CONTROLLER:")) m.add(s);
        for (String s : String.valueOf(controllerProps.get("listener.security.protocol.map")).split(",")) {
            String name = s.substring(0, s.indexOf(':') + 1);
            if (m.stream().noneMatch(x -> x.startsWith(name))) m.add(s);
        }
        p.put("listener.security.protocol.map", String.join(",", m));
        p.put("controller.quorum.voters", id + "@localhost:" + controllerPort);
        Node n = cluster.add(id, p, format());
        BrokerServer b = Fakes.broker(cluster, n, new KafkaConfig(Props.of(n), false));
        controller = Fakes.controller(cluster, n, b.config());
        if (startup) b.startup();
        return b;
    }

    public void close() {
        cluster.close();
    }
}
