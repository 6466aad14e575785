"""`barnabas log`: look into, check and mend the files of a log, ours or Apache Kafka's."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from barnabas.server.cli.log_tools.files import BadPath
from barnabas.server.cli.log_tools.formats import Format
from barnabas.server.cli.log_tools.internal_topics import RECORDS
from barnabas.storage.errors import StorageError

BAD_INPUT = 2
FORMATS = click.Choice([how.value for how in Format])


@click.group()
def log() -> None:
    """Look into, check and mend log files, ours or Apache Kafka's, without a broker."""


@log.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@click.option("--offset", default=0, metavar="N", help="Leave out what lies below this offset.")
@click.option("--max", "most", type=click.IntRange(min=1), metavar="N",
              help="Stop after this many records (or entries, in other files).")  # fmt: skip
@click.option("--no-records", is_flag=True, help="The batches only, without their records.")
@click.option("--keys", type=FORMATS, default="auto", help="How to show keys.")
@click.option("--values", type=FORMATS, default="auto", help="How to show values and headers.")
@click.option("--decode-as", "topic", type=click.Choice(["none", *RECORDS]), metavar="TOPIC",
              help="Decode records as those of this internal topic (none: not at all), whatever"
              " the directory is called.")  # fmt: skip
def dump(
    path: Path, as_json: bool, offset: int, most: int | None, no_records: bool, keys: str,
    values: str, topic: str | None,
) -> None:  # fmt: skip
    """Print what is in PATH: a segment, an index, a producer snapshot, a checkpoint file, a
    partition's directory or a whole data directory.

    Exits with 1 if something in it is damaged.

    \b
    barnabas log dump data/orders-0 --offset 1000 --max 10
    barnabas log dump data/__consumer_offsets-3 --json
    """
    from barnabas.server.cli.log_tools.dump import dump as show
    from barnabas.server.cli.log_tools.segment_rows import Options

    options = Options(offset, not no_records, Format(keys), Format(values), topic)
    _run(lambda: show(path, options, as_json=as_json, most=most))


@log.command()
@click.argument("paths", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="PATH…")
@click.option("--compare", is_flag=True, help="Hold the replicas in several directories together.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per problem.")
@click.option("--shallow", is_flag=True, help="Check batches by their CRC, not record by record.")
def verify(paths: tuple[Path, ...], compare: bool, as_json: bool, shallow: bool) -> None:
    """Check a partition's directory or a whole data directory, and say what is wrong where.

    Looks at batches (CRC, lengths, offsets, records), indexes against their log, producer
    snapshots, leader epochs, checkpoints, meta.properties and partition.metadata. Exits with 1
    if something is wrong. The broker should be stopped.

    With --compare it takes the data directories of several brokers of a cluster instead: are the
    replicas of each partition the same, byte by byte, up to the lowest of their log ends? Says
    the first difference of each, and where segments begin at other offsets, so that batches
    were compared, not files. What compaction has been through is left out: each replica
    compacts for itself.

    \b
    barnabas log verify data
    barnabas log verify --compare data-1 data-2 data-3
    """
    if compare:
        from barnabas.server.cli.log_tools.compare import compare as hold_together

        return _run(lambda: hold_together(paths, as_json=as_json))
    if len(paths) > 1:
        raise click.UsageError("one PATH; several are for --compare")
    from barnabas.server.cli.log_tools.verify import verify as check

    _run(lambda: check(paths[0], as_json=as_json, shallow=shallow))


@log.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per change.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE",
              help="A topic setting that recovery goes by.")  # fmt: skip
def repair(path: Path, dry_run: bool, as_json: bool, settings: tuple[str, ...]) -> None:
    """Recover a partition's directory or a whole data directory from its start, as a broker
    does with what lies above the recovery point after a crash.

    Every batch is checked; the log is cut at the first bad one; indexes, producer snapshots and
    leader epochs are made anew. The broker has to be stopped. Exits with 1 if there was
    something to do.

    New indexes have an entry every 4096 bytes unless index.interval.bytes is set; offsets
    missing between segments are put down to compaction unless cleanup.policy=delete is set.
    """
    from barnabas.server.cli.log_tools.repair import repair as recover

    named = dict(_name_and_value(setting) for setting in settings)
    _run(lambda: recover(path, named, dry_run=dry_run, as_json=as_json))


def _name_and_value(setting: str) -> tuple[str, str]:
    name, equals, value = setting.partition("=")
    if not equals:
        raise click.BadParameter(f"{setting!r} is not NAME=VALUE", param_hint="--set")
    return name.strip(), value.strip()


def _run(work: Callable[[], bool]) -> None:
    """Exit with 0 if all was well, 1 if not, 2 if the work could not be done.

    A reader that has gone is the main command's to deal with.
    """
    try:
        is_well = work()
    except BrokenPipeError:
        raise
    except (BadPath, OSError, StorageError) as error:
        print(f"barnabas: {_reason(error)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    sys.stdout.flush()
    sys.exit(0 if is_well else 1)


def _reason(error: BadPath | OSError | StorageError) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be read').lower()}"
    return str(error)
