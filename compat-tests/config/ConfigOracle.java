// Prints, as one JSON object per line, every setting Apache Kafka defines: broker, topic, group and
// client-metrics settings, with type, default, importance, validator, dynamic mode and synonyms.
// Runs against the jars of 3.9.1 and of 4.4.0 alike, so everything that moved is found by reflection.
//
//   java -cp '.oracles/jars-4.4.0/*' compat-tests/config/ConfigOracle.java

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;

public class ConfigOracle {
    public static void main(String[] arguments) throws Exception {
        ConfigDef broker = (ConfigDef) field("org.apache.kafka.server.config.AbstractKafkaConfig", "CONFIG_DEF");
        ConfigDef topic = (ConfigDef) call("org.apache.kafka.storage.internals.log.LogConfig", "configDefCopy");
        Map<?, ?> modes = updateModes();
        Map<?, ?> topicSynonyms =
            (Map<?, ?>) field("org.apache.kafka.server.config.ServerTopicConfigSynonyms", "ALL_TOPIC_CONFIG_SYNONYMS");
        for (ConfigDef.ConfigKey key : new TreeMap<>(broker.configKeys()).values()) {
            Map<String, Object> row = describe("broker", key);
            row.put("mode", modes.containsKey(key.name) ? modes.get(key.name) : "read-only");
            row.put("synonyms", brokerSynonyms(key.name));
            print(row);
        }
        for (ConfigDef.ConfigKey key : new TreeMap<>(topic.configKeys()).values()) {
            Map<String, Object> row = describe("topic", key);
            row.put("synonyms", topicSynonyms(topicSynonyms.get(key.name)));
            print(row);
        }
        for (Object name : modes.keySet()) {
            if (!broker.configKeys().containsKey(name)) {
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("kind", "dynamic-only");
                row.put("name", name);
                row.put("mode", modes.get(name));
                print(row);
            }
        }
        printAll("dynamic-broker", firstOf("kafka.server.DynamicConfig$Broker$", "org.apache.kafka.server.config.DynamicConfig$Broker"));
        printAll("group", firstOf("org.apache.kafka.coordinator.group.GroupConfig"));
        printAll("client-metrics", firstOf("kafka.server.DynamicConfig$ClientMetrics$", "org.apache.kafka.server.metrics.ClientMetricsConfigs"));
    }

    private static void printAll(String kind, ConfigDef definition) throws Exception {
        if (definition == null) return;
        for (ConfigDef.ConfigKey key : new TreeMap<>(definition.configKeys()).values()) print(describe(kind, key));
    }

