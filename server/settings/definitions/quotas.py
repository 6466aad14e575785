"""How rates are measured."""

from barnabas.server.settings.definitions.limits import CLASS
from barnabas.server.settings.definitions.row import LOW, Row
from barnabas.storage.setting_types import INT, at_least

# fmt: off
ROWS = (
    Row("quota.window.num", INT, "11", LOW, limit=at_least(1),
        text="Windows over which a client's rate is measured."),
    Row("quota.window.size.seconds", INT, "1", LOW, limit=at_least(1),
        text="Length of one of those windows."),
    Row("replication.quota.window.num", INT, "11", LOW, limit=at_least(1),
        text="Windows over which replication is measured."),
    Row("replication.quota.window.size.seconds", INT, "1", LOW, limit=at_least(1),
        text="Length of one of those windows."),
    Row("alter.log.dirs.replication.quota.window.num", INT, "11", LOW, limit=at_least(1),
        text="Windows over which moves between data directories are measured."),
    Row("alter.log.dirs.replication.quota.window.size.seconds", INT, "1", LOW, limit=at_least(1),
        text="Length of one of those windows."),
    Row("controller.quota.window.num", INT, "11", LOW, limit=at_least(1),
        text="Windows over which changes of topics are measured."),
    Row("controller.quota.window.size.seconds", INT, "1", LOW, limit=at_least(1),
        text="Length of one of those windows."),
    Row("client.quota.callback.class", CLASS, None, LOW,
        text="A class that decides clients' quotas."),
)
# fmt: on
