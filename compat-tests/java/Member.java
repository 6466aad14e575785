import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/** The group command: a subscribed consumer that prints what happens to it. */
final class Member implements ConsumerRebalanceListener {
    private final Contract.Options options;
    private final String commit;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Map<TopicPartition, OffsetAndMetadata> read = new HashMap<>();
    private final long startedMs = System.currentTimeMillis();
    private long lastRecordMs = startedMs;
    private long count;
    private boolean leaving;

    Member(Contract.Options options) {
        this.options = options;
        this.commit = options.text("commit", "none");
        this.consumer = Client.consumer(settings(options));
    }

    private static Properties settings(Contract.Options options) {
        Properties settings = Client.consumerSettings(options);
        settings.put("group.id", options.text("group"));
        settings.put("partition.assignment.strategy", assignor(options.text("assignor", "range")));
        settings.put("auto.offset.reset", options.text("from", "earliest"));
        settings.put("enable.auto.commit", options.text("commit", "none").equals("auto"));
        settings.put("auto.commit.interval.ms", 200);
        settings.put("session.timeout.ms", (int) options.number("session-ms", 6_000));
        settings.put("heartbeat.interval.ms", 100);
        settings.put("metadata.max.age.ms", options.number("metadata-ms", 500));
        String instance = options.text("instance-id", "");
        if (!instance.isEmpty()) settings.put("group.instance.id", instance);
        return settings;
    }

    private static String assignor(String name) {
        String folder = "org.apache.kafka.clients.consumer.";
        switch (name) {
            case "range":
                return folder + "RangeAssignor";
            case "roundrobin":
                return folder + "RoundRobinAssignor";
            case "sticky":
                return folder + "StickyAssignor";
            case "cooperative-sticky":
                return folder + "CooperativeStickyAssignor";
            default:
                throw new IllegalArgumentException("unknown assignor " + name);
        }
    }

    void run(Contract.Control control) throws InterruptedException {
        String topic = options.text("topic");
        try (KafkaConsumer<byte[], byte[]> closing = consumer) {
            if (topic.startsWith("^")) {
                closing.subscribe(Pattern.compile(topic), this);
            } else {
                closing.subscribe(Arrays.asList(topic.split(",")), this);
            }
            while (!isOver()) {
                step();
                for (String line : control.pending()) apply(line);
            }
        }
    }

    private boolean isOver() {
        long now = System.currentTimeMillis();
        return leaving
                || reached(options.number("count", 0), count)
                || reached(options.number("idle-ms", 0), now - lastRecordMs)
                || reached(options.number("timeout-ms", 60_000), now - startedMs);
    }

    private static boolean reached(long limit, long used) {
        return limit > 0 && used >= limit;
    }

    private void step() {
        Map<TopicPartition, OffsetAndMetadata> fresh = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : Era.poll(consumer, 50)) {
            Client.emit(record);
            TopicPartition partition = new TopicPartition(record.topic(), record.partition());
            fresh.put(partition, new OffsetAndMetadata(record.offset() + 1));
            count++;
            lastRecordMs = System.currentTimeMillis();
        }
        read.putAll(fresh);
        if (fresh.isEmpty()) return;
        if (commit.equals("sync")) commitSync(fresh);
        if (commit.equals("async")) consumer.commitAsync(fresh, Member::report);
    }

    private void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
        try {
            consumer.commitSync(offsets);
            report(offsets, null);
        } catch (KafkaException refused) {
            report(offsets, refused);
        }
    }

    static void report(Map<TopicPartition, OffsetAndMetadata> offsets, Exception refused) {
        if (refused != null) {
            Contract.emit("commit_failed", ",\"message\":" + Contract.quoted(refused.toString()));
            return;
        }
        List<String> places = new ArrayList<>();
        offsets.forEach((partition, position) -> places.add("[" + Contract.quoted(partition.topic())
                + "," + partition.partition() + "," + position.offset() + "]"));
        Contract.emit("committed", ",\"offsets\":[" + String.join(",", places) + "]");
    }

    private void apply(String line) {
        String[] words = line.split("\\s+");
        switch (words[0]) {
            case "commit":
                commitSync(read);
                break;
            case "leave":
                leaving = true;
                break;
            case "seek":
                consumer.seek(partition(words), Long.parseLong(words[3]));
                break;
            case "pause":
                consumer.pause(Collections.singletonList(partition(words)));
                break;
            case "resume":
                consumer.resume(Collections.singletonList(partition(words)));
                break;
            default:
                throw new IllegalArgumentException("unknown command " + line);
        }
        Contract.emit("applied", ",\"command\":" + Contract.quoted(line));
    }

    private static TopicPartition partition(String[] words) {
        return new TopicPartition(words[1], Integer.parseInt(words[2]));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        emitPartitions("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        emitPartitions("revoked", partitions);
    }

    private static void emitPartitions(String event, Collection<TopicPartition> partitions) {
        List<String> places = new ArrayList<>();
        for (TopicPartition partition : partitions) {
            places.add("[" + Contract.quoted(partition.topic()) + "," + partition.partition() + "]");
        }
        Contract.emit(event, ",\"partitions\":[" + String.join(",", places) + "]");
    }
}
