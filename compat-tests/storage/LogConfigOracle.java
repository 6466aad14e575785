import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Prints every topic setting Kafka knows (name, type, default, limits), then answers each line
 * "name TAB value" of the standard input with "ok TAB parsed" or "error TAB message".
 */
public class LogConfigOracle {
    public static void main(String[] arguments) throws Exception {
        ConfigDef definition = definition();
        for (ConfigDef.ConfigKey key : definition.configKeys().values()) {
            if (!key.internalConfig) {
                System.out.println(String.join("\t", "setting", key.name, key.type.name(),
                    String.valueOf(key.defaultValue), String.valueOf(key.validator)));
            }
        }
        BufferedReader probes = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = probes.readLine()) != null; ) {
            System.out.println(answer(definition, line.split("\t", -1)));
        }
    }

    static ConfigDef definition() throws Exception {
        for (String name : new String[] {"configDefCopy", "configDef"}) {
            try {
                return (ConfigDef) LogConfig.class.getMethod(name).invoke(null);
            } catch (NoSuchMethodException absent) {
                continue;
            }
        }
        throw new IllegalStateException("this LogConfig has no definition to copy");
    }

    static String answer(ConfigDef definition, String[] probe) {
        try {
            return "ok\t" + definition.parse(Map.of(probe[0], probe[1])).get(probe[0]);
        } catch (RuntimeException refusal) {
            return "error\t" + refusal.getMessage();
        }
    }
}
