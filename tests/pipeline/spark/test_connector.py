"""Where Spark's Kafka connector comes from."""

from pathlib import Path

import pytest

from barnabas.pipeline.spark.connector import JARS_VARIABLE, NEEDED, connector_settings
from barnabas.pipeline.spark.failures import PipelineError


def filled(folder: Path, names: tuple[str, ...] = NEEDED) -> Path:
    for name in names:
        (folder / f"{name}-1.0.jar").touch()
    return folder


def test_a_folder_of_jars_asks_no_network(tmp_path: Path) -> None:
    settings = connector_settings(filled(tmp_path))
    assert list(settings) == ["spark.jars"]
    assert len(settings["spark.jars"].split(",")) == len(NEEDED)


def test_the_environment_may_name_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(JARS_VARIABLE, str(filled(tmp_path)))
    assert list(connector_settings()) == ["spark.jars"]


def test_a_folder_that_lacks_some_is_told_which(tmp_path: Path) -> None:
    filled(tmp_path, NEEDED[:2])
    with pytest.raises(PipelineError, match=r"lacks kafka-clients-….jar, commons-pool2-….jar: "):
        connector_settings(tmp_path)


def test_without_a_folder_it_comes_by_its_coordinate_less_what_pyspark_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(JARS_VARIABLE, raising=False)
    settings = connector_settings()
    import pyspark

    wanted = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    assert settings["spark.jars.packages"] == wanted
    assert "hadoop-client-runtime" in settings["spark.jars.excludes"]
