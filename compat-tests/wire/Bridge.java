// Apache Kafka's generated message classes behind a pipe, for any message and version.
//
// One request is a line of four fields between tabs, one answer a line:
//   encode <message> <version> <JSON>    ->  +<bytes in base64>
//   decode <message> <version> <base64>  ->  +<JSON>
// and "-<exception>: <text>" where Kafka refuses. The JSON is that of the generated
// JsonConverter classes with two additions, since those leave them out: `records` fields hold
// base64, and "_tags" beside a struct's fields lists its unknown tags as [tag, base64].

import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.types.RawTaggedField;

public class Bridge {
    static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.share.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.raft.generated.",
    };
    static final JsonMapper JSON = JsonMapper.builder()
        .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
        .disable(JsonWriteFeature.WRITE_NAN_AS_STRINGS)
        .build();
    static final Map<String, Codec> CODECS = new HashMap<>();
    static final Map<Class<?>, Extras> EXTRAS = new HashMap<>();
    static final Records RECORDS = new Records();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(
            new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        OutputStream out = new BufferedOutputStream(System.out, 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write((answer(line) + "\n").getBytes(StandardCharsets.UTF_8));
            if (!in.ready()) out.flush();
        }
        out.flush();
    }

    static String answer(String line) {
        try {
            String[] words = line.split("\t", 4);
            Codec codec = CODECS.computeIfAbsent(words[1], Bridge::find);
            short version = Short.parseShort(words[2]);
            return "+" + (words[0].equals("encode")
                ? Base64.getEncoder().encodeToString(encode(codec, version, words[3]))
                : decode(codec, version, Base64.getDecoder().decode(words[3])));
        } catch (InvocationTargetException refused) {
            return refusal(refused.getCause());
        } catch (Throwable refused) {
            return refusal(refused);
        }
    }

    static String refusal(Throwable refused) {
        return "-" + refused.toString().replaceAll("\\s+", " ");
    }

    static byte[] encode(Codec codec, short version, String text) throws Exception {
        JsonNode json = JSON.readTree(text);
        Message message = (Message) codec.fromJson.invoke(null, json, version);
        setExtras(message, json);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) throw new IllegalStateException("wrote less than its size");
        return buffer.array();
    }

    static String decode(Codec codec, short version, byte[] bytes) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        Message message =
            (Message) codec.fromBytes.newInstance(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining()) {
            throw new IllegalStateException(buffer.remaining() + " bytes are left");
        }
        JsonNode json = (JsonNode) codec.toJson.invoke(null, message, version);
        getExtras(message, json);
        return JSON.writeValueAsString(json);
    }

    // What the converters leave out: both walks follow the object and its JSON side by side.

    static void setExtras(Message message, JsonNode json) throws Exception {
        for (JsonNode tag : json.path("_tags")) {
            byte[] data = Base64.getDecoder().decode(tag.get(1).textValue());
            message.unknownTaggedFields().add(new RawTaggedField(tag.get(0).intValue(), data));
        }
        Extras extras = extrasOf(message);
        for (Field field : extras.records) {
            JsonNode value = json.path(field.getName());
            if (value.isTextual()) field.set(message, RECORDS.wrap(value.textValue()));
        }
        for (Field field : extras.nested) {
            Object value = field.get(message);
            JsonNode node = json.path(field.getName());
            if (value instanceof Message struct) setExtras(struct, node);
            if (value instanceof Collection<?> structs) {
                int at = 0;
                for (Object each : structs) {
                    if (each instanceof Message struct) setExtras(struct, node.path(at++));
                }
            }
        }
    }

    static void getExtras(Message message, JsonNode json) throws Exception {
        if (!(json instanceof ObjectNode object)) return;
        if (!message.unknownTaggedFields().isEmpty()) {
            ArrayNode tags = object.putArray("_tags");
            for (RawTaggedField tag : message.unknownTaggedFields()) {
                tags.addArray().add(tag.tag()).add(tag.data());
            }
        }
        Extras extras = extrasOf(message);
        for (Field field : extras.records) {
            Object value = field.get(message);
            object.remove(field.getName() + "SizeInBytes");
            if (value != null) object.put(field.getName(), RECORDS.bytes(value));
        }
        for (Field field : extras.nested) {
            Object value = field.get(message);
            JsonNode node = json.path(field.getName());
            if (value instanceof Message struct) getExtras(struct, node);
            if (value instanceof Collection<?> structs) {
                int at = 0;
                for (Object each : structs) {
                    if (each instanceof Message struct) getExtras(struct, node.path(at++));
                }
            }
        }
    }

    static Extras extrasOf(Message message) {
        return EXTRAS.computeIfAbsent(message.getClass(), Extras::new);
    }

    static Codec find(String name) {
        for (String home : PACKAGES) {
            for (String suffix : new String[] {"Data", ""}) {
                try {
                    return new Codec(home + name + suffix);
                } catch (ReflectiveOperationException elsewhere) {
                    continue;
                }
            }
        }
        throw new IllegalArgumentException("no class for the message " + name);
    }

    /** A message's generated class and its converters. */
    static final class Codec {
        final Constructor<?> fromBytes;
        final Method fromJson;
        final Method toJson;

        Codec(String name) throws ReflectiveOperationException {
            Class<?> data = Class.forName(name);
            Class<?> converter = Class.forName(name + "JsonConverter");
            fromBytes = data.getConstructor(Readable.class, short.class);
            fromJson = converter.getMethod("read", JsonNode.class, short.class);
            toJson = converter.getMethod("write", data, short.class);
        }
    }

    /** The fields of a generated class that hold records, structs or collections. */
    static final class Extras {
        final List<Field> records = new ArrayList<>();
        final List<Field> nested = new ArrayList<>();

        Extras(Class<?> type) {
            for (Field field : type.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) || field.getName().startsWith("_")) {
                    continue;
                }
                field.setAccessible(true);
                Class<?> kind = field.getType();
                if (kind.getSimpleName().equals("BaseRecords")) records.add(field);
                else if (Message.class.isAssignableFrom(kind)) nested.add(field);
                else if (Collection.class.isAssignableFrom(kind)) nested.add(field);
            }
        }
    }

    /** MemoryRecords, whose package is another one in each release. */
    static final class Records {
        final Method readable;
        final Method buffer;

        Records() {
            try {
                Class<?> type = home();
                readable = type.getMethod("readableRecords", ByteBuffer.class);
                buffer = type.getMethod("buffer");
            } catch (ReflectiveOperationException impossible) {
                throw new ExceptionInInitializerError(impossible);
            }
        }

        static Class<?> home() throws ClassNotFoundException {
            try {
                return Class.forName("org.apache.kafka.common.record.MemoryRecords");
            } catch (ClassNotFoundException moved) {
                return Class.forName("org.apache.kafka.common.record.internal.MemoryRecords");
            }
        }

        Object wrap(String base64) throws ReflectiveOperationException {
            return readable.invoke(null, ByteBuffer.wrap(Base64.getDecoder().decode(base64)));
        }

        byte[] bytes(Object records) throws ReflectiveOperationException {
            ByteBuffer content = ((ByteBuffer) buffer.invoke(records)).duplicate();
            byte[] copy = new byte[content.remaining()];
            content.get(copy);
            return copy;
        }
    }
}
