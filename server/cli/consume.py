"""`barnabas consume`: the records of topics, from one position to another, or as they come."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import click

from barnabas.server.cli.client_settings import ADMIN, CONSUMER, settings_for
from barnabas.server.cli.completion import complete_groups, complete_topics
from barnabas.server.cli.connection import Cluster, common_settings, connected, sentences
from barnabas.server.cli.failures import BadInput
from barnabas.server.cli.log_tools.formats import Format
from barnabas.server.cli.offsets import Place, places_of
from barnabas.server.cli.options import Option, bootstrap_option, client_option, json_option
from barnabas.server.cli.output import counted, note
from barnabas.server.cli.ranges import bounds, check_position, positions
from barnabas.server.cli.reading import METADATA_MS, Files, Output, Range, Sink, read
from barnabas.server.cli.record_formats import printer
from barnabas.server.cli.signals import end_by_sigterm
from barnabas.server.cli.topic_patterns import compiled, is_pattern, named_topics
from barnabas.server.cli.topics_option import chosen_topics, topic_option

RETRY_MS = 10
RECONNECT_MOST_MS = 1000
FORMATS = click.Choice([how.value for how in Format])
DEFAULT_FORMAT = "value"
ALL, COMMITTED = "read_uncommitted", "read_committed"


class Wish(NamedTuple):
    """What was typed of where reading begins and ends."""

    start: str
    end: str | None
    partitions: tuple[int, ...]
    most: int | None
    tail: int | None
    follow: bool


@click.command()
@click.argument("topics", metavar="[TOPIC…]", nargs=-1, shell_complete=complete_topics)
@topic_option
@click.option("--from", "-o", "starts", cls=Option, also=("--offset",), multiple=True,
              metavar="POSITION", help="earliest, latest, an offset, -N (from the end) or a time."
              "  [default: earliest]")  # fmt: skip
@click.option("--to", "end", metavar="POSITION", help="Stop before it; the present end.")
@click.option("--partition", "-p", "partitions", type=click.IntRange(0), multiple=True,
              help="Only this one; may be given more than once.")  # fmt: skip
@click.option("--max", "-n", "most", cls=Option, also=("-c", "--num", "--max-messages"),
              type=click.IntRange(1), metavar="N", help="Stop after N records.")  # fmt: skip
@click.option("--tail", type=click.IntRange(1), metavar="N",
              help="The last N records of all partitions, by time.")  # fmt: skip
@click.option("--follow", is_flag=True, help="Go on with what comes; Ctrl-C ends.")
@click.option("--group", "-g", cls=Option, also=("-G",), metavar="GROUP",
              shell_complete=complete_groups,
              help="Read as a member of this group, and commit what was read.")  # fmt: skip
@click.option("--format", "-f", "form", default=DEFAULT_FORMAT, show_default=True,
              metavar="FORMAT",
              help=r"value, key-value, full, json, '{offset} {key}' or '%o %s\n'.")  # fmt: skip
@click.option("--key-separator", "-K", "separator", metavar="TEXT",
              help="Print keys as well, with this behind each.")  # fmt: skip
@click.option("--keys", type=FORMATS, default="auto", show_default=True, help="How bytes show.")
@click.option("--values", type=FORMATS, default="auto", show_default=True, help="How bytes show.")
@click.option("--files", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Write each record to a file of DIR, TOPIC-PARTITION-OFFSET.")  # fmt: skip
@click.option("--committed", is_flag=True, help="Leave out what no transaction has committed.")
@click.option("-e", "ends", is_flag=True, hidden=True, help="kcat's: end at the end, as it does.")
@bootstrap_option
@client_option
@json_option
def consume(
    topics: tuple[str, ...], also_topics: tuple[str, ...], starts: tuple[str, ...],
    end: str | None, group: str | None, form: str, separator: str | None, keys: str, values: str,
    files: Path | None, committed: bool, ends: bool, bootstrap: str,
    client_settings: tuple[str, ...], as_json: bool, **wish: Any,
) -> None:  # fmt: skip
    """Print the records of topics, by partition in order, up to their present end.

    TOPIC may be a pattern: 'orders-*' or '/orders-[0-9]+/'. A time is 2026-03-01T12:30:00Z, 10m
    (ago), or @ and milliseconds since 1970. --json is short for --format json.

    In formats with {…}: topic, partition, offset, timestamp, key, value, headers, headers.NAME.
    With %: %t topic, %p partition, %o offset, %T time, %k key, %s value, %h headers, %K and %S
    sizes, as kcat has them; \\n and the like are needed there.

    With --group partitions are shared with the other members. It begins where the group has
    committed, or with --from earliest or latest, and what was printed is committed.

    \b
    barnabas consume orders
    barnabas consume orders --from -10 --follow
    barnabas consume orders --from 1h --partition 0 --format '{offset} {key} {value}'
    barnabas consume 'orders-*' --group billing --follow --format '%t:%p:%o %k %s\\n'
    barnabas consume orders --json --values json | jq .value.total
    """
    end_by_sigterm()
    start, end = bounds(starts, end)
    wanted = Wish(start, end, **wish)
    names = chosen_topics(topics, also_topics)
    _check(wanted, group)
    sink = _sink(files, "json" if as_json else form, separator, Format(keys), Format(values))
    given = settings_for(CONSUMER, client_settings, (ADMIN,))
    settings = common_settings(bootstrap) | _consumer_settings(wanted.follow) | given
    settings["isolation_level"] = COMMITTED if committed else given.get("isolation_level", ALL)
    is_committed = settings["isolation_level"] == COMMITTED
    with connected(bootstrap, client_settings, beside=(CONSUMER,)) as cluster:
        found = named_topics(cluster, names)
        places = [
            place
            for name in found
            for place in places_of(cluster, name, wanted.partitions, "--partition")
        ]
        settings["bootstrap_servers"] = cluster.bootstrap_servers
        begin = None if group else _begin(cluster, places, wanted, is_committed)
    with sentences(bootstrap):
        if begin is None:
            from barnabas.server.cli.group_reading import read_as_member

            pattern = _pattern(names)
            if pattern is not None:
                settings["exclude_internal_topics"] = True
            settings |= {"group_id": group, "auto_offset_reset": wanted.start}
            read_as_member(settings, found, pattern, wanted.most, sink, follow=wanted.follow)
        else:
            _alone(settings, begin, wanted, sink)
    if isinstance(sink, Files):
        note(f"{counted(sink.count, 'file')} in {files}")


def _check(wanted: Wish, group: str | None) -> None:
    if group == "":
        raise BadInput("--group: '' is no group; leave it out to read without one")
    if not group or wanted.start not in ("earliest", "latest"):
        check_position(wanted.start, "--from")
    if wanted.end is not None:
        check_position(wanted.end, "--to")
    if wanted.follow and wanted.end is not None:
        raise BadInput("--follow, --to: only one of them; --follow has no end")
    if group and (wanted.end or wanted.partitions or wanted.tail):
        raise BadInput("--group: --to, --partition and --tail are for reading without a group")
    if group and wanted.start not in ("earliest", "latest"):
        raise BadInput("--group: --from is earliest or latest there, where nothing is committed")
    if wanted.tail and wanted.most:
        raise BadInput("--tail, --max: only one of them")


def _sink(
    files: Path | None, form: str, separator: str | None, keys: Format, values: Format
) -> Sink:
    from barnabas.server.cli.escapes import unescaped

    if separator is not None and form == DEFAULT_FORMAT:
        form = "key-value"
    show = printer(form, keys, values, unescaped("\t" if separator is None else separator))
    if files is None:
        return Output(show)
    is_raw = form == DEFAULT_FORMAT and values is Format.AUTO
    return Files(files, None if is_raw else show)


def _consumer_settings(follow: bool) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "group_id": None,
        "retry_backoff_ms": RETRY_MS,  # its own 100 ms pass before the first fetch
        "reconnect_backoff_max_ms": RECONNECT_MOST_MS,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",  # of what was deleted meanwhile nothing more is skipped
        "allow_auto_create_topics": False,
        "exclude_internal_topics": False,
        "metrics_enabled": False,
    }
    return settings | ({"metadata_max_age_ms": METADATA_MS} if follow else {})


def _begin(cluster: Cluster, places: list[Place], wanted: Wish, committed: bool) -> Range:
    starts = positions(cluster, places, wanted.start, committed=committed)
    if wanted.follow and not wanted.tail:
        return Range(starts, None, wanted.most, bool(wanted.partitions))
    ends = positions(cluster, places, wanted.end or "latest", committed=committed)
    is_plain = wanted.start == "earliest" and wanted.end is None
    if not is_plain and all(at >= ends[place] for place, at in starts.items()):
        note(f"no records from {wanted.start} to {wanted.end or 'the present end'}")
    return Range(starts, ends, wanted.most)


def _alone(settings: dict[str, Any], begin: Range, wanted: Wish, sink: Sink) -> None:
    if not wanted.tail:
        read(settings, begin, sink)
        return
    from barnabas.server.cli.tail import read_tail

    read_tail(settings, begin, wanted.tail, sink)
    if wanted.follow:
        assert begin.ends is not None
        read(settings, Range(begin.ends, None, None, bool(wanted.partitions)), sink)


def _pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """For a group all names as one pattern; None where none of them is a pattern."""
    if not any(map(is_pattern, names)):
        return None
    each = (compiled(n).pattern if is_pattern(n) else re.escape(n) for n in names)
    return re.compile("|".join(f"(?:{one})" for one in each))
