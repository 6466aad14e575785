import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** What run.py is, with Apache Kafka's own clients: a part for each "--" of the arguments. */
public final class Load {
    private static final int DELIVERY_MS = 30_000;
    private static final int REQUEST_MS = 5_000;
    private static final int MOST_UNDER_WAY = 500;
    private static final int OF_NO_USE = 3;
    private static final CountDownLatch OVER = new CountDownLatch(1);

    private final Map<String, String> given;
    private final String name;
    private final FileOutputStream history;

    private Load(Map<String, String> given) throws IOException {
        this.given = given;
        name = given.get("name");
        history = new FileOutputStream(given.get("history"), true);
    }

    public static void main(String[] arguments) throws Exception {
        List<Thread> parts = new ArrayList<>();
        Map<String, String> given = new HashMap<>();
        for (String each : arguments) {
            if (each.equals("--")) {
                parts.add(start(new Load(given)));
                given = new HashMap<>();
            } else {
                int equals = each.indexOf('=');
                given.put(each.substring(0, equals), each.substring(equals + 1));
            }
        }
        try {
            while (System.in.read() >= 0) {}
        } catch (IOException closed) {
            // as good as its end
        }
        OVER.countDown();
        for (Thread part : parts) part.join();
        Runtime.getRuntime().halt(0);
    }

    private static Thread start(Load part) {
        Thread thread = new Thread(() -> {
            try {
                if (part.given.get("role").equals("producer")) part.produce();
                else part.consume();
            } catch (Throwable trouble) {
                trouble.printStackTrace();
                Runtime.getRuntime().halt(trouble instanceof KafkaException ? OF_NO_USE : 1);
            }
        });
        thread.start();
        return thread;
    }

    private static boolean isOver() {
        return OVER.getCount() == 0;
    }

    // --- producing ------------------------------------------------------------------------

    private void produce() throws InterruptedException {
        boolean idempotent = given.get("kind").equals("idempotent");
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given.get("bootstrap"));
        settings.put("acks", "all");
        settings.put("enable.idempotence", idempotent);
        settings.put("max.in.flight.requests.per.connection", idempotent ? 5 : 1);
        settings.put("delivery.timeout.ms", DELIVERY_MS);
        settings.put("request.timeout.ms", REQUEST_MS);
        settings.put("max.block.ms", DELIVERY_MS);
        settings.put("reconnect.backoff.max.ms", 500);
        settings.put("linger.ms", 5);
        settings.put("key.serializer", StringSerializer.class.getName());
        settings.put("value.serializer", StringSerializer.class.getName());
        note("producer", "p", name, "kind", given.get("kind"), "t", given.get("topic"));
        KafkaProducer<String, String> producer = new KafkaProducer<>(settings);
        Random chance = new Random(given.get("seed").hashCode());
        int partitions = Integer.parseInt(given.get("partitions"));
        double rate = Double.parseDouble(given.get("rate"));
        AtomicInteger underWay = new AtomicInteger();
        long beganAt = System.nanoTime();
        int count = 0;
        while (!isOver()) {
            while (count < (System.nanoTime() - beganAt) / 1e9 * rate
                    && underWay.get() < MOST_UNDER_WAY) {
                send(producer, ++count, chance.nextInt(partitions), underWay);
            }
            if (underWay.get() >= MOST_UNDER_WAY) {
                beganAt = System.nanoTime() - (long) (count / rate * 1e9);
            }
            OVER.await(20, TimeUnit.MILLISECONDS);
        }
        producer.close(Duration.ofMillis(DELIVERY_MS + 5_000));
        note("sent", "p", name, "count", count);
    }

    private void send(
            KafkaProducer<String, String> producer, int number, int partition, AtomicInteger underWay) {
        underWay.incrementAndGet();
        producer.send(
                new ProducerRecord<>(given.get("topic"), partition, null, name + "/" + number),
                (metadata, error) -> {
                    underWay.decrementAndGet();
                    if (error == null) {
                        note("acked", "p", name, "n", number, "q", partition, "o", metadata.offset());
                    } else {
                        note("failed", "p", name, "n", number, "error", error.toString());
                    }
                });
    }

    // --- consuming ------------------------------------------------------------------------

    private void consume() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given.get("bootstrap"));
        settings.put("group.id", given.get("group"));
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("session.timeout.ms", 6_000);
        settings.put("heartbeat.interval.ms", 1_000);
        settings.put("request.timeout.ms", REQUEST_MS);
        settings.put("default.api.timeout.ms", REQUEST_MS);
        settings.put("fetch.max.wait.ms", 100);
        settings.put("max.poll.records", 200);
        settings.put("reconnect.backoff.max.ms", 500);
        settings.put(
                "partition.assignment.strategy",
                "org.apache.kafka.clients.consumer.RangeAssignor");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
        consumer.subscribe(List.of(given.get("topic").split(",")), new Listener(consumer));
        while (!isOver()) {
            try {
                pollAndCommit(consumer);
            } catch (KafkaException trouble) {
                note("trouble", "c", name, "error", trouble.toString());
            }
        }
        try {
            consumer.close(Duration.ofSeconds(3));
        } catch (KafkaException trouble) {
            note("trouble", "c", name, "error", trouble.toString());
        }
    }

    private void pollAndCommit(KafkaConsumer<String, String> consumer) {
        ConsumerRecords<String, String> polled = consumer.poll(Duration.ofMillis(200));
        if (polled.isEmpty()) return;
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition at : polled.partitions()) {
            List<String> read = new ArrayList<>();
            long last = -1;
            for (ConsumerRecord<String, String> each : polled.records(at)) {
                read.add("[" + each.offset() + ",\"" + each.value() + "\"]");
                last = each.offset();
            }
            note("poll", "c", name, "g", given.get("group"), "t", at.topic(), "q", at.partition(),
                    "r", read);
            offsets.put(at, new OffsetAndMetadata(last + 1));
        }
        consumer.commitSync(offsets);
        offsets.forEach((at, to) -> note("committed", "c", name, "g", given.get("group"),
                "t", at.topic(), "q", at.partition(), "o", to.offset()));
    }

    private final class Listener implements ConsumerRebalanceListener {
        private final KafkaConsumer<String, String> consumer;

        Listener(KafkaConsumer<String, String> consumer) {
            this.consumer = consumer;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            long asked = System.nanoTime();
            try {
                consumer.committed(new HashSet<>(assigned)).forEach((at, to) -> note("resumed",
                        "c", name, "g", given.get("group"), "t", at.topic(), "q", at.partition(),
                        "o", to == null ? 0 : to.offset(), "asked", asked));
            } catch (KafkaException trouble) {
                note("trouble", "c", name, "error", trouble.toString());
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> revoked) {}
    }

    // --- the history ----------------------------------------------------------------------

    private void note(String event, Object... fields) {
        StringBuilder line = new StringBuilder("{\"e\":\"" + event + "\",\"at\":" + System.nanoTime());
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
}
