"""The controller of a cluster: who leads what, and how the brokers hear of it.

Knows the registry, and the brokers as receivers of requests; nothing of logs.

office            standing for election, keeping and losing the office
decisions             what becomes of topics and partitions when something happens
retried_events        the queue of what has happened, and of what is asked
leading               partitions: their states as written, and as brokers know them
elections             who leads: pure
online                which replicas may lead
elections_on_request  preferred and unclean elections
rebalancing           preferred elections by the clock
reassignments         partitions that move to other replicas
reassignment          of one partition: pure
notified              in-sync sets and failed disks, told by znodes
shutdowns             brokers that ask to be relieved
deletions             topics on their way out
announcements         what brokers are told, each what concerns it
control_messages      LeaderAndIsr, UpdateMetadata, StopReplica; pure
channels              one broker after the other is told, each in order
live_brokers          who has come and gone
"""
