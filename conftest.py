"""For the tests of both folders: what their brokers say is searched for complaints.

Generated examples are the same in every run, so that a test that fails, fails again; with
BARNABAS_RANDOM set they are others each time. They have no time limit each: a busy machine makes
no test fail.
"""

import os
import signal

from hypothesis import settings

# A shell ignores it for what it runs in the background, and that is inherited.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["tests.broker_output"]

settings.register_profile("ours", deadline=None, derandomize="BARNABAS_RANDOM" not in os.environ)
settings.load_profile("ours")
