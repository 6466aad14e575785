"""For the tests of both folders: what their brokers say is searched for complaints."""

pytest_plugins = ["tests.broker_output"]
