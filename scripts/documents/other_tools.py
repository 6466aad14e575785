"""What people do with rpk, kcat and the kafka-*.sh, and the line of `barnabas` for it.

docs/command-line.md has the table; a test runs each line here, one after the other.
"""

from typing import NamedTuple


class Task(NamedTuple):
    """A thing that people do; "" where a tool cannot. `ends` is whether the line does."""

    what: str
    rpk: str
    kcat: str
    kafka: str
    here: str
    ends: bool = True


TASKS: dict[str, tuple[Task, ...]] = {
    "Topics": (
        Task("create", "rpk topic create orders -p 3 -c retention.ms=86400000", "",
             "kafka-topics.sh --create --topic orders --partitions 3"
             " --config retention.ms=86400000",
             "barnabas topics create orders -p 3 -c retention.ms=86400000"),
        Task("list", "rpk topic list", "kcat -L", "kafka-topics.sh --list",
             "barnabas topics list"),
        Task("list by pattern", "rpk topic list -r 'ord.*'", "", "kafka-topics.sh --list"
             " --topic 'ord.*'", "barnabas topics list 'ord*'"),
        Task("partitions, offsets, sizes", "rpk topic describe orders -p", "kcat -L -t orders",
             "kafka-topics.sh --describe --topic orders; kafka-get-offsets.sh --topic orders;"
             " kafka-log-dirs.sh --describe", "barnabas topics describe orders"),
        Task("settings in force", "rpk topic describe orders -c", "",
             "kafka-configs.sh --describe --all --entity-type topics --entity-name orders",
             "barnabas topics describe orders --settings"),
        Task("change a setting", "rpk topic alter-config orders --set retention.ms=3600000", "",
             "kafka-configs.sh --alter --entity-type topics --entity-name orders --add-config"
             " retention.ms=3600000", "barnabas configs set topic orders retention.ms=3600000"),
        Task("more partitions", "rpk topic add-partitions orders --num 3", "",
             "kafka-topics.sh --alter --topic orders --partitions 6",
             "barnabas topics alter orders -p 6"),
    ),
    "Produce": (
        Task("lines", "rpk topic produce orders", "kcat -P -t orders",
             "kafka-console-producer.sh --topic orders", "echo hello | barnabas produce orders"),
        Task("lines with keys", r"rpk topic produce orders -f '%k=%v\n'",
             "kcat -P -t orders -K =",
             "kafka-console-producer.sh --topic orders --property parse.key=true"
             " --property key.separator==", "echo k=v | barnabas produce -t orders -K ="),
        Task("a key, a header, a partition", "rpk topic produce orders -k k -H a:1 -p 0",
             "kcat -P -t orders -k k -H a=1 -p 0", "",
             "echo v | barnabas produce orders -k k -H a=1 -p 0"),
        Task("compressed", "rpk topic produce orders -z zstd", "kcat -P -t orders -z zstd",
             "kafka-console-producer.sh --topic orders --compression-codec zstd",
             "echo v | barnabas produce orders -z zstd"),
        Task("a tombstone", "rpk topic produce orders -k k -Z", "kcat -P -t orders -k k -Z",
             "kafka-console-producer.sh --topic orders --property parse.key=true"
             " --property null.marker=NULL", "echo | barnabas produce orders -k k -Z"),
        Task("headers and times by a format", "", "", "",
             r"echo 'k h=1 2026-03-01T12:00Z v' | barnabas produce orders -f '%k %h %T %s'"),
        Task("a file as a record", "", "kcat -P -t orders one.bin two.bin", "",
             "barnabas produce orders --file one.bin --file two.bin"),
        Task("CSV, JSON lines", "", "", "",
             "barnabas produce orders --csv orders.csv --key id --timestamp at"),
    ),
    "Consume": (
        Task("all there is, and end", "rpk topic consume orders -o :end", "kcat -C -t orders -e",
             "kafka-console-consumer.sh --topic orders --from-beginning --timeout-ms 5000",
             "barnabas consume orders"),
        Task("what comes, on and on", "rpk topic consume orders -o end",
             "kcat -C -t orders -o end", "kafka-console-consumer.sh --topic orders",
             "barnabas consume orders -o end --follow", ends=False),
        Task("from an offset, so many", "rpk topic consume orders -p 0 -o 0 -n 2",
             "kcat -C -t orders -p 0 -o 0 -c 2",
             "kafka-console-consumer.sh --topic orders --partition 0 --offset 0 --max-messages 2",
             "barnabas consume -t orders -p 0 -o 0 -n 2"),
        Task("the last of each partition", "rpk topic consume orders -o -5",
             "kcat -C -t orders -o -5 -e", "", "barnabas consume orders -o -5"),
        Task("the last of all", "", "", "", "barnabas consume orders --tail 5"),
        Task("from time to time", "rpk topic consume orders -o @-48h:-24h",
             "kcat -C -t orders -o s@1772366400000 -o e@1772370000000", "",
             "barnabas consume orders --from 48h --to 24h"),
        Task("a format", r"rpk topic consume orders -f '%p %o %k %v\n'",
             r"kcat -C -t orders -f '%p %o %k %s\n'",
             "kafka-console-consumer.sh --topic orders --property print.key=true"
             " --property print.offset=true", r"barnabas consume orders -f '%p %o %k %s\n'"),
        Task("JSON", "rpk topic consume orders", "kcat -C -t orders -J", "",
             "barnabas consume orders -J"),
        Task("several topics", "rpk topic consume -r 'ord.*'", "",
             "kafka-console-consumer.sh --include 'ord.*'", "barnabas consume 'ord*'"),
        Task("as a member of a group", "rpk topic consume orders -g billing",
             "kcat -G billing orders", "kafka-console-consumer.sh --topic orders --group billing",
             "barnabas consume orders -g billing --follow", ends=False),
        Task("committed transactions alone", "rpk topic consume orders --read-committed",
             "kcat -C -t orders -X isolation.level=read_committed",
             "kafka-console-consumer.sh --topic orders --isolation-level read_committed",
             "barnabas consume orders --committed"),
        Task("a file a record", "", "", "", "barnabas consume orders --files out"),
        Task("copy a topic", "", "", "",
             "barnabas consume orders --json | barnabas produce again --create --jsonl -"),
        Task("a setting of the client", "", "kcat -C -t orders -X fetch.min.bytes=1",
             "kafka-console-consumer.sh --topic orders --consumer-property fetch.min.bytes=1",
             "barnabas consume orders -X fetch.min.bytes=1"),
    ),
    "Groups": (
        Task("list", "rpk group list", "", "kafka-consumer-groups.sh --list",
             "barnabas groups list"),
        Task("committed offsets and lag", "rpk group describe billing", "",
             "kafka-consumer-groups.sh --describe --group billing",
             "barnabas groups describe billing"),
        Task("state, members, all lag", "rpk group describe billing -s", "",
             "kafka-consumer-groups.sh --describe --group billing --state",
             "barnabas groups describe billing --summary"),
        Task("who reads what", "", "",
             "kafka-consumer-groups.sh --describe --group billing --members --verbose",
             "barnabas groups describe billing --members"),
        Task("back to the start", "rpk group seek billing --to start", "",
             "kafka-consumer-groups.sh --reset-offsets --to-earliest --group billing"
             " --all-topics --execute",
             "barnabas groups reset-offsets billing --to-earliest --yes"),
        Task("forget a partition", "rpk group offset-delete billing -t orders:0", "",
             "kafka-consumer-groups.sh --delete-offsets --group billing --topic orders:0",
             "barnabas groups delete billing --topic orders:0"),
        Task("delete", "rpk group delete billing", "",
             "kafka-consumer-groups.sh --delete --group billing", "barnabas groups delete billing"),
    ),
    "Cluster": (
        Task("brokers", "rpk cluster info", "kcat -L", "kafka-broker-api-versions.sh",
             "barnabas cluster"),
        Task("is all well?", "rpk cluster health --exit-when-healthy", "",
             "kafka-topics.sh --describe --under-replicated-partitions",
             "barnabas cluster health"),
        Task("rates and lag, live", "", "", "", "barnabas top"),
        Task("a broker's settings", "", "",
             "kafka-configs.sh --describe --all --entity-type brokers --entity-name 0",
             "barnabas configs get broker 0 --all"),
        Task("preferred leaders", "", "",
             "kafka-leader-election.sh --election-type preferred --all-topic-partitions",
             "barnabas topics elect-leaders"),
        Task("transactions", "rpk cluster txn list", "", "kafka-transactions.sh list",
             "barnabas transactions list"),
        Task("a cluster by name", "rpk topic list --profile local", "kcat -F local.config -L",
             "kafka-topics.sh --command-config local.properties --list",
             "barnabas topics list --profile local"),
        Task("what is in a log file", "", "",
             "kafka-dump-log.sh --print-data-log --files data/orders-0/00000000000000000000.log",
             "barnabas log dump data/orders-0"),
    ),
    "For good": (
        Task("delete the oldest records", "rpk topic trim-prefix orders -p 0 -o 1", "",
             "kafka-delete-records.sh --offset-json-file offsets.json",
             "barnabas topics trim orders -p 0 --to 1 --yes"),
        Task("delete topics", "rpk topic delete -r 'ord.*'", "",
             "kafka-topics.sh --delete --topic 'ord.*'", "barnabas topics delete 'ord*' --yes"),
    ),
}  # fmt: skip


def render() -> str:
    """The tables as Markdown."""
    parts = []
    for section, tasks in TASKS.items():
        rows = [f"| {section} | rpk | kcat | kafka-*.sh | here |", "|---|---|---|---|---|"]
        rows += [
            "| " + " | ".join([task.what, *map(_code, task[1:4]), _code(task.here)]) + " |"
            for task in tasks
        ]
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _code(line: str) -> str:
    return "<br>".join(f"`{part.strip()}`".replace("|", "\\|") for part in line.split("; ") if part)
