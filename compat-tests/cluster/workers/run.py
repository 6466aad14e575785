"""One client in a process: `python -m cluster.workers.run role=producer client=librdkafka ...`.

It works until its input ends, then finishes what it has begun. Exit code 3: it was of no use any
more; whoever started it starts another.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import traceback
from pathlib import Path
from random import Random

from exactly_once.checker.history import Place
from exactly_once.workers.recorder import Recorder

from cluster.workers.consumers import MEMBERS, Records, Trouble
from cluster.workers.producers import PRODUCERS, Fatal

OF_NO_USE = 3
MOST_UNDER_WAY = 500
TICK_S = 0.02


def main() -> None:
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    logging.disable(logging.CRITICAL)
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    code = 0
    try:
        recorder = Recorder(Path(given["history"]))
        (produce if given["role"] == "producer" else consume)(given, recorder, over)
    except Fatal as fatal:
        print(given["name"], fatal, file=sys.stderr)
        code = OF_NO_USE
    except Exception:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)  # no client gets to close: it may wait for ever


def produce(given: dict[str, str], recorder: Recorder, over: threading.Event) -> None:
    """Records to the partitions of one topic, `rate` of them a second."""
    idempotent = given["kind"] == "idempotent"
    producer = PRODUCERS[given["client"]](given["bootstrap"], idempotent=idempotent)
    chance, name, topic = Random(given["seed"]), given["name"], given["topic"]
    partitions, rate = int(given["partitions"]), float(given["rate"])
    order = idempotent or given["client"] != "librdkafka"
    recorder.note("producer", p=name, kind=given["kind"], t=topic, keeps_order=order)
    count, under_way, began_at = 0, [0], time.monotonic()

    def send() -> None:
        number, partition = count, chance.randrange(partitions)
        under_way[0] += 1

        def done(offset: int, error: str) -> None:
            under_way[0] -= 1
            if error:
                recorder.note("failed", p=name, n=number, error=error)
            else:
                recorder.note("acked", p=name, n=number, q=partition, o=offset)

        producer.send(topic, partition, f"{name}/{number}", done)

    while not over.is_set():
        while count < (time.monotonic() - began_at) * rate and under_way[0] < MOST_UNDER_WAY:
            count += 1
            send()
        if under_way[0] >= MOST_UNDER_WAY:  # what was not sent meanwhile is not made up for
            began_at = time.monotonic() - count / rate
        producer.serve(TICK_S)
    producer.flush()
    recorder.note("sent", p=name, count=count)


def consume(given: dict[str, str], recorder: Recorder, over: threading.Event) -> None:
    """A member of a group: reads, and commits what it has read."""
    name, group = given["name"], given["group"]

    def resumed(ask: object) -> None:
        assert callable(ask)
        asked_at = time.monotonic_ns()
        try:
            committed: dict[Place, int] = ask()
        except Exception as error:
            return recorder.note("trouble", c=name, error=repr(error))
        for place, offset in committed.items():
            recorder.note(
                "resumed", c=name, g=group, t=place[0], q=place[1], o=offset, asked=asked_at
            )

    member = MEMBERS[given["client"]](given["bootstrap"], group, given["topic"].split(","), resumed)
    while not over.is_set():
        polled = member.poll()
        if polled:
            _note(name, group, polled, recorder)
            offsets = {place: records[-1][0] + 1 for place, records in polled.items()}
            try:
                member.commit(offsets)
            except Trouble as trouble:
                recorder.note("trouble", c=name, error=str(trouble))
                continue
            for place, offset in offsets.items():
                recorder.note("committed", c=name, g=group, t=place[0], q=place[1], o=offset)
    member.close()


def _note(name: str, group: str, polled: Records, recorder: Recorder) -> None:
    for place, records in polled.items():
        recorder.note("poll", c=name, g=group, t=place[0], q=place[1], r=records)


if __name__ == "__main__":
    main()
