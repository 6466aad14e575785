import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import kafka.common.ErrorMapping;
import kafka.common.OffsetAndMetadata;
import kafka.common.OffsetMetadataAndError;
import kafka.common.TopicAndPartition;
import kafka.javaapi.OffsetCommitRequest;
import kafka.javaapi.OffsetCommitResponse;
import kafka.javaapi.OffsetFetchRequest;
import kafka.javaapi.consumer.SimpleConsumer;

/** A group's offsets by SimpleConsumer: version 0 keeps them in ZooKeeper. */
final class OldOffsets {
    private static final short VERSION = 0;

    private OldOffsets() {}

    static void commit(Contract.Options options) {
        TopicAndPartition place = place(options);
        Map<TopicAndPartition, OffsetAndMetadata> offsets = new HashMap<>();
        offsets.put(place, new OffsetAndMetadata(options.number("offset", 0), "", System.currentTimeMillis()));
        SimpleConsumer consumer = consumer(options);
        try {
            OffsetCommitResponse answer = consumer.commitOffsets(new OffsetCommitRequest(
                    options.text("group"), offsets, 1, "ancient", VERSION));
            if (answer.hasError()) throw new IllegalStateException("error " + answer.errorCode(place));
            Contract.emit("committed", ",\"offsets\":[[" + Contract.quoted(place.topic()) + "," + place.partition()
                    + "," + options.number("offset", 0) + "]]");
        } finally {
            consumer.close();
        }
    }

    static void committed(Contract.Options options) {
        TopicAndPartition place = place(options);
        SimpleConsumer consumer = consumer(options);
        try {
            OffsetMetadataAndError found = consumer.fetchOffsets(new OffsetFetchRequest(
                    options.text("group"), Collections.singletonList(place),
                    VERSION, 1, "ancient")).offsets().get(place);
            boolean isKnown = found.error() == ErrorMapping.NoError();
            Contract.emit("fetched", ",\"offset\":" + (isKnown ? found.offset() : -1) + ",\"code\":" + found.error());
        } finally {
            consumer.close();
        }
    }

    private static TopicAndPartition place(Contract.Options options) {
        return new TopicAndPartition(options.text("topic"), (int) options.number("partition", 0));
    }

    private static SimpleConsumer consumer(Contract.Options options) {
        String[] address = options.text("bootstrap").split(":");
        return new SimpleConsumer(address[0], Integer.parseInt(address[1]), 10_000, 1 << 16, "ancient");
    }
}
