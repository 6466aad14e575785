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
