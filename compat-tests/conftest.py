"""Every test that talks to foreign programs gets Barnabas's own fixtures."""

pytest_plugins = ["barnabas.server.testing.pytest_plugin", "broker_fixture"]

collect_ignore_glob = ["*/target"]  # built or installed there, some with tests of their own
