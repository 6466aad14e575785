// Kafka's own tables, printed for a test to compare, one line each:
//   error <code> <name> <true|false: retriable>
//   header <api key> <version> <request header's version> <response header's version>

import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;

public class Tables {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            boolean retriable = error.exception() instanceof RetriableException;
            System.out.println("error " + error.code() + " " + error + " " + retriable);
        }
        for (ApiKeys api : ApiKeys.values()) {
            int oldest = api.messageType.lowestSupportedVersion();
            int newest = api.messageType.highestSupportedVersion(true);
            for (int version = oldest; version <= newest; version++) {
                System.out.println("header " + api.id + " " + version
                    + " " + api.requestHeaderVersion((short) version)
                    + " " + api.responseHeaderVersion((short) version));
            }
        }
    }
}
