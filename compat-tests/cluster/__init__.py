"""Nothing is lost: three brokers and a ZooKeeper under load, while everything around them breaks.

`nodes.py` are the broker processes, of ours or of Apache Kafka's, `links.py` the wires between
them, `nemesis.py` kills, pauses, stops, cuts and fills as a seed decides. `workers/` produce with
acks=all and consume with commits, those of `exactly_once` run transactions beside them; each
writes down what it was told. `registry_watch.py` writes down who led in which epoch. `run.py`
does it all and heals everything at the end, `final.py` reads what is there then, and `checker/`
holds one against the other; `report.py` puts brokers side by side.
"""
