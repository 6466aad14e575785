import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** kafka-clients, from 0.10.2 to the newest, under the command contract (contract.md). */
public final class Client {
    private Client() {}

    public static void main(String[] arguments) throws InterruptedException {
        Contract.main(arguments, Client::run);
    }

    static void run(String command, Contract.Options options, Contract.Control control)
            throws Exception {
        switch (command) {
            case "produce":
                produce(options);
                break;
            case "consume":
                consume(options);
                break;
            case "drain":
                drain(options);
                break;
            case "group":
                new Member(options).run(control);
                break;
            default:
                throw new IllegalArgumentException("unknown command " + command);
        }
    }

    private static void produce(Contract.Options options) throws Exception {
        int count = (int) options.number("count", 10);
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                producerSettings(options), new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int index = 0; index < count; index++) answers.add(send(producer, options, index));
            for (int index = 0; index < count; index++) {
                RecordMetadata answer = answers.get(index).get(30, TimeUnit.SECONDS);
                Contract.emitAcked(index, answer.partition(), answer.offset());
            }
        }
    }

    private static Future<RecordMetadata> send(
            KafkaProducer<byte[], byte[]> producer, Contract.Options options, int index) {
        int partition = (int) options.number("partition", -1);
        long timestamp = options.number("timestamp", -1);
        String prefix = options.text("prefix", "p");
        return producer.send(Era.record(
                options.text("topic"),
                partition < 0 ? null : partition,
                timestamp < 0 ? null : timestamp + index,
                Contract.keyAt(prefix, index),
                Contract.valueAt(prefix, index),
                Contract.headersAt(index)));
    }

    private static Properties producerSettings(Contract.Options options) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.text("bootstrap"));
        settings.put("compression.type", options.text("codec", "none"));
        settings.put("acks", options.text("acks", "all"));
        settings.put("enable.idempotence", options.text("idempotent", "0").equals("1"));
        settings.put("linger.ms", 5);
        return settings;
    }

    private static void consume(Contract.Options options) {
        TopicPartition partition =
                new TopicPartition(options.text("topic"), (int) options.number("partition", 0));
        Properties settings = consumerSettings(options);
        String isolation = options.text("isolation", "");
        if (!isolation.isEmpty()) settings.put("isolation.level", isolation);
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(settings)) {
            consumer.assign(Collections.singletonList(partition));
            if (options.text("from", "earliest").equals("earliest")) {
                consumer.seekToBeginning(Collections.singletonList(partition));
            } else {
                consumer.seek(partition, options.number("from", 0));
            }
            read(consumer, options.number("count", 10), options.number("timeout-ms", 10_000));
        }
    }

    private static void read(KafkaConsumer<byte[], byte[]> consumer, long count, long timeoutMs) {
        long left = count;
        long deadline = System.currentTimeMillis() + timeoutMs;
        while (left > 0 && System.currentTimeMillis() < deadline) {
            for (ConsumerRecord<byte[], byte[]> record : Era.poll(consumer, 50)) {
                if (left-- > 0) emit(record);
            }
        }
    }

    private static void drain(Contract.Options options) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (int number = 0; number < options.number("partitions", 1); number++) {
            partitions.add(new TopicPartition(options.text("topic"), number));
        }
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.text("bootstrap"));
        settings.put("enable.auto.commit", false); // there is no group
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(settings)) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long left = options.number("count", 10);
            long deadline = System.currentTimeMillis() + options.number("timeout-ms", 30_000);
            while (left > 0 && System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<byte[], byte[]> record : Era.poll(consumer, 50)) {
                    Contract.emitDrained(record.partition(), record.offset(), record.value().length);
                    left--;
                }
            }
        }
    }

    static void emit(ConsumerRecord<byte[], byte[]> record) {
        Contract.emitRecord(record.topic(), record.partition(), record.offset(), record.timestamp(),
                record.key(), record.value(), Era.headers(record));
    }

    static KafkaConsumer<byte[], byte[]> consumer(Properties settings) {
        return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    static Properties consumerSettings(Contract.Options options) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.text("bootstrap"));
        settings.put("enable.auto.commit", false);
        settings.put("fetch.max.wait.ms", 100);
        return settings;
    }
}
