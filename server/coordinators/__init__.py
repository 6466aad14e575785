"""What every coordinator of names shares: which partition a name belongs to, who leads it.

Knows the partitions of an internal topic and the records in them; nothing of groups,
transactions or whatever else is kept there. A coordinator brings two things: a `CoordinatedTopic`
that says where and how it writes, and a class derived from `Shard` that makes records into state.

topic          the internal topic and its settings
partitioning   the partition of a name
shards         the partitions led here, the states each goes through
leadership     partitions come and go: loaded, failed and tried again, retired
loading        a log read back in slices
writer         one batch per decision, told when it is safe
first_use      the topic is made when it is first needed
"""
