"""Both checkers over what a run has left: that of the load, and that of transactions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from exactly_once.checker.blame import Log
from exactly_once.checker.blame import blame as blame_transaction
from exactly_once.checker.check import check as check_transactions
from exactly_once.checker.history import Outcome
from exactly_once.checker.history import read_history as read_transactions
from exactly_once.stored import LOG, read_log

from cluster.checker.blame import blame
from cluster.checker.check import check
from cluster.checker.history import History, read_history
from cluster.clients import TOPICS
from cluster.result import Result
from cluster.workload import FIRST, SECOND, TRANSACTIONS

NS = 1_000_000_000


def judge(folder: Path, data: Path, result: Result) -> None:
    """Count what happened, name what must not have; `data` is one broker's, to tell whose fault."""
    history = read_history(sorted(folder.glob("*.jsonl")))
    found: Counter[str] = Counter()
    if anomalies := check(history):
        log = _log(folder, data, TOPICS)
        for anomaly in anomalies:
            verdict = blame(anomaly, log)
            if verdict.whose == "client":
                result.of_clients.append(f"{anomaly}; {verdict}")
            else:
                result.told.append(f"{anomaly}; {verdict}")
                found[anomaly.kind.value] += 1
    _count(history, result)
    transactions = read_transactions(sorted((folder / TRANSACTIONS).glob("*.jsonl")))
    result.transactions = dict(
        Counter(each.outcome.value for each in transactions.transactions.values())
    )
    if not result.transactions.get(Outcome.COMMITTED.value):
        result.failures.append("no transaction was committed")
    if wrong := check_transactions(transactions):
        log = _log(folder, data, (FIRST, SECOND))
        for anomaly in wrong:
            verdict = blame_transaction(anomaly, transactions, log)
            if verdict.whose == "client":
                result.of_clients.append(f"{anomaly}; {verdict}")
            else:
                result.told.append(f"transactions: {anomaly}; {verdict}")
                found[f"transactions: {anomaly.kind.value}"] += 1
    result.anomalies = dict(found)


def _log(folder: Path, data: Path, topics: Sequence[str]) -> Log:
    """What a broker has stored of some topics."""
    aside = folder / TRANSACTIONS / LOG / "-".join(topics)
    aside.mkdir(parents=True, exist_ok=True)
    for topic in topics:
        for partition in data.glob(f"{topic}-*"):
            (aside / partition.name).unlink(missing_ok=True)
            (aside / partition.name).symlink_to(partition)
    return read_log(aside)


def _count(history: History, result: Result) -> None:
    acked: Counter[str] = Counter()
    for producer in history.producers.values():
        name = producer.name.removeprefix("producer-").partition("#")[0]
        acked[name] += len(producer.acked)
        result.failed += len(producer.failed)
    result.acked = dict(acked)
    if not acked or not all(acked.values()):
        result.failures.append(f"a producer has not been acknowledged anything: {dict(acked)}")
    result.longest_pause_s = _longest_pause_s(history)
    result.read_by_group = sum(len(poll.records) for poll in history.polls)
    result.commits = len(history.committed)
    result.leader_epochs = len({(state.place, state.leader_epoch) for state in history.states})


def _longest_pause_s(history: History) -> float:
    """Between two acknowledgements, whoever got them."""
    times = sorted(ack.at for producer in history.producers.values() for ack in producer.acked)
    return max((b - a for a, b in pairwise(times)), default=0) / NS
