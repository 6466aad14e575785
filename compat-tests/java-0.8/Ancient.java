import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import kafka.api.FetchRequest;
import kafka.api.FetchRequestBuilder;
import kafka.api.PartitionOffsetRequestInfo;
import kafka.common.ErrorMapping;
import kafka.common.TopicAndPartition;
import kafka.javaapi.FetchResponse;
import kafka.javaapi.OffsetRequest;
import kafka.javaapi.OffsetResponse;
import kafka.javaapi.consumer.SimpleConsumer;
import kafka.message.MessageAndOffset;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Kafka 0.8.2.2: its new Java producer, Scala's SimpleConsumer and high-level consumer, under contract.md. */
public final class Ancient {
    private static final int FETCH_BYTES = 1 << 20;
    private static final int WAIT_MS = 100;

    private Ancient() {}

    public static void main(String[] arguments) throws InterruptedException {
        Contract.main(arguments, Ancient::run);
    }

    private static void run(String command, Contract.Options options, Contract.Control control)
            throws Exception {
        if (command.equals("produce")) {
            produce(options);
        } else if (command.equals("consume")) {
            consume(options);
        } else if (command.equals("drain")) {
            drain(options);
        } else if (command.equals("group")) {
            new HighLevel(options).run(control);
        } else if (command.equals("commit")) {
            OldOffsets.commit(options);
        } else if (command.equals("committed")) {
            OldOffsets.committed(options);
        } else {
            throw new IllegalArgumentException("0.8.2.2 has no " + command);
        }
    }

    private static void produce(Contract.Options options) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", options.text("bootstrap"));
        settings.put("compression.type", options.text("codec", "none"));
        settings.put("acks", options.text("acks", "all"));
        settings.put("linger.ms", 5);
        int count = (int) options.number("count", 10);
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        try {
            for (int index = 0; index < count; index++) answers.add(producer.send(record(options, index)));
            for (int index = 0; index < count; index++) {
                RecordMetadata answer = answers.get(index).get(30, TimeUnit.SECONDS);
                Contract.emitAcked(index, answer.partition(), answer.offset());
            }
        } finally {
            producer.close();
        }
    }

    private static ProducerRecord<byte[], byte[]> record(Contract.Options options, int index) {
        int partition = (int) options.number("partition", -1);
        String prefix = options.text("prefix", "p");
        return new ProducerRecord<>(options.text("topic"), partition < 0 ? null : partition,
                Contract.keyAt(prefix, index), Contract.valueAt(prefix, index));
    }

    private static void consume(Contract.Options options) throws Exception {
        String[] address = options.text("bootstrap").split(":");
        SimpleConsumer consumer =
                new SimpleConsumer(address[0], Integer.parseInt(address[1]), 10_000, FETCH_BYTES, "ancient");
        try {
            read(consumer, options);
        } finally {
            consumer.close();
        }
    }

    private static void read(SimpleConsumer consumer, Contract.Options options) throws Exception {
        String topic = options.text("topic");
        int partition = (int) options.number("partition", 0);
        long next = options.text("from", "earliest").equals("earliest")
                ? earliest(consumer, topic, partition)
                : options.number("from", 0);
        long left = options.number("count", 10);
        long deadline = System.currentTimeMillis() + options.number("timeout-ms", 10_000);
        while (left > 0 && System.currentTimeMillis() < deadline) {
            for (MessageAndOffset found : fetch(consumer, topic, partition, next)) {
                if (found.offset() < next || left == 0) continue; // compressed sets begin earlier
                Contract.emitRecord(topic, partition, found.offset(), -1,
                        bytes(found.message().key()), bytes(found.message().payload()),
                        Collections.emptyList());
                next = found.nextOffset();
                left--;
            }
        }
    }

    /** SimpleConsumer asks for what it is told to; the size is what the high-level one defaults to. */
    private static void drain(Contract.Options options) throws Exception {
        String[] address = options.text("bootstrap").split(":");
        SimpleConsumer consumer =
                new SimpleConsumer(address[0], Integer.parseInt(address[1]), 10_000, FETCH_BYTES, "ancient");
        try {
            long[] next = new long[(int) options.number("partitions", 1)];
            long left = options.number("count", 10);
            long deadline = System.currentTimeMillis() + options.number("timeout-ms", 30_000);
            while (left > 0 && System.currentTimeMillis() < deadline) {
                left -= drainOnce(consumer, options.text("topic"), next);
            }
        } finally {
            consumer.close();
        }
    }

    private static long drainOnce(SimpleConsumer consumer, String topic, long[] next) {
        FetchRequestBuilder builder = new FetchRequestBuilder().clientId("ancient").maxWait(WAIT_MS).minBytes(1);
        for (int partition = 0; partition < next.length; partition++) {
            builder.addFetch(topic, partition, next[partition], FETCH_BYTES);
        }
        FetchResponse answer = consumer.fetch(builder.build());
        long count = 0;
        for (int partition = 0; partition < next.length; partition++) {
            for (MessageAndOffset found : answer.messageSet(topic, partition)) {
                Contract.emitDrained(partition, found.offset(), found.message().payloadSize());
                next[partition] = found.nextOffset();
                count++;
            }
        }
        return count;
    }

    private static Iterable<MessageAndOffset> fetch(
            SimpleConsumer consumer, String topic, int partition, long offset) throws Exception {
        FetchRequest request = new FetchRequestBuilder()
                .clientId("ancient")
                .maxWait(WAIT_MS)
                .minBytes(1)
                .addFetch(topic, partition, offset, FETCH_BYTES)
                .build();
        FetchResponse answer = consumer.fetch(request);
        short code = answer.errorCode(topic, partition);
        if (code != ErrorMapping.NoError()) throw new IllegalStateException("error code " + code);
        return answer.messageSet(topic, partition);
    }

    private static long earliest(SimpleConsumer consumer, String topic, int partition) {
        TopicAndPartition place = new TopicAndPartition(topic, partition);
        PartitionOffsetRequestInfo wanted =
                new PartitionOffsetRequestInfo(kafka.api.OffsetRequest.EarliestTime(), 1);
        OffsetResponse answer = consumer.getOffsetsBefore(new OffsetRequest(
                Collections.singletonMap(place, wanted), kafka.api.OffsetRequest.CurrentVersion(), "ancient"));
        if (answer.hasError()) {
            throw new IllegalStateException("error code " + answer.errorCode(topic, partition));
        }
        return answer.offsets(topic, partition)[0];
    }

    private static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) return null;
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return copy;
    }
}
