// Asks Apache Kafka's own ConfigHelper to describe a broker, and prints one line of JSON per entry.
// Three properties files: static settings, dynamic ones of the cluster, dynamic ones of the broker.
//
//   java -cp '.oracles/jars-3.9.1/*' compat-tests/config/DescribeOracle.java static default broker

import java.io.FileInputStream;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import kafka.server.ConfigHelper;
import kafka.server.DynamicBrokerConfig;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.DescribeConfigsRequestData.DescribeConfigsResource;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResourceResult;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResult;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsSynonym;
import org.apache.kafka.common.message.DescribeConfigsResponseDataJsonConverter;
import org.apache.kafka.common.message.DescribeConfigsResponseData;

public class DescribeOracle {
    public static void main(String[] files) throws Exception {
        KafkaConfig config = KafkaConfig.fromProps(load(files[0]));
        DynamicBrokerConfig dynamic = config.dynamicConfig();
        for (Method method : DynamicBrokerConfig.class.getMethods()) {
            if (method.getName().equals("initialize")) {
                Object[] none = new Object[method.getParameterCount()];
                java.util.Arrays.fill(none, scala.Option.empty());
                method.invoke(dynamic, none);
            }
        }
        dynamic.updateDefaultConfig(load(files[1]), true);
        dynamic.updateBrokerConfig(config.brokerId(), load(files[2]), true);
        ConfigHelper helper = (ConfigHelper) ConfigHelper.class.getConstructors()[0].newInstance(null, config, null);
        print(describe(helper, Integer.toString(config.brokerId())));
        print(describe(helper, ""));
    }

    private static DescribeConfigsResult describe(ConfigHelper helper, String broker) {
        DescribeConfigsResource resource = new DescribeConfigsResource()
            .setResourceType(ConfigResource.Type.BROKER.id()).setResourceName(broker);
        scala.collection.immutable.List<DescribeConfigsResource> one =
            scala.jdk.javaapi.CollectionConverters.asScala(List.of(resource)).toList();
        return helper.describeConfigs(one, true, false).head();
    }

    private static void print(DescribeConfigsResult result) {
        DescribeConfigsResponseData answer = new DescribeConfigsResponseData().setResults(List.of(result));
        System.out.println(DescribeConfigsResponseDataJsonConverter.write(answer, (short) 4));
    }

    private static Properties load(String file) throws Exception {
        Properties properties = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            properties.load(in);
        }
        return properties;
    }
}
