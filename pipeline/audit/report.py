"""The report: one HTML file that needs nothing else, the verdict on top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

from barnabas.pipeline.audit import gap_map, time_plots
from barnabas.pipeline.audit.drawing import picture
from barnabas.pipeline.audit.kinds import FAULTS, GAPS, MEANINGS, Kind
from barnabas.pipeline.audit.summary import Found, PartFound
from barnabas.pipeline.audit.verdict import (
    fault_lines,
    name_of,
    verdict,
)

MOST_FAULTS = 50
MOST_PARTS = 500


def to_html(found: Found) -> str:
    """The whole page."""
    css = files("barnabas.pipeline.audit").joinpath("page.css").read_text()
    body = "\n".join(_sections(found))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(_title(found))}</title>\n<style>\n{css}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _title(found: Found) -> str:
    return f"{'Clean' if found.is_clean else 'Faults'}: audit of {', '.join(found.topics[:3])}"


def _sections(found: Found) -> Iterator[str]:
    yield _header(found)
    yield _tiles(found)
    if not found.is_clean:
        yield _faults(found)
    if found.cells:
        yield _gap_map(found)
    yield _explained(found)
    if found.volumes:
        yield _section(
            "Volume by partition over time",
            "Rows in the lake by the time of the event: above all of them, below each partition, "
            f"the darker the more{_left_out(found)}.",
            picture(
                lambda width: time_plots.draw_volume(found, width), "Rows by partition and time"
            ),
        )
    if found.delays:
        yield _section(
            "Delay from event to landing",
            "By the time of the event. Line: half of the records landed sooner; band: up to 95 of "
            "100; dashed: the last to land.",
            picture(
                lambda width: time_plots.draw_delay(found, width), "Delay from event to landing"
            ),
        )
    yield _partitions(found)
    yield _footer(found)


def _section(title: str, text: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2><p>{escape(text)}</p>{content}</section>"


def _header(found: Found) -> str:
    mark = "Clean" if found.is_clean else "At fault"
    look = "verdict" if found.is_clean else "verdict bad"
    moment = _moment(found.audited_at_ms)
    said = (
        f"Lake {found.lake} held against {found.bootstrap} (cluster {found.cluster_id}) on "
        f"{moment} UTC; {'all' if found.is_everything else 'committed'} records of "
        f"{', '.join(found.topics[:8])}{', …' if len(found.topics) > 8 else ''}."
    )
    return (
        f'<header><div class="{look}"><span class="mark">{mark}</span>'
        f"<h1>{escape(verdict(found))}</h1></div><p>{escape(said)}</p></header>"
    )


def _tiles(found: Found) -> str:
    gaps = sum(part.gap_count for part in found.parts)
    faults = sum(part.fault_count for part in found.parts) + len(found.files)
    tiles = [
        (found.broker_records, "records in the broker", ""),
        (found.lake_rows, "rows in the lake", ""),
        (gaps, "offsets explained", ""),
        (faults, "faults", " bad" if faults else ""),
    ]
    cells = "".join(
        f'<div class="tile{look}"><b>{count:,}</b><span>{text}</span></div>'
        for count, text, look in tiles
    )
    return f'<div class="tiles">{cells}</div>'


def _faults(found: Found) -> str:
    lines = list(fault_lines(found))
    items = "".join(f"<li>{escape(line)}</li>" for line in lines[:MOST_FAULTS])
    if len(lines) > MOST_FAULTS:
        items += f"<li>and {len(lines) - MOST_FAULTS:,} more, which the JSON names</li>"
    return f'<section><h2>What is wrong</h2><ul class="faults">{items}</ul></section>'


def _gap_map(found: Found) -> str:
    present = {gap_map.ROLE_OF[cell.kind] for cell in found.cells}
    legend = "".join(
        f'<span><i style="background:var(--{role})"></i>{text}</span>'
        for role, text in gap_map.LEGEND
        if role in present
    )
    left = len(found.map_ranges) - len(gap_map.strips(found))
    more = f" The {left:,} partitions that are left out have no fault." if left else ""
    return _section(
        "Gap map",
        "Each partition from its first offset to its last: what most of a place is, below it the "
        f"gaps there, across it any fault.{more}",
        f'<div class="legend">{legend}</div>'
        + picture(lambda width: gap_map.draw(found, width), "What every offset is"),
    )


def _explained(found: Found) -> str:
    rows = [
        f'<tr><td class="name{" fault" if kind in FAULTS else ""}">{kind.value}</td>'
        f'<td class="number">{found.total(kind):,}</td>'
        f'<td class="quiet">{escape(MEANINGS[kind])}</td>'
        f'<td class="quiet">{escape(_where(found, kind))}</td></tr>'
        for kind in Kind
        if found.total(kind)
    ]
    table = (
        '<table class="explained"><thead><tr><th>What</th><th class="number">Offsets</th>'
        f"<th>Which means</th><th>Where</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )
    text = "What every offset is, of the broker's log and of the lake."
    return _section("Every offset", text, table)


def _where(found: Found, kind: Kind) -> str:
    places = [name_of(part.part.key) for part in found.parts if part.count(kind)]
    more = f", and {len(places) - 3:,} more" if len(places) > 3 else ""
    return ", ".join(places[:3]) + more


def _left_out(found: Found) -> str:
    shown = time_plots.rows_shown(found)
    with_rows = len(time_plots.rows_by_part(found))
    left = with_rows - len(shown)
    return f" (the {len(shown)} largest of {with_rows:,})" if left else ""


def _partitions(found: Found) -> str:
    ordered = sorted(found.parts, key=lambda part: part.fault_count == 0)
    head = "".join(
        f"<th{look}>{text}</th>"
        for text, look in (
            ("Partition", ""),
            ("Log", ""),
            ("Broker", ' class="number"'),
            ("Lake", ' class="number"'),
            ("Gaps explained", ""),
            ("Faults", ""),
        )
    )
    rows = "".join(_part_row(part) for part in ordered[:MOST_PARTS])
    left = len(ordered) - MOST_PARTS
    more = f" {left:,} more are in the JSON." if left > 0 else ""
    return _section(
        "Partitions",
        "The log is from its first offset to its end; in brackets where committed records end, if "
        f"that is before it.{more}",
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>",
    )


def _part_row(found: PartFound) -> str:
    part = found.part
    log = f"{part.log_start:,} … {part.log_end:,}"
    if part.last_stable < part.log_end:
        log += f" ({part.last_stable:,})"
    if not part.is_current:
        log = "no longer there"
    return (
        f'<tr><td class="name">{escape(name_of(part.key))}</td>'
        f'<td class="name quiet">{log}</td>'
        f'<td class="number">{found.broker_records:,}</td>'
        f'<td class="number">{found.lake_rows:,}</td>'
        f'<td class="quiet">{_kinds_text(found, GAPS)}</td>'
        f'<td class="fault">{_kinds_text(found, FAULTS)}</td></tr>'
    )


def _kinds_text(found: PartFound, kinds: Iterable[Kind]) -> str:
    chosen = frozenset(kinds)
    said = [
        f"{each.count:,} {each.kind.value}" for each in found.kinds.values() if each.kind in chosen
    ]
    return escape(", ".join(said)) or "-"


def _footer(found: Found) -> str:
    notes = "".join(f"<p>{escape(note[:1].upper() + note[1:])}.</p>" for note in found.notes)
    unnamed = (
        f" {found.unnamed_files:,} Parquet files in its folder are named by none."
        if found.unnamed_files
        else ""
    )
    said = f"{found.file_count:,} files of the lake are named by its entries.{unnamed}"
    return f"<footer>{notes}<p>{said} Made by barnabas pipeline audit.</p></footer>"


def _moment(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%d %B %Y, %H:%M:%S")
