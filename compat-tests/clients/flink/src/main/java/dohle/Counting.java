package dohle;

import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Reads the numbers of a topic until it is ended, counts those of each last digit, and writes every count in
 * exactly-once transactions. Arguments: bootstrap, source, sink, naming of transactions, folder of checkpoints, the
 * number at which it fails once, and the checkpoint to go on from.
 */
public final class Counting {
    public static void main(String[] args) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.interval", "400 ms");
        settings.setString("execution.checkpointing.dir", "file://" + args[4]);
        settings.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
        settings.setString("restart-strategy.type", "fixed-delay");
        settings.setString("restart-strategy.fixed-delay.attempts", "3");
        settings.setString("restart-strategy.fixed-delay.delay", "100 ms");
        settings.setString("parallelism.default", "2");
        settings.setString("taskmanager.numberOfTaskSlots", "2");
        settings.setString("taskmanager.memory.network.min", "16mb");
        settings.setString("taskmanager.memory.network.max", "16mb");
        settings.setString("taskmanager.memory.managed.size", "16mb");
        if (args.length > 6) settings.setString("execution.state-recovery.path", "file://" + args[6]);
        StreamExecutionEnvironment job = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        KafkaSource<String> source = KafkaSource.<String>builder()
            .setBootstrapServers(args[0]).setTopics(args[1]).setGroupId("counting")
            .setStartingOffsets(OffsetsInitializer.earliest())
            .setProperty("isolation.level", "read_committed")
            .setValueOnlyDeserializer(new SimpleStringSchema()).build();
        KafkaSink<String> sink = KafkaSink.<String>builder()
            .setBootstrapServers(args[0])
            .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
            .setTransactionalIdPrefix("counting")
            .setTransactionNamingStrategy(TransactionNamingStrategy.valueOf(args[3]))
            .setProperty("transaction.timeout.ms", "120000")
            .setRecordSerializer(KafkaRecordSerializationSchema.builder().setTopic(args[2]).setValueSerializationSchema(new SimpleStringSchema()).build())
            .build();
        int failing = Integer.parseInt(args[5]);
        job.fromSource(source, WatermarkStrategy.noWatermarks(), "numbers").uid("numbers")
            .map(Counting::slowly) // so that it can be killed in the middle
            .keyBy(value -> Integer.parseInt(value) % 10)
            .process(new Count(failing)).uid("count")
            .sinkTo(sink).uid("counts");
        job.execute("counting");
    }

    private static String slowly(String value) throws InterruptedException {
        Thread.sleep(2);
        return value;
    }

    private static final class Count extends KeyedProcessFunction<Integer, String, String> {
        static final AtomicBoolean FAILED = new AtomicBoolean();
        private final int failing;
        private transient ValueState<Integer> seen;

        Count(int failing) {
            this.failing = failing;
        }

        @Override
        public void open(OpenContext context) {
            seen = getRuntimeContext().getState(new ValueStateDescriptor<>("seen", Integer.class));
        }

        @Override
        public void processElement(String value, Context context, Collector<String> out) throws Exception {
            if (Integer.parseInt(value) == failing && !FAILED.getAndSet(true)) {
                System.out.println("failing once at " + value);
                throw new IllegalStateException("failing at " + value);
            }
            int count = seen.value() == null ? 1 : seen.value() + 1;
            seen.update(count);
            out.collect(context.getCurrentKey() + ":" + count);
        }
    }
}
