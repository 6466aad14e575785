"""Puts known faults back into a copy of the storage room, and sees to it that the bench finds
each of them: `scripts/planted`.

A planting is a list of replacements in files; one that fits nowhere is an error, so that
plantings follow the code. Exit code 1 if a fault goes unfound for `--seeds` histories.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
COPIED = ("storage", "tests", "wire", "server", "barnabas.py")

Planting = tuple[tuple[str, str, str], ...]
"""File, what is there, what is put in its place."""

SEQUENTIAL = (
    (
        "storage/compaction/cleaned_segment.py",
        'self.segment.log_file.open().write(b"".join(self._pending), position)',
        'self._fs.write(self.segment.log_file.open().fd, b"".join(self._pending))',
    ),
    (  # as if sources in the same cache had evicted it since the last write
        "storage/compaction/cleaned_segment.py",
        "            position = self._extent.size_bytes - self._pending_bytes\n",
        "            self.segment.log_file.close()\n"
        "            position = self._extent.size_bytes - self._pending_bytes\n",
    ),
)
PLANTINGS: dict[str, Planting] = {
    "1 compaction writes sequentially on a descriptor that is evicted": SEQUENTIAL,
    "1 the same, and nobody reads back what was written": (
        *SEQUENTIAL,
        ("storage/compaction/cleaned_segment.py", "if found != self._extent:", "if False:"),
        ("storage/manager/compaction_scheduler.py", "check_new_segment(log, group)", "pass"),
    ),
    "2 a file that is gone from under a compaction fails the disk": (
        (
            "storage/compaction/process.py",
            "Blame.DISK if is_disk_failure(error) else Blame.NOTHING",
            "Blame.DISK",
        ),
    ),
    "3 leavings stay, and undo every .swap at or above them": (
        (
            "storage/log/pending_deletions.py",
            "[name for name in fs.list_directory(directory) if is_leaving(name)]",
            "[]",
        ),
        (
            "storage/loading/leftovers.py",
            "if self._is_covered(base)}",
            "if base >= min(map(_base, self._cleaned))}",
        ),
    ),
    "4 checkpoints are not lowered before a truncation": (
        (
            "storage/manager/managed_log.py",
            "directory.before_truncation(directory, {partition: offset})",
            "pass",
        ),
    ),
    "5 what recovery made anew is not synced": (
        ("storage/loading/unclean_segments.py", " segment.sync()\n", " pass\n"),
        ("storage/loading/unclean_segments.py", "        if recovered:\n", "        if False:\n"),
    ),
    "6 two flushes of a log, flags set before the sync": (
        (
            "storage/manager/flusher.py",
            "            self._waiting[log].append(wanted)\n        else:",
            "            self._waiting[log].append(wanted)\n"
            "            self._serve(log)\n        else:",
        ),
        ("storage/manager/flusher.py", "waiting = self._waiting.pop(log)",
         "waiting = self._waiting.pop(log, [])"),
        (
            "storage/log/flush.py",
            "        return Flush(\n",
            "        epochs.synced_writes = epochs.writes\n"
            "        for each in segments:\n"
            "            each.synced_name_changes = each.name_changes\n"
            "        return Flush(\n",
        ),
    ),
    "7 a topic made again takes over the checkpoints of the old one": (
        ("storage/manager/data_directory.py", "self.before_creation(self, partition)", "pass"),
    ),
    "8 recovery does not note which transactions were aborted": (
        ("storage/segment/recovery.py", "segment.note_aborted(completed, stable_offset)", "pass"),
    ),
}  # fmt: skip


def plant(folder: Path, planting: Planting) -> None:
    """Put a fault into a fresh copy of what the bench needs."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.so")
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    for name, there, instead in planting:
        text = (folder / name).read_text()
        if there not in text:
            raise SystemExit(f"{name} has nothing like {there!r}: bring the planting up to date")
        (folder / name).write_text(text.replace(there, instead))


def seeds_needed(folder: Path, seeds: int) -> tuple[int | None, str]:
    """After how many histories the fault was found, None if it was not, and as what."""
    command = [sys.executable, "-m", "tests.storage.concurrent.all", "--first"]
    command += ["--seeds", str(seeds)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found = re.search(r"times (.*)\n\s+seeds \[(\d+)", result.stdout)
    if found is None and result.returncode:
        raise SystemExit(result.stderr[-3_000:])
    return (int(found[2]) + 1, found[1]) if found else (None, "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/planted", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seeds", type=int, default=2_000, help="at most, for each fault")
    parser.add_argument("--only", default="", help="faults whose names begin so")
    chosen = parser.parse_args()
    unfound = 0
    for name, planting in PLANTINGS.items():
        if name.startswith(chosen.only):
            with tempfile.TemporaryDirectory(prefix="planted-") as folder:
                plant(Path(folder), planting)
                needed, kind = seeds_needed(Path(folder), chosen.seeds)
            unfound += needed is None
            told = f"not found in {chosen.seeds} seeds" if needed is None else f"{needed} seeds"
            print(f"{name}: {told}  {kind[:100]}", flush=True)
    return 1 if unfound else 0


if __name__ == "__main__":
    sys.exit(main())
