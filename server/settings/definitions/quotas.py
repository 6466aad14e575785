"""How rates are measured."""

TABLE = """
quota.window.num int 11 low [1..]
    Windows over which a client's rate is measured.
quota.window.size.seconds int 1 low [1..]
    Length of one of those windows.
replication.quota.window.num int 11 low [1..]
    Windows over which replication is measured.
replication.quota.window.size.seconds int 1 low [1..]
    Length of one of those windows.
alter.log.dirs.replication.quota.window.num int 11 low [1..]
    Windows over which moves between data directories are measured.
alter.log.dirs.replication.quota.window.size.seconds int 1 low [1..]
    Length of one of those windows.
controller.quota.window.num int 11 low [1..]
    Windows over which changes of topics are measured.
controller.quota.window.size.seconds int 1 low [1..]
    Length of one of those windows.
client.quota.callback.class class null low
    A class that decides clients' quotas.
"""
