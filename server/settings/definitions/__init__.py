"""Every setting of the broker, as tables by area; `table` reads them, `config` uses them.

A stanza is one setting:

    name type default importance [mode] [flags] [limit]
      4.4: what differs in Kafka 4.4
        One sentence.

The definitions are those of Kafka 3.9.1, and of 4.4 for the names that only 4.4 has. The default
is `null` for none, `""` for empty text and `required` where there must be a value. The mode is
how the setting may change at run time: not at all when left out, `per-broker`, or `cluster-wide`
(then for one broker too). Flags: `internal` (not shown), `3.9-only`, `4.4-only`, `dynamic-only`
(cannot stand in a file), `plugin` (not in Kafka's definitions). `limits` explains the limits.
"""
