package upstreamit;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Apache Kafka's own kafka-storage, which gives a new cluster its id and its feature levels. */
final class Format {
    private Format() { }

    /** Formats the folders of a node that is not started by {format}, unless that is done. */
    static void once(Path config, Map<String, String> props, String clusterId, List<String> arguments) throws IOException {
        String meta = props.getOrDefault("metadata.log.dir", props.get("log.dirs").split(",")[0]);
        if (Files.exists(Path.of(meta, "meta.properties"))) return;
        List<String> all = new ArrayList<>(List.of("format", "--ignore-formatted", "--config", config.toString(), "--cluster-id", clusterId));
        all.addAll(arguments);
        Path log = config.resolveSibling("format.log");
        try (PrintStream out = new PrintStream(Files.newOutputStream(log))) {
            int rc = kafka.tools.StorageTool.execute(all.toArray(new String[0]), out);
            if (rc != 0) throw new IllegalStateException("kafka-storage format ended with " + rc + ", see " + log);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException("kafka-storage format", e);
        }
    }
}
