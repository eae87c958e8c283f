// Prints the batches of record_batches.txt, one a line: name, space, bytes in hex. Run with Kafka 4.4's jars:
//   java -cp 'libs/*' tests/golden/RecordBatches.java > tests/golden/record_batches.txt
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.record.*;

public class RecordBatches {
    static final long TIME = 1_700_000_000_000L;

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static void print(String name, MemoryRecords records) {
        ByteBuffer buffer = records.buffer().duplicate();
        byte[] copy = new byte[buffer.remaining()];
        buffer.get(copy);
        System.out.println(name + " " + HexFormat.of().formatHex(copy));
    }

    static MemoryRecords data(Compression compression, TimestampType type, boolean producer) {
        MemoryRecordsBuilder builder = producer
            ? MemoryRecords.builder(ByteBuffer.allocate(1024), (byte) 2, compression, type, 0L, TIME, 4000L, (short) 3, 17, true, -1)
            : MemoryRecords.builder(ByteBuffer.allocate(1024), (byte) 2, compression, type, 0L, TIME, -1L, (short) -1, -1, false, -1);
        Header[] headers = {
            new RecordHeader("a", bytes("1")), new RecordHeader("a", bytes("2")), new RecordHeader("b", (byte[]) null),
            new RecordHeader("c", bytes("")), new RecordHeader("", bytes("x"))};
        builder.append(TIME, bytes("key"), bytes("value ".repeat(30)), headers);
        builder.append(TIME + 1500, (byte[]) null, bytes(""), new Header[0]);
        builder.append(TIME - 20, bytes(""), (byte[]) null, new Header[0]);
        return builder.build();
    }

    public static void main(String[] arguments) {
        print("none", data(Compression.NONE, TimestampType.CREATE_TIME, false));
        print("gzip", data(Compression.gzip().build(), TimestampType.CREATE_TIME, false));
        print("snappy", data(Compression.snappy().build(), TimestampType.CREATE_TIME, false));
        print("lz4", data(Compression.lz4().build(), TimestampType.CREATE_TIME, false));
        print("zstd", data(Compression.zstd().build(), TimestampType.CREATE_TIME, false));
        print("transactional", data(Compression.NONE, TimestampType.CREATE_TIME, true));
        print("append-time", data(Compression.NONE, TimestampType.LOG_APPEND_TIME, false));
        print("commit", MemoryRecords.withEndTransactionMarker(TIME, 4000L, (short) 3,
            new EndTransactionMarker(ControlRecordType.COMMIT, 12)));
        print("abort", MemoryRecords.withEndTransactionMarker(TIME, 4000L, (short) 3,
            new EndTransactionMarker(ControlRecordType.ABORT, 12)));
        var voter = new LeaderChangeMessage.Voter().setVoterId(1);
        print("leader-change", MemoryRecords.withLeaderChangeMessage(0, TIME, 1, ByteBuffer.allocate(256),
            new LeaderChangeMessage().setVersion((short) 0).setLeaderId(1).setVoters(List.of(voter)).setGrantingVoters(List.of(voter.duplicate()))));
        print("snapshot-header", MemoryRecords.withSnapshotHeaderRecord(0, TIME, 1, ByteBuffer.allocate(256),
            new SnapshotHeaderRecord().setVersion((short) 0).setLastContainedLogTimestamp(TIME - 1)));
        print("snapshot-footer", MemoryRecords.withSnapshotFooterRecord(0, TIME, 1, ByteBuffer.allocate(256),
            new SnapshotFooterRecord().setVersion((short) 0)));
    }
}
