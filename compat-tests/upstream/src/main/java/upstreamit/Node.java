package upstreamit;

import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.utils.Time;

import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** One external server process: its properties file, its ports, its life. */
public final class Node {
    static final String COMMAND = System.getenv("BROKER_CMD");
    static final int START_LIMIT_S = Integer.parseInt(System.getenv().getOrDefault("BROKER_START_S", "60"));
    static final int STOP_LIMIT_S = Integer.parseInt(System.getenv().getOrDefault("BROKER_STOP_S", "20"));

    public final int id;
    final Path dir;
    final Map<String, String> props;
    /** Listener name to port. */
    final Map<String, Integer> ports;
    /** Arguments for a storage format step, for servers that have one. */
    final List<String> formatArgs;
    final String clusterId;
    /** Port of a listener that answers unauthenticated plaintext requests. */
    final int plainPort;
    private Process process;

    Node(int id, Path dir, Map<String, String> props,
         Map<String, Integer> ports, List<String> formatArgs, String clusterId, int plainPort) {
        this.id = id;
        this.dir = dir;
        this.props = props;
        this.ports = ports;
        this.formatArgs = formatArgs;
        this.clusterId = clusterId;
        this.plainPort = plainPort;
    }

    public synchronized boolean alive() {
        return process != null && process.isAlive();
    }

    /** Starts the process; does not wait. */
    public synchronized void spawn() {
        if (alive()) return;
        if (COMMAND == null || COMMAND.isBlank()) throw new IllegalStateException("BROKER_CMD is not set");
        try {
            Files.createDirectories(dir);
            Path config = dir.resolve("server.properties");
            try (BufferedWriter w = Files.newBufferedWriter(config)) {
                for (Map.Entry<String, String> e : new TreeMap<>(props).entrySet()) {
                    w.write(e.getKey() + "=" + escape(e.getValue()));
                    w.newLine();
                }
            }
            Path format = dir.resolve("format.args");
            Files.write(format, formatArgs);
            if (!COMMAND.contains("{format}")) Format.once(config, props, clusterId, formatArgs);
            String cmd = COMMAND;
            if (!cmd.contains("{config}")) cmd = cmd + " {config}";
            cmd = cmd.replace("{config}", config.toString()).replace("{format}", format.toString())
                .replace("{dir}", dir.toString());
            ProcessBuilder pb = new ProcessBuilder("sh", "-c", "exec " + cmd);
            pb.environment().put("CLUSTER_ID", clusterId);
            pb.environment().put("FORMAT_ARGS_FILE", format.toString());
            pb.redirectErrorStream(true);
            pb.redirectOutput(ProcessBuilder.Redirect.appendTo(dir.resolve("log").toFile()));
            pb.redirectInput(ProcessBuilder.Redirect.from(new File("/dev/null")));
            process = pb.start();
            Processes.started(process);
        } catch (IOException e) {
            throw new IllegalStateException("cannot start node " + id, e);
        }
    }

    private static String escape(String v) {
        return v.replace("\\", "\\\\").replace("\n", "\\n");
    }

    /** Waits until it takes clients' connections and, lists itself in Metadata. */
    public void awaitReady() {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_LIMIT_S);
        while (true) {
            if (!alive()) throw new IllegalStateException("node " + id + " ended at start, see " + dir.resolve("log") + "\n" + tail());
            if (ready()) return;
            if (System.nanoTime() > end) throw new IllegalStateException("node " + id + " not ready in " + START_LIMIT_S + " s, see " + dir.resolve("log"));
            Time.SYSTEM.sleep(15);
        }
    }

    private boolean ready() {
        List<String> aside = List.of(props.get("controller.listener.names").split(","));
        for (Map.Entry<String, Integer> e : ports.entrySet()) {
            if (!aside.contains(e.getKey()) && !Wire.connects(e.getValue())) return false;
        }
        try {
            MetadataResponse m = Wire.metadata(plainPort, List.of());
            return m.brokers().stream().anyMatch(n -> n.id() == id);
        } catch (IOException | RuntimeException e) {
            return false;
        }
    }

    String tail() {
        try {
            List<String> l = Files.readAllLines(dir.resolve("log"));
            return String.join("\n", l.subList(Math.max(0, l.size() - 15), l.size()));
        } catch (IOException e) {
            return "";
        }
    }

    /** TERM, then KILL when it takes too long. */
    public void stop() {
        stop(STOP_LIMIT_S);
    }

    public void stop(long seconds) {
        Process p;
        synchronized (this) {
            p = process;
        }
        if (p == null) return;
        p.destroy();
        try {
            if (!p.waitFor(seconds, TimeUnit.SECONDS)) {
                p.destroyForcibly();
                p.waitFor(10, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            p.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        Processes.ended(p);
    }

    /** For the end of a test, where nothing may be asked of the process any more. */
    public synchronized void kill() {
        if (process != null) {
            process.destroyForcibly();
            Processes.ended(process);
        }
    }

    public void awaitEnd() {
        Process p;
        synchronized (this) {
            p = process;
        }
        try {
            if (p != null) p.waitFor(STOP_LIMIT_S + 10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    public int port(String listener) {
        Integer p = ports.get(listener);
        if (p == null) throw new IllegalArgumentException("node " + id + " has no listener " + listener);
        return p;
    }
}
