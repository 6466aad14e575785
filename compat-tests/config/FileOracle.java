// Reads properties files as Java does and judges each as Apache Kafka's broker would.
// Prints two lines of JSON per file: its properties (or null where Java refuses the file), and the
// message of Kafka's refusal (or null where a broker would start with it).
//
//   java -cp '.oracles/jars-3.9.1/*' compat-tests/config/FileOracle.java file...

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import kafka.server.KafkaConfig;

public class FileOracle {
    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        json.getFactory().enable(JsonGenerator.Feature.ESCAPE_NON_ASCII);
        for (String file : files) {
            Properties properties = load(file);
            System.out.println(json.writeValueAsString(properties == null ? null : sorted(properties)));
            System.out.println(json.writeValueAsString(properties == null ? "malformed" : refusal(properties)));
        }
    }

    private static Properties load(String file) throws IOException {
        Properties properties = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            properties.load(in);
        } catch (IllegalArgumentException malformed) {
            return null;
        }
        return properties;
    }

    private static Map<String, String> sorted(Properties properties) {
        Map<String, String> map = new TreeMap<>();
        for (String name : properties.stringPropertyNames()) map.put(name, properties.getProperty(name));
        return map;
    }

    private static String refusal(Properties properties) {
        try {
            KafkaConfig.fromProps(properties, false);
            return null;
        } catch (RuntimeException refused) {
            return String.valueOf(refused.getMessage());
        }
    }
}
