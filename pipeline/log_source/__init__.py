"""Segment files as a Spark source, `spark.read.format("barnabas-log")`, without a broker.

    from barnabas.pipeline.log_source.source import register
    register(spark)
    spark.read.format("barnabas-log").option("subscribe", "orders").load("/var/lib/kafka")

`plan` (directories, partition_log, transactions, pieces) runs on the driver and looks at headers
and indexes only; `reading` (records, columns) runs on the executors and makes Arrow batches.
"""
