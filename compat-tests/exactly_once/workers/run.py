"""One client in a process: `python -m exactly_once.workers.run role=writer client=librdkafka ...`.

It works until its input ends, then finishes what it has begun. Exit code 3: its producer was of
no use any more (fenced, for one); whoever started it starts another.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
from pathlib import Path

from exactly_once.workers.consumers import CONSUMERS
from exactly_once.workers.producers import PRODUCERS, Fatal
from exactly_once.workers.recorder import Recorder
from exactly_once.workers.roles import Options, Transactions, move, read, write

OF_NO_USE = 3
LIBRARIES = ("kafka.errors", "cimpl")


def main() -> None:
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    logging.disable(logging.CRITICAL)
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    code = 0
    try:
        _work(given, over)
    except Fatal as fatal:
        print(given["name"], fatal, file=sys.stderr)
        code = OF_NO_USE
    except Exception as error:
        traceback.print_exc()
        theirs = type(error).__module__.startswith(LIBRARIES) or isinstance(error, SystemError)
        code = OF_NO_USE if theirs else 1  # confluent-kafka's flush, where its error is fatal
    sys.stderr.flush()
    os._exit(code)  # no client gets to close: a consumer of either kind may wait for ever


def _work(given: dict[str, str], over: threading.Event) -> None:
    recorder = Recorder(Path(given["history"]))
    options = Options(
        given["name"],
        given["id"],
        given["bootstrap"],
        given["seed"],
        int(given["partitions"]),
        given.get("source", ""),
        given.get("target", ""),
        given.get("group", ""),
        given.get("committed", "1") == "1",
    )
    consumer_of, producer_of = CONSUMERS[given["client"]], PRODUCERS[given["client"]]
    if given["role"] == "reader":
        consumer = consumer_of(options.bootstrap, options.name, committed=options.committed)
        read(options, recorder, consumer, over)
        return
    producer = producer_of(options.bootstrap, options.transactional_id)
    transactions = Transactions(options, producer, recorder)
    transactions.start()
    if given["role"] == "writer":
        write(options, transactions, over)
    else:
        consumer = consumer_of(options.bootstrap, options.group, committed=True)
        move(options, transactions, consumer, over)
        consumer.close()


if __name__ == "__main__":
    main()
