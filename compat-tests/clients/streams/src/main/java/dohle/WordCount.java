package dohle;

import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Counts words: a repartition topic, a state store with its changelog, and every count on the way to the output.
 * Arguments: bootstrap, application id, state folder, input topic, output topic, then settings as key=value. Says each
 * state it comes to, and at every line of input the active and standby tasks it has; the end of the input ends it.
 */
public final class WordCount {
    public static void main(String[] args) throws Exception {
        var settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("application.id", args[1]);
        settings.put("state.dir", args[2]);
        settings.put("default.key.serde", Serdes.StringSerde.class.getName());
        settings.put("default.value.serde", Serdes.StringSerde.class.getName());
        settings.put("commit.interval.ms", "100");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("consumer.auto.offset.reset", "earliest");
        for (var setting : Arrays.asList(args).subList(5, args.length)) {
            var parts = setting.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        var builder = new StreamsBuilder();
        builder.stream(args[3], Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(args[4], Produced.with(Serdes.String(), Serdes.String()));
        var streams = new KafkaStreams(builder.build(), settings);
        streams.setStateListener((now, before) -> say("state " + now));
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            say("error " + error);
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        var input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
        while (input.readLine() != null) {
            var active = streams.metadataForLocalThreads().stream().mapToInt(it -> it.activeTasks().size()).sum();
            var standby = streams.metadataForLocalThreads().stream().mapToInt(it -> it.standbyTasks().size()).sum();
            say("tasks " + active + " " + standby);
        }
        streams.close(java.time.Duration.ofSeconds(30));
        say("closed");
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
