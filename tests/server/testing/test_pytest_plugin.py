"""The fixtures as a test author meets them, in a pytest of their own."""

import pytest

pytest_plugins = ["pytester"]

USES = """
    from confluent_kafka.admin import AdminClient

    def topics_of(broker):
        return set(AdminClient({"bootstrap.servers": broker.bootstrap_servers})
                   .list_topics(timeout=10).topics)

    def test_one(barnabas_broker):
        barnabas_broker.create_topic("left-behind")
        assert topics_of(barnabas_broker) == {"left-behind"}

    def test_two_is_empty_and_on_the_same_broker(barnabas_broker, barnabas_session_broker):
        assert topics_of(barnabas_broker) == set()
        assert barnabas_broker is barnabas_session_broker

    def test_three_has_its_own(barnabas_fresh_broker, barnabas_session_broker):
        assert barnabas_fresh_broker.port != barnabas_session_broker.port
        assert barnabas_fresh_broker.server.config.num_partitions == 7
"""
CLUSTERS = """
    def test_one(barnabas_cluster):
        barnabas_cluster.create_topic("left-behind")
        barnabas_cluster.cut(0, 1)
        barnabas_cluster[1].kill()

    def test_two_is_whole_and_empty(barnabas_cluster, barnabas_session_cluster):
        assert barnabas_cluster is barnabas_session_cluster
        assert [broker.ask("GET", "/control/links")["links"] for broker in barnabas_cluster] \
            == [broker.ask("GET", "/control/topics")["topics"] for broker in barnabas_cluster] \
            == [[], []]
        assert len(barnabas_cluster[1].requests) == 0

    def test_three_has_its_own(barnabas_fresh_cluster, barnabas_session_cluster):
        assert barnabas_fresh_cluster is not barnabas_session_cluster
        assert barnabas_fresh_cluster[1].server.config.num_partitions == 7
"""
WHERE = """
    def test_where(barnabas_broker, barnabas_fresh_broker):
        for broker in (barnabas_broker, barnabas_fresh_broker):
            assert broker.process is {process}
            assert broker.ask("GET", "/control/clock")["now_ms"] > 0
"""


def test_fixtures_give_empty_brokers(pytester: pytest.Pytester) -> None:
    pytest.importorskip("confluent_kafka")
    pytester.makepyfile(USES)
    pytester.makeini("[pytest]\nbarnabas_settings = num.partitions=7\n")
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("ini", "options", "process"),
    [
        ("", (), False),
        ("barnabas_process = true", (), True),
        ("", ("--barnabas-process",), True),
    ],
    ids=["neither", "ini", "option"],
)
def test_the_fixtures_can_be_processes(
    ini: str, options: tuple[str, ...], process: bool, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(WHERE.format(process=process))
    pytester.makeini(f"[pytest]\nfilterwarnings = error\n{ini}\n")
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", *options)
    outcome.assert_outcomes(passed=1)


def test_fixtures_give_whole_clusters(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(CLUSTERS)
    pytester.makeini(
        "[pytest]\nbarnabas_settings = num.partitions=7\nbarnabas_cluster_brokers = 2\n"
    )
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=3)


PREDICATES = """
    import pytest
    from confluent_kafka.admin import AdminClient

    def ask(broker):
        AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10)

    def breaks(request):
        return {}["a mistake of the test's"]

    def test_of_a_fixture(barnabas_broker):
        barnabas_broker.faults.add("drop", predicate=breaks, times=None)
        ask(barnabas_broker)

    def test_the_next_one(barnabas_broker):
        ask(barnabas_broker)

    def test_of_a_cluster(barnabas_cluster):
        barnabas_cluster[1].faults.add(predicate=breaks)
        ask(barnabas_cluster[1])
"""


def test_a_predicate_that_raises_fails_its_test_alone(pytester: pytest.Pytester) -> None:
    pytest.importorskip("confluent_kafka")
    pytester.makepyfile(PREDICATES)
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    outcome.assert_outcomes(passed=1, failed=2)
    outcome.stdout.fnmatch_lines(
        [
            '*KeyError: "a mistake of the test\'s"',
            "*PredicateFailed: a fault's predicate raised KeyError*",
            "FAILED *::test_of_a_fixture*",
            "FAILED *::test_of_a_cluster*",
        ]
    )


@pytest.mark.parametrize(
    ("ini", "sentence"),
    [
        (
            "barnabas_settings = num.partitons=3",
            "barnabas_settings: num.partitons=3: there is no setting num.partitons;"
            " did you mean num.partitions?",
        ),
        ("barnabas_settings = num.partitions", "barnabas_settings: num.partitions: write it as"),
        (
            "barnabas_settings = listeners=SSL://:0\n  security.inter.broker.protocol=SSL",
            "the broker of a fixture does not start: SSL is not supported yet",
        ),
        ("barnabas_cluster_brokers = none", "barnabas_cluster_brokers=none: it is a number from 1"),
    ],
)
def test_an_ini_file_that_cannot_be_used_is_one_line(
    ini: str, sentence: str, pytester: pytest.Pytester
) -> None:
    fixture = "barnabas_cluster" if "cluster" in ini else "barnabas_broker"
    pytester.makepyfile(f"def test_one({fixture}): pass")
    pytester.makeini(f"[pytest]\n{ini}\n")
    outcome = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    outcome.assert_outcomes(errors=1)
    said = outcome.stdout.str()
    assert sentence in said
    assert "barnabas/" not in said and "Traceback" not in said and "server/testing" not in said
