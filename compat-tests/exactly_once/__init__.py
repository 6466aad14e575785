"""A Jepsen-style check of exactly-once: clients move records while everything around them breaks.

`workers/` are the clients, each in a process of its own, which write down what they do before
they do it. `nemesis.py` kills, stops and cuts, `proxy.py` delays and loses what they say;
`workload.py` runs it all, `final.py` reads what is there at last, `checker/` reads what was
written down and names what must not have happened.
"""
