import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** The Java programs' half of contract.md: options, records, events, the command loop. */
final class Contract {
    private static final PrintStream OUT = System.out;

    private Contract() {}

    /** What a program implements. */
    interface Program {
        void run(String command, Options options, Control control) throws Exception;
    }

    /** The options of one command. */
    static final class Options {
        private final Map<String, String> values = new HashMap<>();

        Options(List<String> words) {
            for (int i = 0; i < words.size(); i += 2) {
                values.put(words.get(i).substring(2), words.get(i + 1));
            }
        }

        String text(String name, String otherwise) {
            return values.getOrDefault(name, otherwise);
        }

        String text(String name) {
            if (!values.containsKey(name)) throw new IllegalArgumentException("--" + name + " is missing");
            return values.get(name);
        }

        long number(String name, long otherwise) {
            return values.containsKey(name) ? Long.parseLong(values.get(name)) : otherwise;
        }
    }

    /** Lines of stdin and SIGTERM as one queue; an empty line is the end of either. */
    static final class Control {
        private static final String END = "";
        private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
        private boolean ended;

        void start(boolean endOfInputLeaves) {
            Thread reader = new Thread(() -> read(endOfInputLeaves), "stdin");
            reader.setDaemon(true);
            reader.start();
            Thread main = Thread.currentThread();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> endOf(main)));
        }

        private void endOf(Thread main) {
            lines.add(END);
            try {
                main.join(10_000);
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }

        private void read(boolean endOfInputLeaves) {
            try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) lines.add(line.trim());
            } catch (IOException closed) {
                System.err.println(closed);
            }
            if (endOfInputLeaves) lines.add(END);
        }

        /** The next line, or null at the end. */
        String next() throws InterruptedException {
            if (ended) return null;
            String line = lines.take();
            ended = line.equals(END);
            return ended ? null : line;
        }

        /** Lines that have arrived; the end is told as "leave". */
        List<String> pending() throws InterruptedException {
            List<String> arrived = new ArrayList<>();
            while (!lines.isEmpty()) {
                String line = next();
                arrived.add(line == null ? "leave" : line);
            }
            return arrived;
        }
    }

    /** Runs what the command line asks for. */
    static void main(String[] arguments, Program program) throws InterruptedException {
        boolean batch = arguments[0].equals("batch");
        Control control = new Control();
        control.start(batch);
        if (!batch) {
            run(Arrays.asList(arguments), program, control);
            return;
        }
        for (String line = control.next(); line != null; line = control.next()) {
            run(Arrays.asList(line.split("\\s+")), program, control);
        }
    }

    private static void run(List<String> words, Program program, Control control) {
        try {
            program.run(words.get(0), new Options(words.subList(1, words.size())), control);
            emit("done", "");
        } catch (Throwable error) {
            error.printStackTrace();
            emit("error", ",\"message\":" + quoted(String.valueOf(error)));
        }
    }

    static byte[] keyAt(String prefix, int index) {
        return index % 5 == 4 ? null : (prefix + "-key-" + index).getBytes(StandardCharsets.UTF_8);
    }

    static byte[] valueAt(String prefix, int index) {
        if (index % 10 == 6) return null;
        byte[] text = (prefix + "-value-" + index + "-").getBytes(StandardCharsets.UTF_8);
        byte[] value = Arrays.copyOf(text, text.length + 3 + index * 37 % 500);
        value[text.length] = (byte) index;
        value[text.length + 1] = (byte) 255;
        Arrays.fill(value, text.length + 3, value.length, (byte) 'x');
        return value;
    }

    static List<Map.Entry<String, byte[]>> headersAt(int index) {
        List<Map.Entry<String, byte[]>> headers = new ArrayList<>();
        if (index % 2 == 1) return headers;
        headers.add(header("index", Integer.toString(index).getBytes(StandardCharsets.UTF_8)));
        headers.add(header("index", "again".getBytes(StandardCharsets.UTF_8)));
        headers.add(header("binary", new byte[] {0, (byte) 255, (byte) index}));
        return headers;
    }

    static Map.Entry<String, byte[]> header(String name, byte[] value) {
        return new AbstractMap.SimpleEntry<>(name, value);
    }

    /** Prints an event; the fields are JSON, each with a comma before it. */
    static void emit(String event, String fields) {
        synchronized (OUT) {
            OUT.println("{\"event\":\"" + event + "\"" + fields + "}");
            OUT.flush();
        }
    }

    static void emitAcked(int index, int partition, long offset) {
        emit("acked", ",\"index\":" + index + ",\"partition\":" + partition + ",\"offset\":" + offset);
    }

    static void emitDrained(int partition, long offset, int size) {
        emit("drained", ",\"partition\":" + partition + ",\"offset\":" + offset + ",\"size\":" + size);
    }

    static void emitRecord(
            String topic, int partition, long offset, long timestamp, byte[] key, byte[] value,
            List<Map.Entry<String, byte[]>> headers) {
        List<String> pairs = new ArrayList<>();
        for (Map.Entry<String, byte[]> header : headers) {
            pairs.add("[" + quoted(header.getKey()) + "," + base64(header.getValue()) + "]");
        }
        emit("record", ",\"topic\":" + quoted(topic) + ",\"partition\":" + partition
                + ",\"offset\":" + offset + ",\"timestamp\":" + timestamp
                + ",\"key\":" + base64(key) + ",\"value\":" + base64(value)
                + ",\"headers\":[" + String.join(",", pairs) + "]");
    }

    private static String base64(byte[] bytes) {
        return bytes == null ? "null" : "\"" + Base64.getEncoder().encodeToString(bytes) + "\"";
    }

    static String quoted(String text) {
        String escaped = text.replace("\\", "\\\\").replace("\"", "\\\"");
        return "\"" + escaped.replaceAll("\\p{Cntrl}", " ") + "\"";
    }
}
