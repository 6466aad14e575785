import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What run.py and roles.py are, with Apache Kafka's own clients; the same arguments and history. */
public final class Worker {
    private static final int ATTEMPTS = 6;
    private static final int TRANSACTION_MS = 10_000;
    private static final double ABORTED_SHARE = 0.15;
    private static final double SLOW_SHARE = 0.04;
    private static final int OF_NO_USE = 3;

    private final Map<String, String> given;
    private final String name;
    private final int partitions;
    private final boolean committed;
    private final Random chance;
    private final FileOutputStream history;
    private final CountDownLatch over = new CountDownLatch(1);
    private KafkaProducer<String, String> producer;
    private KafkaConsumer<String, String> consumer;
    private int transactions;
    private int records;
    private int session;
    private String transaction = "";

    private Worker(Map<String, String> given) throws IOException {
        this.given = given;
        name = given.get("name");
        partitions = Integer.parseInt(given.get("partitions"));
        committed = given.get("committed").equals("1");
        chance = new Random(given.get("seed").hashCode());
        history = new FileOutputStream(given.get("history"), true);
    }

    public static void main(String[] arguments) throws IOException {
        Map<String, String> given = new HashMap<>();
        for (String each : arguments) {
            given.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        Worker worker = new Worker(given);
        Thread input = new Thread(worker::awaitEndOfInput);
        input.setDaemon(true);
        input.start();
        int code = 0;
        try {
            worker.work();
        } catch (OfNoUse | KafkaException fatal) {
            System.err.println(given.get("name") + " " + fatal);
            code = OF_NO_USE;
        } catch (Throwable unexpected) {
            unexpected.printStackTrace();
            code = 1;
        }
        Runtime.getRuntime().halt(code);
    }

    private void awaitEndOfInput() {
        try {
            while (System.in.read() >= 0) {}
        } catch (IOException closed) {
            // as good as its end
        }
        over.countDown();
    }

    private boolean isOver() {
        return over.getCount() == 0;
    }

    private void pause(double seconds) throws InterruptedException {
        over.await((long) (seconds * 1000), TimeUnit.MILLISECONDS);
    }

    private void work() throws InterruptedException {
        if (!given.get("role").equals("writer")) consumer = new KafkaConsumer<>(consumerSettings());
        if (given.get("role").equals("reader")) {
            read();
            return;
        }
        producer = new KafkaProducer<>(producerSettings());
        start();
        if (given.get("role").equals("writer")) {
            write();
        } else {
            move();
            consumer.close(Duration.ofSeconds(3));
        }
    }

    private Properties producerSettings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given.get("bootstrap"));
        settings.put("transactional.id", given.get("id"));
        settings.put("transaction.timeout.ms", TRANSACTION_MS);
        settings.put("delivery.timeout.ms", TRANSACTION_MS - 2_000);
        settings.put("request.timeout.ms", 3_000);
        settings.put("max.block.ms", 8_000);
        settings.put("linger.ms", 2);
        settings.put("reconnect.backoff.max.ms", 500);
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        return settings;
    }

    private Properties consumerSettings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given.get("bootstrap"));
        settings.put("group.id", given.getOrDefault("group", "").isEmpty() ? name : given.get("group"));
        settings.put("isolation.level", committed ? "read_committed" : "read_uncommitted");
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("session.timeout.ms", 4_000);
        settings.put("heartbeat.interval.ms", 500);
        settings.put("request.timeout.ms", 5_000);
        settings.put("default.api.timeout.ms", 5_000);
        settings.put("fetch.max.wait.ms", 100);
        settings.put("max.poll.records", 12);
        settings.put("reconnect.backoff.max.ms", 500);
        settings.put(
                "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer.RangeAssignor");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        return settings;
    }

    // --- transactions ---------------------------------------------------------------------

    private interface Body {
        void run() throws InterruptedException;
    }

    private void start() {
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            try {
                producer.initTransactions();
                return;
            } catch (TimeoutException slow) {
                // the same call goes on
            } catch (KafkaException refused) {
                throw new OfNoUse(refused);
            }
        }
        throw new OfNoUse("no producer id");
    }

    private boolean transact(Body body) throws InterruptedException {
        boolean commit = chance.nextDouble() > ABORTED_SHARE;
        transaction = name + "." + ++transactions;
        note("begin", "id", given.get("id"), "process", name, "timeout_ms", TRANSACTION_MS);
        try {
            producer.beginTransaction();
            body.run();
            producer.flush();
            if (commit) {
                end(true);
                return true;
            }
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException of) {
            throw new OfNoUse(of);
        } catch (KafkaException abortable) {
            note("trouble", "error", abortable.toString());
        }
        try {
            end(false);
        } catch (KafkaException fatal) {
            throw new OfNoUse(fatal);
        }
        return false;
    }

    private void end(boolean commit) {
        note("end", "commit", commit);
        try {
            untilDecided(commit ? producer::commitTransaction : producer::abortTransaction);
            note("ended", "error", null);
        } catch (KafkaException error) {
            note("ended", "error", error.toString());
            throw error;
        }
    }

    private void untilDecided(Runnable call) {
        for (int attempt = 1; ; attempt++) {
            try {
                call.run();
                return;
            } catch (TimeoutException undecided) {
                if (attempt == ATTEMPTS) throw undecided;
            }
        }
    }

    private void send(String topic, String source) {
        String of = transaction;
        int partition = chance.nextInt(partitions);
        String value = of + "/" + ++records;
        note("send", "value", value, "topic", topic, "partition", partition, "source", source);
        producer.send(
                new ProducerRecord<>(topic, partition, null, value),
                (metadata, error) -> {
                    if (error == null) {
                        noteOf(of, "acked", "value", value, "offset", metadata.offset());
                    }
                });
    }

    // --- roles ----------------------------------------------------------------------------

    private void write() throws InterruptedException {
        while (!isOver()) {
            boolean slow = chance.nextDouble() < SLOW_SHARE;
            int count = 1 + chance.nextInt(8);
            transact(
                    () -> {
                        for (int i = 0; i < count; i++) {
                            send(given.get("target"), null);
                            if (slow) pause(chance.nextDouble());
                        }
                    });
            pause(chance.nextDouble() / 10);
        }
    }

    private void move() throws InterruptedException {
        consumer.subscribe(List.of(given.get("source")), new Sessions());
        while (!isOver()) {
            ConsumerRecords<String, String> batch = consumer.poll(Duration.ofMillis(500));
            notePolls(batch);
            if (batch.isEmpty()) continue;
            if (!transact(() -> moveAll(batch))) back(batch.partitions());
        }
    }

    private void moveAll(ConsumerRecords<String, String> batch) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
        for (ConsumerRecord<String, String> each : batch) {
            send(given.get("target"), each.value());
            TopicPartition at = new TopicPartition(each.topic(), each.partition());
            offsets.put(at, new OffsetAndMetadata(each.offset() + 1));
        }
        List<String> told = new ArrayList<>();
        offsets.forEach((at, to) -> told.add(
                "[\"" + at.topic() + "\"," + at.partition() + "," + to.offset() + "]"));
        note("offsets", "group", given.get("group"), "offsets", told);
        for (int attempt = 1; ; attempt++) {
            try {
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                return;
            } catch (TimeoutException undecided) {
                if (attempt == ATTEMPTS) throw undecided;
            }
        }
    }

    private void back(Collection<TopicPartition> partitionsRead) {
        session++;
        for (int attempt = 1; ; attempt++) {
            try {
                Map<TopicPartition, OffsetAndMetadata> at =
                        consumer.committed(Set(partitionsRead));
                for (TopicPartition each : partitionsRead) {
                    if (!consumer.assignment().contains(each)) continue;
                    consumer.seek(each, at.get(each) == null ? 0 : at.get(each).offset());
                }
                return;
            } catch (KafkaException trouble) {
                if (attempt == ATTEMPTS) throw new OfNoUse(trouble);
            }
        }
    }

    private static <T> java.util.Set<T> Set(Collection<T> items) {
        return new java.util.LinkedHashSet<>(items);
    }

    private void read() {
        List<TopicPartition> places = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            places.add(new TopicPartition(given.get("source"), partition));
        }
        consumer.assign(places);
        session++;
        for (TopicPartition place : places) {
            long offset = name.endsWith("#1") ? 0 : nearTheEnd(place);
            consumer.seek(place, offset);
            note("start", "session", name + ":" + session, "topic", place.topic(),
                    "partition", place.partition(), "offset", offset);
        }
        while (!isOver()) {
            notePolls(consumer.poll(Duration.ofMillis(200)));
            if (committed && chance.nextDouble() < 0.2) {
                noteStableOffset(places.get(chance.nextInt(places.size())));
            }
        }
    }

    private long nearTheEnd(TopicPartition place) {
        try {
            long end = consumer.endOffsets(List.of(place)).get(place);
            return Math.max(0, end - chance.nextInt(300));
        } catch (KafkaException trouble) {
            return 0;
        }
    }

    private void noteStableOffset(TopicPartition place) {
        try {
            long offset = consumer.endOffsets(List.of(place)).get(place);
            note("stable", "topic", place.topic(), "partition", place.partition(), "offset", offset);
        } catch (KafkaException trouble) {
            // asked again soon
        }
    }

    private final class Sessions implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            session++;
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
            session++;
        }
    }

    private void notePolls(ConsumerRecords<String, String> batch) {
        for (TopicPartition at : batch.partitions()) {
            List<String> read = batch.records(at).stream()
                    .map(each -> "[" + each.offset() + ",\"" + each.value() + "\"]")
                    .collect(Collectors.toList());
            note("poll", "session", name + ":" + session, "committed", committed,
                    "topic", at.topic(), "partition", at.partition(), "records", read);
        }
    }

    // --- the history ----------------------------------------------------------------------

    private void note(String event, Object... fields) {
        noteOf(transaction, event, fields);
    }

    private void noteOf(String of, String event, Object... fields) {
        StringBuilder line = new StringBuilder("{\"e\":\"" + event + "\",\"at\":" + System.nanoTime());
        line.append(",\"txn\":\"").append(of).append('"');
        for (int i = 0; i < fields.length; i += 2) {
            line.append(",\"").append(fields[i]).append("\":").append(json(fields[i + 1]));
        }
        try {
            history.write(line.append("}\n").toString().getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static String json(Object value) {
        if (value instanceof String) {
            String text = (String) value;
            return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", " ") + '"';
        }
        return String.valueOf(value);
    }

    /** The producer is of no use any more. */
    private static final class OfNoUse extends RuntimeException {
        private static final long serialVersionUID = 1L;

        OfNoUse(Object reason) {
            super(reason.toString());
        }
    }
}
