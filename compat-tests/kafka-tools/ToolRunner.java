import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/**
 * Runs Apache Kafka's command line tools by main class, many in one JVM.
 *
 * <p>A line of stdin is base64 words: the tool's input, its main class, its arguments. The answer
 * is a line of three words: the exit code, and in base64 what it printed and what it printed to
 * stderr. Kafka's own Exit class lets a program replace exiting by an exception.
 */
public final class ToolRunner {
    private static final String[] EXIT_CLASSES = {
        "org.apache.kafka.common.utils.Exit", "org.apache.kafka.common.utils.internals.Exit"
    };

    private static final Sink OUT = new Sink();
    private static final Sink ERR = new Sink();
    private static Integer exitCode;
    private static List<Runnable> hooks = new ArrayList<>();

    private ToolRunner() {}

    /** Scala keeps the first System.out it sees: so that stays, and what is behind it changes. */
    private static final class Sink extends OutputStream {
        private ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int octet) {
            bytes.write(octet);
        }

        @Override
        public synchronized void write(byte[] data, int from, int count) {
            bytes.write(data, from, count);
        }

        synchronized byte[] take() {
            byte[] taken = bytes.toByteArray();
            bytes = new ByteArrayOutputStream();
            return taken;
        }
    }

    private static final class Exited extends RuntimeException {
        Exited() {
            super("exit", null, false, false);
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        System.setOut(new PrintStream(OUT, true));
        System.setErr(new PrintStream(ERR, true));
        replaceExit();
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            int code = runWithHooks(Arrays.stream(line.split(" ", -1)).map(ToolRunner::decoded).toArray(String[]::new));
            answers.println(code + " " + encoded(OUT.take()) + " " + encoded(ERR.take()));
        }
        Runtime.getRuntime().halt(0);
    }

    private static void replaceExit() throws ReflectiveOperationException {
        Class<?> exit = exitClass();
        for (String method : new String[] {"setExitProcedure", "setHaltProcedure"}) {
            Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
            exit.getMethod(method, procedure).invoke(null, proxy(procedure, ToolRunner::exit));
        }
        Class<?> adder = Class.forName(exit.getName() + "$ShutdownHookAdder");
        exit.getMethod("setShutdownHookAdder", adder).invoke(null, proxy(adder, ToolRunner::keepHook));
    }

    private static Class<?> exitClass() throws ClassNotFoundException {
        for (String name : EXIT_CLASSES) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException elsewhere) {
                continue;
            }
        }
        throw new ClassNotFoundException(String.join(", ", EXIT_CLASSES));
    }

    private static Object proxy(Class<?> type, InvocationHandler handler) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
    }

    /** Keeps the first code: tools with a wide catch clause exit a second time. */
    private static Object exit(Object self, Method method, Object[] words) {
        if (exitCode == null) exitCode = (Integer) words[0];
        throw new Exited();
    }

    private static Object keepHook(Object self, Method method, Object[] words) {
        hooks.add((Runnable) words[1]);
        return null;
    }

    private static int runWithHooks(String[] words) throws IOException {
        hooks = new ArrayList<>();
        int code = run(words);
        hooks.forEach(Runnable::run);
        return code;
    }

    private static int run(String[] words) throws IOException {
        exitCode = null;
        System.setIn(new ByteArrayInputStream(words[0].getBytes(StandardCharsets.UTF_8)));
        try {
            Class<?> tool = Class.forName(words[1]);
            String[] arguments = Arrays.copyOfRange(words, 2, words.length);
            tool.getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException thrown) {
            if (exitCode == null) {
                thrown.getCause().printStackTrace();
                return 1;
            }
        } catch (ReflectiveOperationException missing) {
            missing.printStackTrace();
            return 127;
        }
        return exitCode == null ? 0 : exitCode;
    }

    private static String decoded(String word) {
        return new String(Base64.getDecoder().decode(word), StandardCharsets.UTF_8);
    }

    private static String encoded(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }
}
