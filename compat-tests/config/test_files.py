"""Configuration files: read as Java reads them, and refused where Kafka 3.9.1 refuses them."""

import json
import random
from pathlib import Path

from oracles import run_java

from barnabas.server.settings.config import ConfigError, load_config
from barnabas.server.settings.properties import MalformedProperties, parse_properties

SEED = 20_251_128
PIECES = [
    "a", "bc", "é", " ", "\t", "\f", "=", ":", "\\", "\\\\", "\n", "\r", "\r\n", "#", "!",
    "\\u0041", "\\u00e9", "\\n", "\\t", "\\=", "\\:", "\\ ", "\\\n",
    "\\\r\n  ", "\x85", "\x0b", "\x1c",
]  # fmt: skip
BASE = "zookeeper.connect=zk:2181\n"

# Each is added to a minimal file. Kafka accepts (True) or refuses (False), and so must we.
FILES = {
    "broker.id=5": True,
    "broker.id=-1": True,
    "broker.id=-2": False,
    "broker.id=1000": True,
    "broker.id=1001": False,
    "broker.id=1001\nbroker.id.generation.enable=false": True,
    "broker.id=1001\nreserved.broker.max.id=2000": True,
    "num.partitions=0": False,
    "num.partitions= 3 ": True,
    "num.partitions=+3": True,
    "num.partitions=1e3": False,
    "num.partitions=": False,
    "auto.create.topics.enable=True": True,
    "auto.create.topics.enable=1": False,
    "log.cleaner.io.buffer.load.factor=1e-1": True,
    "log.cleaner.min.cleanable.ratio=1.01": False,
    "log.cleanup.policy=": True,
    "log.cleanup.policy=compact , delete": True,
    "log.cleanup.policy=compacted": False,
    "compression.type=GZIP": False,
    "log.retention.ms=0": False,
    "log.retention.ms=-5": True,
    "log.retention.hours=0": False,
    "log.retention.minutes=0\nlog.retention.ms=5": True,
    "log.roll.hours=0": False,
    "log.dirs=": False,
    "log.dirs=/a,/b": True,
    "listeners=PLAINTEXT://:9092": True,
    "listeners=plaintext://:9092": True,
    "listeners=PLAINTEXT://[::1]:9092": True,
    "listeners=PLAINTEXT:9092": False,
    "listeners=PLAINTEXT://:9092,PLAINTEXT://:9093": False,
    "listeners=PLAINTEXT://:9092,SSL://:9092": False,
    "listeners=PLAINTEXT://:0,SSL://:0": True,
    "listeners=PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9092": True,
    "listeners=PLAINTEXT://127.0.0.1:9092,PLAINTEXT://[::1]:9092": False,
    "listeners=OTHER://:9092": False,
    "listeners=": False,
    "listeners=IN://:1,OUT://:2\nlistener.security.protocol.map=IN:PLAINTEXT,OUT:SSL\n"
    "inter.broker.listener.name=IN": True,
    "listeners=IN://:1,OUT://:2\nlistener.security.protocol.map=IN:PLAINTEXT,OUT:SSL": False,
    "listener.security.protocol.map=PLAINTEXT:TLS": False,
    "advertised.listeners=PLAINTEXT://b:1": True,
    "advertised.listeners=PLAINTEXT://0.0.0.0:1": False,
    "advertised.listeners=SSL://b:1": False,
    "inter.broker.listener.name=SSL": False,
    "inter.broker.listener.name=PLAINTEXT\nsecurity.inter.broker.protocol=PLAINTEXT": False,
    "security.inter.broker.protocol=SSL": False,
    "security.inter.broker.protocol=SSL\nlisteners=SSL://:1": True,
    "security.inter.broker.protocol=TLS": False,
    "security.inter.broker.protocol=SASL_PLAINTEXT\nlisteners=SASL_PLAINTEXT://:1\n"
    "sasl.mechanism.inter.broker.protocol=PLAIN": False,
    "security.inter.broker.protocol=SASL_PLAINTEXT\nlisteners=SASL_PLAINTEXT://:1\n"
    "sasl.mechanism.inter.broker.protocol=PLAIN\nsasl.enabled.mechanisms=PLAIN": True,
    "control.plane.listener.name=PLAINTEXT": False,
    "queued.max.request.bytes=0": True,
    "queued.max.request.bytes=5": False,
    "queued.max.request.bytes=104857600": True,
    "max.connections.per.ip=0": False,
    "max.connections.per.ip=0\nmax.connections.per.ip.overrides=10.0.0.1:5": True,
    "replica.fetch.wait.max.ms=30001": False,
    "replica.fetch.wait.max.ms=40000\nreplica.socket.timeout.ms=50000": False,
    "replica.lag.time.max.ms=100": False,
    "offsets.commit.required.acks=-2": False,
    "offsets.commit.required.acks=3": True,
    "offsets.commit.required.acks=4": False,
    "group.consumer.session.timeout.ms=70000": False,
    "group.consumer.min.session.timeout.ms=70000": False,
    "group.consumer.heartbeat.interval.ms=4000": False,
    "group.consumer.heartbeat.interval.ms=15000": True,
    "group.share.session.timeout.ms=1": False,
    "group.share.record.lock.duration.ms=14000": False,
    "inter.broker.protocol.version=2.8": True,
    "inter.broker.protocol.version=9.9": False,
    "inter.broker.protocol.version=2.8\nlog.message.format.version=2.9": False,
    "inter.broker.protocol.version=2.0\nlog.message.format.version=2.8": True,
    "inter.broker.protocol.version=0.10.2\nlog.message.format.version=2.8": False,
    "inter.broker.protocol.version=0.10.2\nlog.message.format.version=0.10.0": True,
    "inter.broker.protocol.version=0.10.2": False,
    "control.plane.listener.name=SSL\nlisteners=PLAINTEXT://:1,SSL://:2": True,
    "control.plane.listener.name=SSL": False,
    "log.cleaner.dedupe.buffer.size=1048576": False,
    "log.cleaner.threads=200": False,
    "connections.max.idle.ms=-1": True,
    "offsets.topic.replication.factor=40000": False,
    "delegation.token.master.key=x": True,
    "node.id=2\nbroker.id=2": True,
    "node.id=2": True,
    "node.id=2\nbroker.id=3": False,
    "listener.name.plaintext.ssl.client.auth=required": True,
    "super.users=User:admin": True,
    "zookeeper.session.timeout.ms=x": False,
    "ssl.client.auth=perhaps": False,
    "fetch.max.bytes=1000": False,
    "authorizer.class.name=": True,
    "remote.log.storage.system.enable=true": True,
    "no.such.setting=1": True,
}  # fmt: skip

