import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** kafka-clients 0.10.1 and 0.10.2: no headers, poll without a Duration. */
final class Era {
    private Era() {}

    static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long ms) {
        return consumer.poll(ms);
    }

    static ProducerRecord<byte[], byte[]> record(
            String topic, Integer partition, Long timestamp, byte[] key, byte[] value,
            List<Map.Entry<String, byte[]>> headers) {
        return new ProducerRecord<>(topic, partition, timestamp, key, value);
    }

    static List<Map.Entry<String, byte[]>> headers(ConsumerRecord<byte[], byte[]> record) {
        return Collections.emptyList();
    }
}
