"""For the tests of both folders: what their brokers say is searched for complaints."""

import signal

# A shell ignores it for what it runs in the background, and that is inherited.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.broker_output"]
