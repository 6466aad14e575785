"""Whose fault is it? What a broker has stored tells its faults from those of clients.

An idempotent producer that gives up on a record takes a new epoch, and librdkafka sends again
under it what was under way: no broker can know that it has it already.
"""

from __future__ import annotations

from exactly_once.checker.blame import Log, Verdict

from cluster.checker.anomalies import Anomaly, Kind


def blame(anomaly: Anomaly, log: Log) -> Verdict:
    """What the log says about an anomaly: "broker" unless it is certainly a client's."""
    copies = [copy for value in anomaly.values for copy in log.get(value, ())]
    copies = [copy for copy in copies if copy.place == anomaly.place]
    producers = {(copy.producer_id, copy.producer_epoch) for copy in copies}
    if anomaly.kind is Kind.DOUBLED and len(producers) == len(copies) > 1:
        return Verdict("client", f"sent once each as {_told(producers)}")
    if anomaly.kind is Kind.REORDERED and len(copies) == 2:
        before, after = copies
        if before[3:5] != after[3:5]:
            return Verdict("client", f"sent as {_told(producers)}")
        if before.sequence > after.sequence >= 0:
            return Verdict("client", "it numbered them in this order")
    return Verdict("broker", "; ".join(map(str, copies)))


def _told(producers: set[tuple[int, int]]) -> str:
    return " and ".join(f"producer {each} of epoch {epoch}" for each, epoch in sorted(producers))
