package orders;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A Kafka broker for JUnit 5 tests: one for the whole run, emptied after each test.
 *
 * <pre>
 * &#64;ExtendWith(Barnabas.Extension.class)
 * class OrdersTest {
 *     &#64;Test void orders(Barnabas broker) {
 *         properties.put("bootstrap.servers", broker.bootstrapServers());
 * </pre>
 *
 * Needs `barnabas` on the path (pip install barnabas), or its place in the environment variable
 * BARNABAS. Copy this file into your project; it has no dependency but JUnit. The broker ends with
 * the JVM, however that ends: its standard input does.
 */
public final class Barnabas implements CloseableResource {
    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private final Process process;
    private final String bootstrapServers;
    private final String control;

    /** Starts a broker; settings are Kafka's. */
    public Barnabas(Map<String, String> settings) throws IOException {
        var command = new java.util.ArrayList<String>();
        command.add(System.getenv().getOrDefault("BARNABAS", "barnabas"));
        command.add("start");
        command.add("--test");
        settings.forEach((name, value) -> {
            command.add("--set");
            command.add(name + "=" + value);
        });
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        var lines = new BufferedReader(new InputStreamReader(process.getInputStream()));
        bootstrapServers = words(lines.readLine(), "listening on ");
        control = words(lines.readLine(), "control on ");
    }

    private static String words(String line, String beginning) throws IOException {
        if (line == null || !line.startsWith(beginning)) {
            throw new IOException("barnabas did not start: " + line);
        }
        return line.substring(beginning.length()).split(" ")[0];
    }

    /** What clients call bootstrap.servers. */
    public String bootstrapServers() {
        return bootstrapServers;
    }

    /** Creates a topic, and returns when it has leaders. */
    public void createTopic(String name, int partitions) {
        ask("POST", "/topics", Map.of("name", name, "partitions", partitions));
    }

    /** Deletes all topics and groups, and takes all faults back. */
    public void clear() {
        ask("POST", "/clear", Map.of());
    }

    /** Lets time pass at once: "7 days", "90 s". */
    public void advance(String duration) {
        ask("POST", "/clock/advance", Map.of("duration", duration));
    }

    /** Stops the broker as a crash would. */
    public void kill() {
        ask("POST", "/broker/kill", Map.of());
    }

    /** Brings the broker back, on the same port with the same data. */
    public void start() {
        ask("POST", "/broker/start", Map.of());
    }

    /** Lets something go wrong: action, api, topic, partition, client_id, skip, times, error, ... */
    public Fault addFault(Map<String, ?> fault) {
        return new Fault(number(ask("POST", "/faults", fault), "id"));
    }

    /** A fault in force, or taken back. */
    public final class Fault {
        private final long id;

        private Fault(long id) {
            this.id = id;
        }

        /** How many requests it happened to. */
        public long hits() {
            return number(ask("GET", "/faults/" + id, null), "hits");
        }

        /** Takes it back. */
        public void remove() {
            ask("DELETE", "/faults/" + id, null);
        }
    }

    /**
     * Gives a command of the control, without /control in the path; the answer is JSON. A command
     * that makes no sense is refused with an IllegalArgumentException of one sentence.
     */
    public String ask(String method, String path, Map<String, ?> fields) {
        var body = fields == null ? BodyPublishers.noBody() : BodyPublishers.ofString(json(fields));
        var request = HttpRequest.newBuilder(URI.create(control + "/control" + path))
                .header("Content-Type", "application/json").method(method, body).build();
        try {
            var answer = HTTP.send(request, BodyHandlers.ofString());
            if (answer.statusCode() >= 400) {
                throw new IllegalArgumentException(answer.body());
            }
            return answer.body();
        } catch (IOException error) {
            throw new IllegalStateException("the broker does not answer", error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(error);
        }
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(each -> json(each.getKey()) + ":" + json(each.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof Number || value instanceof Boolean || value == null) {
            return String.valueOf(value);
        }
        return '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    private static long number(String json, String name) {
        Matcher found = Pattern.compile('"' + name + "\": (\\d+)").matcher(json);
        if (!found.find()) {
            throw new IllegalStateException(json);
        }
        return Long.parseLong(found.group(1));
    }

    /** Ends the broker; its temporary folder goes along. One that hangs is killed. */
    @Override
    public void close() throws IOException, InterruptedException {
        process.getOutputStream().close();
        if (!process.waitFor(10, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
        }
    }

    /** Gives tests a {@link Barnabas}, and empties it after each of them. */
    public static final class Extension implements ParameterResolver, AfterEachCallback {
        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == Barnabas.class;
        }

        @Override
        public Barnabas resolveParameter(ParameterContext parameter, ExtensionContext context) {
            return brokerOf(context);
        }

        @Override
        public void afterEach(ExtensionContext context) {
            brokerOf(context).start(); // a test may have killed it
            brokerOf(context).clear();
        }

        private static Barnabas brokerOf(ExtensionContext context) {
            var store = context.getRoot().getStore(Namespace.create(Barnabas.class));
            return store.getOrComputeIfAbsent(Barnabas.class, key -> {
                try {
                    return new Barnabas(Map.of());
                } catch (IOException error) {
                    throw new IllegalStateException(error);
                }
            }, Barnabas.class);
        }
    }
}
