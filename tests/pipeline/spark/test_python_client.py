"""Java's client settings in librdkafka's words."""

import pytest
from confluent_kafka import KafkaException, Producer

from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.pipeline.spark.python_client import Settings, python_client_settings

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required "
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required "


def translated(**options: str) -> Settings:
    named = {"kafka." + name.replace("_", "."): value for name, value in options.items()}
    return python_client_settings(KafkaCluster("a:1,b:2", named))


def test_a_cluster_without_options_is_its_addresses() -> None:
    assert translated() == {"bootstrap.servers": "a:1,b:2", "log_level": 0}


def test_a_login_is_read_out_of_the_jaas_line() -> None:
    made = translated(
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_jaas_config=SCRAM + r'username="o\"neill" password="a;b=\\c";',
    )
    assert made["security.protocol"] == "SASL_SSL"
    assert made["sasl.mechanism"] == "SCRAM-SHA-512"
    assert made["sasl.username"] == 'o"neill'
    assert made["sasl.password"] == r"a;b=\c"


def test_a_login_without_quotes_is_read_too() -> None:
    made = translated(sasl_jaas_config=PLAIN + "password=secret username=me;")
    assert (made["sasl.username"], made["sasl.password"]) == ("me", "secret")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sasl_jaas_config": "com.sun.Krb5LoginModule required;"}, "knows no login module"),
        ({"sasl_jaas_config": PLAIN + 'username="me";'}, "no username and password"),
        ({"ssl_truststore_location": "/t.jks"}, "kafka.ssl.truststore.type has to be PEM"),
        ({"ssl_keystore_location": "/k.jks"}, "kafka.ssl.keystore.type has to be PEM or PKCS12"),
        ({"max_poll_records": "5"}, "kafka.max.poll.records has no equal"),
    ],
)
def test_what_has_no_equal_is_refused_by_name_and_without_its_value(
    options: dict[str, str], told: str
) -> None:
    with pytest.raises(PipelineError) as raised:
        translated(**options)
    assert told in raised.value.message
    assert "me" not in raised.value.message.split()


def test_stores_in_pem_are_librdkafkas_files() -> None:
    made = translated(
        ssl_truststore_location="/ca.pem",
        ssl_truststore_type="PEM",
        ssl_keystore_location="/me.pem",
        ssl_keystore_type="pem",
        ssl_key_password="x",
    )
    assert made["ssl.ca.location"] == "/ca.pem"
    assert made["ssl.certificate.location"] == made["ssl.key.location"] == "/me.pem"
    assert made["ssl.key.password"] == "x"


def test_a_key_store_of_pkcs12_stays_one() -> None:
    made = translated(
        ssl_keystore_location="/me.p12", ssl_keystore_type="PKCS12", ssl_keystore_password="x"
    )
    assert (made["ssl.keystore.location"], made["ssl.keystore.password"]) == ("/me.p12", "x")


def test_host_names_that_are_not_to_be_checked_are_not() -> None:
    made = translated(ssl_endpoint_identification_algorithm="")
    assert made["ssl.endpoint.identification.algorithm"] == "none"


def test_librdkafka_takes_what_comes_out() -> None:
    made = translated(
        security_protocol="SASL_SSL",
        sasl_mechanism="PLAIN",
        sasl_jaas_config=PLAIN + 'username="a" password="b";',
        batch_size="1000",
        client_id="c",
        client_rack="r",
        compression_type="lz4",
        connections_max_idle_ms="1000",
        delivery_timeout_ms="30000",
        linger_ms="5",
        metadata_max_age_ms="1000",
        receive_buffer_bytes="65536",
        reconnect_backoff_max_ms="1000",
        reconnect_backoff_ms="50",
        request_timeout_ms="3000",
        retry_backoff_ms="50",
        send_buffer_bytes="65536",
        ssl_endpoint_identification_algorithm="https",
        transaction_timeout_ms="3000",
    )
    Producer(made)
    with pytest.raises(KafkaException, match=r"no\.such\.setting"):
        Producer({**made, "no.such.setting": "1"})
