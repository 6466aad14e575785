"""What the commands of the pipeline understand of a cluster and of Spark."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from barnabas.pipeline import cli
from barnabas.pipeline.options import SparkRun, cluster_of, kafka_options, spark_options
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.server.cli.failures import BadInput


@click.command()
@kafka_options
@spark_options
def job(cluster: KafkaCluster, spark_run: SparkRun) -> None:
    click.echo(f"{cluster.source_options()} {spark_run}")


def test_a_job_without_words_is_for_the_broker_at_home() -> None:
    done = CliRunner().invoke(job, env={"BARNABAS_BOOTSTRAP": None, "BARNABAS_SPARK_JARS": None})
    assert "{'kafka.bootstrap.servers': '127.0.0.1:9092'}" in done.output
    assert "master='local[*]', jars=None" in done.output and "progress=False" in done.output


def test_what_is_said_of_spark_arrives(tmp_path: Path) -> None:
    words = ["--master", "yarn", "--jars", str(tmp_path), "--spark-setting", "a.b=c=d"]
    done = CliRunner().invoke(job, [*words, "--progress", "--verbose"])
    assert f"master='yarn', jars={tmp_path!r}, progress=True, verbose=True" in done.output


def test_an_option_of_kafkas_client_may_leave_out_the_prefix() -> None:
    cluster = cluster_of("b:1", ("security.protocol=SSL", "kafka.ssl.truststore.type=PEM"))
    assert cluster.source_options() == {
        "kafka.bootstrap.servers": "b:1",
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
    }
    assert cluster.client_properties() == {
        "bootstrap.servers": "b:1",
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
    }


def test_passwords_are_not_shown() -> None:
    secret = "sasl.jaas.config=Module required password=s3cret;"
    assert "s3cret" not in repr(cluster_of("b:1", (secret,)))
    with pytest.raises(BadInput) as raised:
        cluster_of("b:1", ("=s3cret",))
    assert "s3cret" not in raised.value.message


def test_without_pyspark_the_pipeline_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "pyspark" else object())
    done = CliRunner().invoke(cli.pipeline, ["land", "orders"])
    assert "pip install 'barnabas[pipeline]'" in done.output and done.exit_code == 1
    assert CliRunner().invoke(cli.pipeline, ["--help"]).exit_code == 0
