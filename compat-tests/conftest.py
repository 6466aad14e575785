"""Every test that talks to foreign programs gets Barnabas's own fixtures."""

pytest_plugins = ["barnabas.server.testing.pytest_plugin", "broker_fixture"]
