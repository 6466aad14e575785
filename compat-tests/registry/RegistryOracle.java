import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import kafka.controller.ReplicaAssignment;
import kafka.zk.ConfigEntityZNode;
import kafka.zk.TopicZNode;
import org.apache.kafka.admin.AdminUtils;
import org.apache.kafka.admin.BrokerMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Sanitizer;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Answers one line for each line, from Kafka's own classes. Fields are separated by tabs.
 *
 * <p>assign PARTITIONS FACTOR START FIRST ID=RACK... (no rack: "ID="): the replicas, or "error".
 * topic ID PARTITION...: a topic's znode, every partition on broker 1.
 * config KEY VALUE...: a config's znode. sanitize NAME: the name in a path.
 */
public class RegistryOracle {
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] fields = line.split("\t", -1);
            String[] rest = Arrays.copyOfRange(fields, 1, fields.length);
            out.println(switch (fields[0]) {
                case "assign" -> assign(rest);
                case "topic" -> topic(rest);
                case "config" -> config(rest);
                default -> Sanitizer.sanitize(rest[0]);
            });
        }
    }

    private static String assign(String[] fields) {
        List<BrokerMetadata> brokers = new ArrayList<>();
        for (String broker : Arrays.copyOfRange(fields, 4, fields.length)) {
            String[] parts = broker.split("=", -1);
            Optional<String> rack = parts[1].isEmpty() ? Optional.empty() : Optional.of(parts[1]);
            brokers.add(new BrokerMetadata(Integer.parseInt(parts[0]), rack));
        }
        int[] numbers = Arrays.stream(fields).limit(4).mapToInt(Integer::parseInt).toArray();
        try {
            return new TreeMap<>(AdminUtils.assignReplicasToBrokers(
                brokers, numbers[0], numbers[1], numbers[2], numbers[3])).toString();
        } catch (RuntimeException refused) {
            return "error";
        }
    }

    private static String topic(String[] fields) {
        Map<TopicPartition, ReplicaAssignment> partitions = new LinkedHashMap<>();
        for (String partition : Arrays.copyOfRange(fields, 1, fields.length)) {
            List<Object> replicas = List.of(1);
            partitions.put(new TopicPartition("t", Integer.parseInt(partition)),
                ReplicaAssignment.apply(CollectionConverters.asScala(replicas).toSeq()));
        }
        Option<Uuid> id = Option.apply(Uuid.fromString(fields[0]));
        byte[] body = TopicZNode.encode(id, CollectionConverters.asScala(partitions));
        return new String(body, StandardCharsets.UTF_8);
    }

    private static String config(String[] fields) {
        Properties config = new Properties();
        for (int i = 0; i < fields.length; i += 2) {
            config.setProperty(fields[i], fields[i + 1]);
        }
        return new String(ConfigEntityZNode.encode(config), StandardCharsets.UTF_8);
    }
}
