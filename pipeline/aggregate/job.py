"""The aggregation as a stream with a checkpoint.

<checkpoint>/aggregation.json   what is aggregated, and how: it does not change
<checkpoint>/tally.json         what was read, late, doubled
<checkpoint>/query              Spark's own checkpoint
"""

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from barnabas.pipeline.aggregate.counts import Rules, results
from barnabas.pipeline.aggregate.events import events_of
from barnabas.pipeline.aggregate.outputs import Output, to_folder, to_topic
from barnabas.pipeline.aggregate.tally import Tally
from barnabas.pipeline.spark.admin import Admin
from barnabas.pipeline.spark.failures import PipelineError, by_accept_loss, is_of_spark, sentence_of
from barnabas.pipeline.spark.files import Files
from barnabas.pipeline.spark.kafka import KafkaCluster, read_stream, topic_id_in
from barnabas.pipeline.spark.progress import await_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STATE_STORE: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
AGGREGATION: Final = "aggregation.json"
IN_FOLDER: Final = "_aggregation.json"
TALLY: Final = "tally.json"
TWO_READERS: Final = "KafkaConsumer is not safe for multi-threaded access"
"""By this Spark's connector ends now and then where records are passed over that were deleted: the
task that finds them missing gives its consumer back and goes on with it, while another task, for
windows and sessions read the same partitions, takes it (KafkaDataConsumer.get)."""
MOST_TRIES: Final = 10


@dataclass(frozen=True)
class Aggregation:
    """What is to be done; `once` ends with what is there, otherwise it goes on.

    `accept_loss`: records that were deleted before they were read are passed over.
    """

    topic: str
    checkpoint: str
    folder: str | None = None
    to_topic: str | None = None
    rules: Rules = field(default_factory=Rules)
    most_records: int = 500_000  # of a batch
    once: bool = False
    interval: str = "10 seconds"
    accept_loss: bool = False


def aggregate(spark: "SparkSession", cluster: KafkaCluster, aggregation: Aggregation) -> Tally:
    """Run the stream until it ends (`once`) or is interrupted; what was read over all runs."""
    checkpoint = Files(spark, aggregation.checkpoint)
    number = _number_of(spark, cluster, aggregation, checkpoint)
    outputs = _outputs(spark, cluster, aggregation, number)
    options = {
        "kafka.isolation.level": "read_committed",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(aggregation.most_records),
        "failOnDataLoss": str(not aggregation.accept_loss).lower(),
    }
    records = read_stream(spark, cluster, topics=[aggregation.topic], options=options)
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", STATE_STORE)
    writer = results(events_of(records), aggregation.rules).writeStream
    writer = writer.outputMode("append").foreachBatch(_writing(outputs))
    writer = writer.option("checkpointLocation", checkpoint.path("query"))
    if aggregation.once:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=aggregation.interval)
    with _naming_the_option():
        return _read(writer, checkpoint, MOST_TRIES if aggregation.accept_loss else 1)


def _read(writer: Any, checkpoint: Files, tries: int) -> Tally:
    """Follow the query; begin it again, from its checkpoint, where two of its tasks collided."""
    while True:
        try:
            return _followed(writer.start(), checkpoint)
        except Exception as error:
            tries -= 1
            if not tries or TWO_READERS not in str(error):
                raise


@contextmanager
def _naming_the_option() -> Iterator[None]:
    """Of records that were deleted, say what goes on without them here."""
    try:
        yield
    except Exception as error:
        sentence = sentence_of(error) if is_of_spark(error) else ""
        said = by_accept_loss(sentence)
        if said == sentence:
            raise
        raise PipelineError(said) from error


def tally_of(checkpoint: Files) -> Tally:
    """What the runs with this checkpoint have read so far."""
    return Tally.from_json(checkpoint.read_text(TALLY)) if checkpoint.exists(TALLY) else Tally()


def _followed(query: Any, checkpoint: Files) -> Tally:
    tally = tally_of(checkpoint)

    def add(progress: dict[str, Any]) -> None:
        nonlocal tally
        tally = tally.with_batch(progress)
        checkpoint.write_text(TALLY, tally.to_json())

    await_query(query, add)
    return tally


def _writing(outputs: Sequence[Output]) -> Output:
    def write(frame: "DataFrame", batch: int) -> None:
        kept = frame.persist()
        try:
            if not kept.isEmpty():
                for output in outputs:
                    output(kept, batch)
        finally:
            kept.unpersist()

    return write


def _outputs(
    spark: "SparkSession", cluster: KafkaCluster, aggregation: Aggregation, number: str
) -> list[Output]:
    outputs: list[Output] = []
    if aggregation.folder is not None:
        files = Files(spark, aggregation.folder)
        _claim(files, number)
        outputs.append(to_folder(files))
    if aggregation.to_topic is not None:
        outputs.append(to_topic(cluster, aggregation.to_topic))
    return outputs


def _claim(files: Files, number: str) -> None:
    """The folder is this aggregation's: batches of two would take each other's places."""
    if not files.exists(IN_FOLDER):
        if files.entries():
            raise PipelineError(f"{files.root} is not empty; --to-folder makes a new one")
        files.write_text(IN_FOLDER, json.dumps({"aggregation": number}))
    elif json.loads(files.read_text(IN_FOLDER))["aggregation"] != number:
        raise PipelineError(
            f"{files.root} has the results of another --checkpoint; --to-folder names a new one"
        )


def _number_of(
    spark: "SparkSession", cluster: KafkaCluster, aggregation: Aggregation, checkpoint: Files
) -> str:
    """The aggregation's number, made with its checkpoint; it has to be the same aggregation."""
    topics = [name for name in (aggregation.topic, aggregation.to_topic) if name is not None]
    with Admin(spark, cluster) as admin:
        found = admin.topics(topics)
        asked = {
            "cluster": admin.cluster_id(),
            "topic": aggregation.topic,
            "topic id": found[aggregation.topic].topic_id,
            **asdict(aggregation.rules),
        }
    if not checkpoint.exists(AGGREGATION):
        kept = {"number": uuid.uuid4().hex, **asked}
        checkpoint.write_text(AGGREGATION, json.dumps(kept))
        return str(kept["number"])
    kept = json.loads(checkpoint.read_text(AGGREGATION))
    kept["topic id"] = topic_id_in(kept["topic id"])
    for name, value in asked.items():
        if kept[name] != value:
            raise PipelineError(
                f"the checkpoint {checkpoint.root} is of the {name} {kept[name]}, not of {value}; "
                "--checkpoint names a new folder for another aggregation"
            )
    return str(kept["number"])
