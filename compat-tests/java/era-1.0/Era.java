import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** What kafka-clients 0.11 to 1.1: headers, but poll without a Duration. */
final class Era {
    private Era() {}

    static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer, long ms) {
        return consumer.poll(ms);
    }

    static ProducerRecord<byte[], byte[]> record(
            String topic, Integer partition, Long timestamp, byte[] key, byte[] value,
            List<Map.Entry<String, byte[]>> headers) {
        RecordHeaders list = new RecordHeaders();
        headers.forEach(header -> list.add(header.getKey(), header.getValue()));
        return new ProducerRecord<>(topic, partition, timestamp, key, value, list);
    }

    static List<Map.Entry<String, byte[]>> headers(ConsumerRecord<byte[], byte[]> record) {
        List<Map.Entry<String, byte[]>> list = new ArrayList<>();
        for (Header header : record.headers()) list.add(Contract.header(header.key(), header.value()));
        return list;
    }
}
