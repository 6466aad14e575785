package orders;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Barnabas.Extension.class)
@Timeout(60)
class OrdersTest {
    private static void place(Barnabas broker, String... orders) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", broker.bootstrapServers());
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (String order : orders) {
                producer.send(new ProducerRecord<>("orders", order)).get();
            }
        }
    }

    private static KafkaConsumer<String, String> consumer(Barnabas broker) {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", broker.bootstrapServers(), "group.id", "orders",
                "auto.offset.reset", "earliest", "enable.auto.commit", "false");
        var made = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        made.subscribe(List.of("orders"));
        return made;
    }

    private static List<String> read(KafkaConsumer<String, String> consumer, int count) {
        var found = new ArrayList<String>();
        while (found.size() < count) {
            consumer.poll(Duration.ofMillis(200)).forEach(record -> found.add(record.value()));
        }
        return found;
    }

    @Test
    void aCommitThatIsRefusedIsMadeAgain(Barnabas broker) throws Exception {
        broker.createTopic("orders", 1);
        place(broker, "a", "b");
        var fault = broker.addFault(
                Map.of("action", "error", "api", "OFFSET_COMMIT", "error", "REQUEST_TIMED_OUT"));
        try (var consumer = consumer(broker)) {
            assertEquals(List.of("a", "b"), read(consumer, 2));
            consumer.commitSync();
            var committed = consumer.committed(consumer.assignment()).values();
            assertTrue(committed.stream().allMatch(each -> each.offset() == 2));
        }
        assertEquals(1, fault.hits());
    }

    @Test
    void aMemberWhoseSessionHasPassedReadsOn(Barnabas broker) throws Exception {
        broker.createTopic("orders", 1);
        place(broker, "before");
        try (var consumer = consumer(broker)) {
            assertEquals(List.of("before"), read(consumer, 1));
            consumer.commitSync();
            broker.advance("1 hour");
            place(broker, "after");
            assertEquals(List.of("after"), read(consumer, 1));
        }
    }

    @Test
    void aBrokerThatCrashedComesBackWithWhatItHad(Barnabas broker) throws Exception {
        broker.createTopic("orders", 1);
        place(broker, "kept");
        broker.kill();
        broker.start();
        try (var consumer = consumer(broker)) {
            assertEquals(List.of("kept"), read(consumer, 1));
        }
    }

    @Test
    void nothingOfAnotherTestIsThere(Barnabas broker) {
        assertEquals("{\"topics\": []}", broker.ask("GET", "/topics", null).strip());
    }

    @Test
    void aCommandThatMakesNoSenseIsRefused(Barnabas broker) {
        var wrong = assertThrows(IllegalArgumentException.class,
                () -> broker.addFault(Map.of("action", "error", "api", "OFFSET_COMIT")));
        assertTrue(wrong.getMessage().contains("not the name of an API, as OFFSET_COMMIT"));
    }
}
