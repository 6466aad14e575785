"""Brokers of ours and of Apache Kafka 3.9.1 in one cluster, on one ZooKeeper.

`ground.py` starts them and looks at what they have, `registry.py` reads their ZooKeeper. A test
file has one cluster; its last test stops all brokers and compares what they have left.
"""
