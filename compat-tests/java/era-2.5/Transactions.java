import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The transact and transform commands: a transactional producer, alone or with a group member. */
final class Transactions implements AutoCloseable {
    private final KafkaProducer<byte[], byte[]> producer;

    private Transactions(Contract.Options options, long timeoutMs) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", options.text("bootstrap"));
        settings.put("transactional.id", options.text("transactional-id"));
        settings.put("transaction.timeout.ms", (int) timeoutMs);
        producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
    }

    @Override
    public void close() {
        producer.close(Duration.ZERO);
    }

    static void transact(Contract.Options options, Contract.Control control) throws Exception {
        try (Transactions transactions = new Transactions(options, options.number("timeout-ms", 60_000))) {
            for (String line = control.next(); line != null && !line.equals("leave"); line = control.next()) {
                String command = ",\"command\":" + Contract.quoted(line);
                try {
                    transactions.apply(line.split(" "));
                } catch (Exception error) {
                    String message = Contract.quoted(String.valueOf(error));
                    Contract.emit("refused", command + ",\"message\":" + message);
                    continue;
                }
                Contract.emit("applied", command);
            }
        }
    }

    private void apply(String[] words) throws Exception {
        switch (words[0]) {
            case "init":
                producer.initTransactions();
                break;
            case "begin":
                producer.beginTransaction();
                break;
            case "send":
                sendSeries(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]), words[4]);
                break;
            case "commit":
                producer.commitTransaction();
                break;
            case "abort":
                producer.abortTransaction();
                break;
            default:
                throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    private void sendSeries(String topic, int partition, int count, String prefix) throws Exception {
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        for (int index = 0; index < count; index++) {
            answers.add(producer.send(Era.record(topic, partition, null, Contract.keyAt(prefix, index),
                    Contract.valueAt(prefix, index), Contract.headersAt(index))));
        }
        for (Future<RecordMetadata> answer : answers) answer.get(30, TimeUnit.SECONDS);
    }

    static void transform(Contract.Options options) throws Exception {
        Properties settings = Client.consumerSettings(options);
        settings.put("group.id", options.text("group"));
        settings.put("isolation.level", "read_committed");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", (int) options.number("batch", 7));
        try (Transactions transactions = new Transactions(options, 60_000);
                KafkaConsumer<byte[], byte[]> consumer = Client.consumer(settings)) {
            transactions.producer.initTransactions();
            consumer.subscribe(Collections.singletonList(options.text("topic")));
            transactions.transformAll(consumer, options);
        }
    }

    private void transformAll(KafkaConsumer<byte[], byte[]> consumer, Contract.Options options) {
        long deadline = System.currentTimeMillis() + options.number("timeout-ms", 30_000);
        boolean first = true;
        for (long left = options.number("count", 10); left > 0;) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException(left + " are left");
            List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
            for (ConsumerRecord<byte[], byte[]> record : Era.poll(consumer, 100)) records.add(record);
            if (records.isEmpty()) continue;
            Map<TopicPartition, OffsetAndMetadata> offsets = write(records, options.text("to"));
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            if (first) {
                producer.abortTransaction();
                Contract.emit("aborted", ",\"count\":" + records.size());
                goBack(consumer, records);
            } else {
                producer.commitTransaction();
                Member.report(offsets, null);
                left -= records.size();
            }
            first = false;
        }
    }

    private Map<TopicPartition, OffsetAndMetadata> write(
            List<ConsumerRecord<byte[], byte[]>> records, String target) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        producer.beginTransaction();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            producer.send(new ProducerRecord<>(
                    target, record.partition(), null, record.key(), record.value(), record.headers()));
            offsets.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
        }
        producer.flush(); // an abort drops what has not been sent
        return offsets;
    }

    private static void goBack(
            KafkaConsumer<byte[], byte[]> consumer, List<ConsumerRecord<byte[], byte[]>> records) {
        Collections.reverse(records);
        for (ConsumerRecord<byte[], byte[]> record : records) {
            consumer.seek(new TopicPartition(record.topic(), record.partition()), record.offset());
        }
    }
}
