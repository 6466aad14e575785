"""The client families, and what each of their clients lacks.

`FAMILIES` are today's clients; `OLD_FAMILIES` speak the message formats before v2 and are
served by brokers that still know them.
"""

from client_builds import (
    ancient_java_family,
    go_family,
    java_family,
    node_family,
    python_family,
)

NO_V2 = {"transactions v2": "the client does not know them yet"}
UNSTABLE = {"stable offsets": "it does not ask for stable offsets only, or joins no group"}
# What a client cannot do after a record was refused in a transaction, against any broker.
SEQUENCES = {"refused record": "its sequences go on where the aborted transaction was refused"}
PURGED = {"refused record": "what is sent after such an abort may be purged with it"}
RECURSIVE = {"refused record": "a batch that is split record by record overflows its stack"}
LIBRDKAFKA = python_family(
    "librdkafka", {"sticky": "librdkafka has the cooperative kind of sticky only"} | NO_V2 | PURGED
)
KAFKA_PYTHON = python_family("kafka-python", NO_V2 | SEQUENCES)
AIOKAFKA = python_family(
    "aiokafka",
    {"cooperative-sticky": "aiokafka knows the eager protocol only"} | NO_V2 | SEQUENCES | UNSTABLE,
)
JAVA_NEWEST = java_family("4.4.0", "era-2.5")
JAVA_LAST_WITH_ZOOKEEPER = java_family("3.9.1", "era-2.5", NO_V2 | RECURSIVE)
JAVA_LAST_OF_2 = java_family("2.8.2", "era-2.5", NO_V2 | RECURSIVE)
FRANZ_GO = go_family("franz-go")
SARAMA = go_family(
    "sarama",
    {
        "commit async": "sarama has marks with automatic or synchronous commits only",
        "regex": "sarama subscribes by name only",
        "seek": "sarama cannot move a claim that is being read",
    }
    | NO_V2
    | UNSTABLE,
)
KAFKA_GO = go_family(
    "kafka-go",
    {
        "idempotent": "kafka-go has no idempotent writer",
        "transactions": "kafka-go has no transactional writer",
        "sticky": "kafka-go has range and round robin only",
        "cooperative-sticky": "kafka-go has range and round robin only",
        "commit async": "kafka-go's group commits synchronously only",
        "commit auto": "kafka-go's group commits synchronously only",
        "static": "kafka-go has no static members",
        "regex": "kafka-go subscribes by name only",
        "mixed group": "kafka-go's member metadata says version 1 but has no owned partitions",
        "seek": "kafka-go's group hands out partitions and reads none",
        "pause": "kafka-go's group hands out partitions and reads none",
    },
)
KAFKAJS = node_family(
    "kafkajs",
    {
        "range": "kafkajs has round robin only",
        "sticky": "kafkajs has round robin only",
        "cooperative-sticky": "kafkajs has round robin only",
        "static": "kafkajs has no static members",
        "regex": "kafkajs resolves a regular expression once, when it subscribes",
    }
    | NO_V2
    | UNSTABLE,
    assignor="roundrobin",
)

FAMILIES = {
    family.name: family
    for family in (
        LIBRDKAFKA,
        KAFKA_PYTHON,
        AIOKAFKA,
        JAVA_NEWEST,
        JAVA_LAST_WITH_ZOOKEEPER,
        JAVA_LAST_OF_2,
        FRANZ_GO,
        SARAMA,
        KAFKA_GO,
        KAFKAJS,
    )
}

NO_HEADERS = "record headers came with message format v2"
NO_TIMESTAMP = "timestamps came with message format v1"
NO_ZSTD = "zstd came with kafka 2.1"
NO_IDEMPOTENCE = "idempotence came with kafka 0.11"
HARD_LIMIT = "before Fetch v3 nothing is read that is larger than the client's fetch size"
BEFORE_V1 = {
    "headers": NO_HEADERS,
    "timestamp": NO_TIMESTAMP,
    "zstd": NO_ZSTD,
    "idempotent": NO_IDEMPOTENCE,
}
KAFKA_PYTHON_2 = python_family(
    "kafka-python-old-2.0.2",
    {"zstd": "needs one more package", "idempotent": "came with kafka-python 2.1"},
    requirements="requirements-2.0.2.txt",
)
KAFKA_PYTHON_1 = python_family(
    "kafka-python-old-1.3.5",
    {"headers": NO_HEADERS, "zstd": NO_ZSTD, "idempotent": NO_IDEMPOTENCE},
    requirements="requirements-1.3.5.txt",
    older_than_python_3_7=True,
)
KAFKA_PYTHON_0 = python_family(
    "kafka-python-old-0.9.5",
    BEFORE_V1
    | {"lz4": "kafka-python 0.9.5 has gzip and snappy"}
    | {"300 KB": HARD_LIMIT, "2 MB": HARD_LIMIT},
    program="simple.py",
    requirements="requirements-0.9.5.txt",
    older_than_python_3_7=True,
)
PYKAFKA = python_family(
    "pykafka",
    BEFORE_V1
    | {"lz4": "pykafka makes lz4 blocks that depend on each other; kafka refuses"}
    | {"2 MB": HARD_LIMIT},
)
JAVA_2_0 = java_family("2.0.1", "era-2.0", {"zstd": NO_ZSTD})
JAVA_1_0 = java_family("1.0.2", "era-1.0", {"zstd": NO_ZSTD})
JAVA_0_10 = java_family(
    "0.10.2.2",
    "era-0.10",
    {"headers": NO_HEADERS, "zstd": NO_ZSTD, "idempotent": NO_IDEMPOTENCE},
)
JAVA_0_8 = ancient_java_family(BEFORE_V1 | {"2 MB": HARD_LIMIT})

OLD_FAMILIES = {
    family.name: family
    for family in (
        KAFKA_PYTHON_0,
        KAFKA_PYTHON_1,
        KAFKA_PYTHON_2,
        PYKAFKA,
        JAVA_0_8,
        JAVA_0_10,
        JAVA_1_0,
        JAVA_2_0,
        JAVA_LAST_OF_2,
    )
}