# Where our verdict differs from Kafka's on purpose, and why.
DIFFERENT = {
    "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PLAINTEXT:SSL": "the last one wins unseen",
    "log.cleaner.min.compaction.lag.ms=5\nlog.cleaner.max.compaction.lag.ms=4": (
        "Kafka finds out when it opens its logs"
    ),
    "group.consumer.max.heartbeat.interval.ms=60000\ngroup.consumer.heartbeat.interval.ms=46000": (
        "members would be thrown out between heartbeats"
    ),
    "num.partitons=1": "Kafka ignores unknown names; a typing error should not go unnoticed",
    "listener.name.plaintext.ssl.client.auth=perhaps": "Kafka finds out when the listener opens",
}


def _ask_kafka(
    folder: Path, contents: list[bytes]
) -> list[tuple[dict[str, str] | None, str | None]]:
    names = []
    for number, content in enumerate(contents):
        file = folder / f"{number}.properties"
        file.write_bytes(content)
        names.append(str(file))
    source = str(Path(__file__).parent / "FileOracle.java")
    printed = run_java("3.9.1", source, *names)
    lines = [json.loads(line) for line in printed.split("\n")[:-1]]
    return list(zip(lines[::2], lines[1::2], strict=True))


def _our_refusal(file: Path) -> str | None:
    try:
        load_config([file])
    except ConfigError as error:
        return str(error)
    return None


def test_files_are_accepted_and_refused_as_kafka_does(tmp_path: Path) -> None:
    lines = [*FILES, *DIFFERENT]
    answers = _ask_kafka(tmp_path, [f"{BASE}{line}\n".encode() for line in lines])
    wrong = []
    for number, (line, (_, theirs)) in enumerate(zip(lines, answers, strict=True)):
        ours = _our_refusal(tmp_path / f"{number}.properties")
        accepted = FILES.get(line, True)
        if (theirs is None) != accepted and line in FILES:
            wrong.append(f"Kafka on {line!r}: {theirs}")
        if (ours is None) != (accepted and line not in DIFFERENT):
            wrong.append(f"we on {line!r}: {ours} (Kafka: {theirs})")
    assert not wrong, "\n".join(wrong)


def test_random_files_are_read_as_java_reads_them(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    contents = [
        "".join(chance.choices(PIECES, k=chance.randint(1, 25))).encode("latin-1")
        for _ in range(1500)
    ]
    contents += [b"a=\\u12", b"a=\\u", b"\\u004=1", b"a=b\\"]
    for content, (theirs, _) in zip(contents, _ask_kafka(tmp_path, contents), strict=True):
        try:
            ours: dict[str, str] | None = {p.name: p.value for p in parse_properties(content)}
        except MalformedProperties:
            ours = None
        if ours is not None and theirs and content.rstrip().endswith(b"\\"):
            # Java makes a nameless property of a lone backslash that ends a file; we do not.
            ours.pop("", None)
            theirs.pop("", None)
        assert ours == theirs, content
