import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import kafka.consumer.Consumer;
import kafka.consumer.ConsumerConfig;
import kafka.consumer.ConsumerIterator;
import kafka.consumer.ConsumerTimeoutException;
import kafka.consumer.KafkaStream;
import kafka.javaapi.consumer.ConsumerConnector;
import kafka.message.MessageAndMetadata;

/** The group command for the high-level consumer of 0.8: groups and owners are in ZooKeeper. */
final class HighLevel {
    private static final String POLL_MS = "50";

    private final Contract.Options options;
    private final ConsumerConnector connector;
    private final long startedMs = System.currentTimeMillis();
    private final Map<String, Map<Integer, Long>> read = new HashMap<>();
    private long count;
    private boolean leaving;

    HighLevel(Contract.Options options) {
        this.options = options;
        this.connector = Consumer.createJavaConsumerConnector(new ConsumerConfig(settings(options)));
    }

    private static Properties settings(Contract.Options options) {
        Properties settings = new Properties();
        settings.put("zookeeper.connect", options.text("zookeeper"));
        settings.put("zookeeper.session.timeout.ms", options.text("session-ms", "6000"));
        settings.put("zookeeper.sync.time.ms", "200");
        settings.put("group.id", options.text("group"));
        settings.put("offsets.storage", options.text("offsets", "zookeeper"));
        settings.put("dual.commit.enabled", options.text("dual", "false"));
        settings.put("auto.commit.enable", options.text("commit", "none").equals("auto") + "");
        settings.put("auto.commit.interval.ms", "200");
        settings.put("auto.offset.reset", options.text("from", "earliest").equals("earliest") ? "smallest" : "largest");
        settings.put("consumer.timeout.ms", POLL_MS);
        settings.put("rebalance.backoff.ms", "300");
        settings.put("rebalance.max.retries", "20");
        settings.put("refresh.leader.backoff.ms", "100");
        return settings;
    }

    void run(Contract.Control control) throws InterruptedException {
        String topic = options.text("topic");
        try {
            List<KafkaStream<byte[], byte[]>> streams =
                    connector.createMessageStreams(Collections.singletonMap(topic, 1)).get(topic);
            ConsumerIterator<byte[], byte[]> records = streams.get(0).iterator();
            while (!isOver()) {
                step(records);
                for (String line : control.pending()) apply(line);
            }
        } finally {
            connector.shutdown();
        }
    }

    private boolean isOver() {
        long limit = options.number("count", 0);
        long time = options.number("timeout-ms", 60_000);
        return leaving
                || limit > 0 && count >= limit
                || time > 0 && System.currentTimeMillis() - startedMs >= time;
    }

    private void step(ConsumerIterator<byte[], byte[]> records) {
        try {
            if (!records.hasNext()) return;
        } catch (ConsumerTimeoutException quiet) {
            return;
        }
        MessageAndMetadata<byte[], byte[]> found = records.next();
        Contract.emitRecord(found.topic(), found.partition(), found.offset(), -1, found.key(), found.message(),
                Collections.emptyList());
        read.computeIfAbsent(found.topic(), topic -> new HashMap<>()).put(found.partition(), found.offset() + 1);
        count++;
        if (options.text("commit", "none").equals("sync")) commit();
    }

    /** Commits what was handed out of everything it owns. */
    private void commit() {
        connector.commitOffsets();
        StringBuilder offsets = new StringBuilder();
        read.forEach((topic, partitions) -> partitions.forEach((partition, offset) -> {
            if (offsets.length() > 0) offsets.append(",");
            offsets.append("[" + Contract.quoted(topic) + "," + partition + "," + offset + "]");
        }));
        Contract.emit("committed", ",\"offsets\":[" + offsets + "]");
    }

    private void apply(String line) {
        String name = Arrays.asList(line.split(" ")).get(0);
        if (name.equals("leave")) {
            leaving = true;
        } else if (name.equals("commit")) {
            commit();
        } else {
            throw new IllegalArgumentException("unknown command " + line);
        }
        Contract.emit("applied", ",\"command\":" + Contract.quoted(line));
    }
}