    private static Map<String, Object> describe(String kind, ConfigDef.ConfigKey key) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("kind", kind);
        row.put("name", key.name);
        row.put("type", key.type.name());
        row.put("has_default", key.hasDefault());
        Object value = key.hasDefault() ? key.defaultValue : null;
        row.put("default", value == null ? null : ConfigDef.convertToString(value, key.type));
        row.put("importance", key.importance.name());
        row.put("valid", key.validator == null ? null : key.validator.toString());
        row.put("validator", key.validator == null ? null : key.validator.getClass().getName());
        row.put("internal", key.internalConfig);
        if (key.validator instanceof ConfigDef.ValidList) {
            row.put("empty_allowed", flag(key.validator, "isEmptyAllowed"));
            row.put("null_allowed", flag(key.validator, "isNullAllowed"));
        }
        return row;
    }

    // ValidList keeps these to itself, and only 4.x has them.
    private static Object flag(Object owner, String name) {
        try {
            Field field = owner.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(owner);
        } catch (ReflectiveOperationException absent) {
            return null;
        }
    }

    private static Map<?, ?> updateModes() throws Exception {
        try {
            return (Map<?, ?>) call("org.apache.kafka.server.config.DynamicBrokerConfig", "dynamicConfigUpdateModes");
        } catch (ClassNotFoundException elsewhere) {
            return (Map<?, ?>) call("kafka.server.DynamicBrokerConfig$", "dynamicConfigUpdateModes");
        }
    }

    private static List<Object> brokerSynonyms(String name) throws Exception {
        List<Object> names = new ArrayList<>();
        try {
            Class<?> type = Class.forName("org.apache.kafka.server.config.DynamicBrokerConfig");
            Method method = type.getMethod("brokerConfigSynonyms", String.class, boolean.class);
            names.addAll((List<?>) method.invoke(null, name, true));
        } catch (ClassNotFoundException elsewhere) {
            Class<?> type = Class.forName("kafka.server.DynamicBrokerConfig$");
            Object found = type.getMethod("brokerConfigSynonyms", String.class, boolean.class).invoke(module(type), name, true);
            for (scala.collection.Iterator<?> i = ((scala.collection.Iterable<?>) found).iterator(); i.hasNext();) names.add(i.next());
        }
        return names;
    }

    private static List<Object> topicSynonyms(Object synonyms) throws Exception {
        List<Object> pairs = new ArrayList<>();
        if (synonyms == null) return pairs;
        for (Object synonym : (List<?>) synonyms) {
            Object name = synonym.getClass().getMethod("name").invoke(synonym);
            @SuppressWarnings("unchecked")
            java.util.function.Function<String, String> converter =
                (java.util.function.Function<String, String>) synonym.getClass().getMethod("converter").invoke(synonym);
            pairs.add(List.of(name, converter.apply("2")));
        }
        return pairs;
    }

    private static ConfigDef firstOf(String... classNames) throws Exception {
        for (String className : classNames) {
            ConfigDef found = definition(className);
            if (found != null) return found;
        }
        System.err.println("no definition in " + String.join(", ", classNames));
        return null;
    }

    private static ConfigDef definition(String className) throws Exception {
        Class<?> type;
        try {
            type = Class.forName(className);
        } catch (ClassNotFoundException elsewhere) {
            return null;
        }
        for (Field field : type.getDeclaredFields()) {
            if (ConfigDef.class.isAssignableFrom(field.getType()) && java.lang.reflect.Modifier.isStatic(field.getModifiers())) {
                field.setAccessible(true);
                return (ConfigDef) field.get(null);
            }
        }
        for (String name : List.of("configDef", "brokerConfigs", "brokerConfigDef")) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == 0) {
                    method.setAccessible(true);
                    return (ConfigDef) method.invoke(module(type));
                }
            }
        }
        return null;
    }

    private static Object field(String className, String name) throws Exception {
        Field field = Class.forName(className).getDeclaredField(name);
        field.setAccessible(true);
        return field.get(null);
    }

    private static Object call(String className, String name) throws Exception {
        Class<?> type = Class.forName(className);
        Method method = type.getMethod(name);
        return method.invoke(module(type));
    }

    // The instance behind a Scala object; null for a Java class, whose methods are static.
    private static Object module(Class<?> type) throws Exception {
        return type.getName().endsWith("$") ? type.getField("MODULE$").get(null) : null;
    }

    private static void print(Map<String, Object> row) {
        StringBuilder line = new StringBuilder();
        append(line, row);
        System.out.println(line);
    }

    private static void append(StringBuilder out, Object value) {
        if (value == null || value instanceof Boolean) {
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(separator);
                append(out, entry.getKey());
                out.append(':');
                append(out, entry.getValue());
                separator = ",";
            }
            out.append('}');
        } else if (value instanceof List<?> list) {
            out.append('[');
            for (int i = 0; i < list.size(); i++) {
                if (i > 0) out.append(',');
                append(out, list.get(i));
            }
            out.append(']');
        } else {
            out.append('"');
            for (char c : value.toString().toCharArray()) {
                if (c == '"' || c == '\\') out.append('\\').append(c);
                else if (c < ' ') out.append(String.format("\\u%04x", (int) c));
                else out.append(c);
            }
            out.append('"');
        }
    }
}
