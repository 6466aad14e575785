import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

/**
 * Runs Kafka 3.9's LogValidator and its down-conversion, one line of the standard input each:
 *   validate TAB hex TAB codec or -1 TAB compacted TAB magic TAB append time TAB before TAB after
 *   convert TAB hex TAB magic TAB first offset
 * Answers "ok TAB hex TAB max timestamp" or "error TAB exception TAB record indices".
 */
public class ValidatorOracle {
    static final long NOW_MS = 1_700_000_000_000L;
    static final long NEXT_OFFSET = 100;
    static final int LEADER_EPOCH = 4;

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = questions.readLine()) != null; ) {
            String[] question = line.split("\t");
            try {
                System.out.println(question[0].equals("validate") ? validate(question) : convert(question));
            } catch (RecordValidationException refusal) {
                String indices = refusal.recordErrors().stream()
                    .map(error -> String.valueOf(error.batchIndex)).collect(Collectors.joining(","));
                System.out.println(error(refusal.invalidException(), indices));
            } catch (Throwable refusal) {
                System.out.println(error(refusal, ""));
            }
        }
    }

    static String error(Throwable refusal, String indices) {
        return "error\t" + refusal.getClass().getSimpleName() + "\t" + indices;
    }

    static String validate(String[] question) {
        MemoryRecords records = records(question[1]);
        CompressionType source = CompressionType.NONE;
        for (MutableRecordBatch batch : records.batches()) {
            if (batch.compressionType() != CompressionType.NONE) source = batch.compressionType();
        }
        int codec = Integer.parseInt(question[2]);
        CompressionType target = codec < 0 ? source : CompressionType.forId(codec);
        LogValidator.ValidationResult result = new LogValidator(
            records, new TopicPartition("t", 0), fixedTime(), source,
            Compression.of(target).build(), Boolean.parseBoolean(question[3]),
            Byte.parseByte(question[4]),
            Boolean.parseBoolean(question[5]) ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
            Long.parseLong(question[6]), Long.parseLong(question[7]), LEADER_EPOCH,
            AppendOrigin.CLIENT, MetadataVersion.latestProduction()
        ).validateMessagesAndAssignOffsets(
            PrimitiveRef.ofLong(NEXT_OFFSET), new NoMetrics(), BufferSupplier.NO_CACHING);
        return "ok\t" + hex(result.validatedRecords) + "\t" + result.maxTimestampMs;
    }

    static String convert(String[] question) {
        return "ok\t" + hex(records(question[1]).downConvert(Byte.parseByte(question[2]),
            Long.parseLong(question[3]), Time.SYSTEM).records()) + "\t-1";
    }

    static MemoryRecords records(String hex) {
        return MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
    }

    static String hex(MemoryRecords records) {
        ByteBuffer buffer = records.buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /** A clock that stands still. */
    static Time fixedTime() {
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, given) -> method.getName().equals("milliseconds") ? NOW_MS : 0L);
    }

    static class NoMetrics implements LogValidator.MetricsRecorder {
        public void recordInvalidMagic() { }
        public void recordInvalidOffset() { }
        public void recordInvalidSequence() { }
        public void recordInvalidChecksums() { }
        public void recordNoKeyCompactedTopic() { }
    }
}
