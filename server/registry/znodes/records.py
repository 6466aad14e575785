"""The journal's record format: snapshots and transactions as checksummed bytes.

A journal file is the eight bytes of `FILE_MAGIC` followed by records. All numbers are
big-endian.

    record       magic "ZNR\\xb7" · u32 length of payload · u32 CRC-32 of payload · payload
    payload      u8 type · body
    NODES (1)    any number of znodes, parents before children:
                 u32 path bytes · i32 data bytes (-1 null) · i64 czxid, mzxid, pzxid,
                 ctime, mtime · u32 version · u32 children ever created · i64 owner · path · data
    END (2)      i64 last zxid · u32 number of znodes: the snapshot is complete
    CHANGES (3)  i64 zxid · i64 time in ms · any number of operations:
                 u8 kind · u32 path bytes · i32 data bytes (-1 null) · i64 owner · path · data

A file is a snapshot (NODES records, one END) and then one CHANGES record per transaction with
consecutive zxids. Kinds are the tree's CREATED, DELETED and DATA_CHANGED. Refused operations
and version checks are not written, and versions and counters follow from replaying.
"""

import struct
from binascii import crc32
from collections.abc import Iterable, Iterator

from barnabas.server.registry.znodes.names import ROOT
from barnabas.server.registry.znodes.store import ANY_VERSION, ZnodeError
from barnabas.server.registry.znodes.tree import CREATED, DATA_CHANGED, DELETED, Change, Node, Tree

FILE_MAGIC = b"BARNREG\x01"
RECORD_MAGIC = b"ZNR\xb7"

NODES = 1
END = 2
CHANGES = 3

SNAPSHOT_RECORD_BYTES = 128 * 1024

_HEADER = struct.Struct(">4sII")
_NODE = struct.Struct(">IiqqqqqIIq")
_END = struct.Struct(">BqI")
_CHANGES = struct.Struct(">Bqq")
_OPERATION = struct.Struct(">BIiq")
HEADER_BYTES = _HEADER.size


class Malformed(Exception):
    """A record whose checksum is right but whose content makes no sense."""


def frame(payload: bytes) -> bytes:
    """Wrap a payload into a record."""
    return _HEADER.pack(RECORD_MAGIC, len(payload), crc32(payload)) + payload


def payload_end(buffer: bytes, position: int) -> int:
    """Return where the record at `position` ends, or -1 if no whole, intact record is there."""
    start = position + HEADER_BYTES
    if start > len(buffer):
        return -1
    magic, length, crc = _HEADER.unpack_from(buffer, position)
    end: int = start + length
    if magic != RECORD_MAGIC or end > len(buffer) or not length:
        return -1
    return end if crc32(buffer[start:end]) == crc else -1


def encode_changes(zxid: int, now_ms: int, changes: Iterable[Change]) -> bytes:
    """Return the record of one transaction."""
    parts = [_CHANGES.pack(CHANGES, zxid, now_ms)]
    pack = _OPERATION.pack
    for kind, path, node, _ in changes:
        path_bytes = path.encode()
        data = None if kind == DELETED else node.data
        size = -1 if data is None else len(data)
        parts.append(pack(kind, len(path_bytes), size, node.ephemeral_owner))
        parts.append(path_bytes)
        if data:
            parts.append(data)
    return frame(b"".join(parts))


def encode_snapshot(tree: Tree) -> Iterator[bytes]:
    """Return the records of a snapshot of the tree."""
    parts = [bytes((NODES,))]
    size = 1
    for path, node in tree.nodes.items():
        encoded = _encode_node(path, node)
        parts.append(encoded)
        size += len(encoded)
        if size >= SNAPSHOT_RECORD_BYTES:
            yield frame(b"".join(parts))
            parts, size = [bytes((NODES,))], 1
    if size > 1:
        yield frame(b"".join(parts))
    yield frame(_END.pack(END, tree.last_zxid, len(tree.nodes)))


def _encode_node(path: str, node: Node) -> bytes:
    path_bytes = path.encode()
    data = node.data
    return b"".join(
        (
            _NODE.pack(
                len(path_bytes),
                -1 if data is None else len(data),
                node.czxid,
                node.mzxid,
                node.pzxid,
                node.ctime_ms,
                node.mtime_ms,
                node.version,
                node.creates,
                node.ephemeral_owner,
            ),
            path_bytes,
            data or b"",
        )
    )


def restore_nodes(tree: Tree, buffer: bytes, position: int, end: int) -> None:
    """Put the znodes of the NODES payload at `position` into the tree."""
    position += 1
    unpack, fixed, nodes = _NODE.unpack_from, _NODE.size, tree.nodes
    while position < end:
        path_bytes, data_bytes, czxid, mzxid, pzxid, ctime, mtime, version, creates, owner = unpack(
            buffer, position
        )
        position += fixed
        path = buffer[position : position + path_bytes].decode()
        position += path_bytes
        node = Node(_data(buffer, position, data_bytes), owner, czxid, ctime)
        position += data_bytes if data_bytes > 0 else 0
        node.mzxid, node.pzxid, node.mtime_ms = mzxid, pzxid, mtime
        node.version, node.creates = version, creates
        nodes[path] = node
        _attach(tree, path, node)


def _attach(tree: Tree, path: str, node: Node) -> None:
    if path == ROOT:
        return
    parent_path, _, name = path.rpartition("/")
    parent = tree.nodes.get(parent_path or ROOT)
    if parent is None:
        raise Malformed(f"{path} has no parent")
    if parent.children is None:
        parent.children = {}
    parent.children[name] = None
    if node.ephemeral_owner:
        tree.ephemerals.setdefault(node.ephemeral_owner, {})[path] = None


def finish_snapshot(tree: Tree, buffer: bytes, position: int) -> None:
    """Take the END payload at `position`: the last zxid, and whether no znode is missing."""
    _, tree.last_zxid, count = _END.unpack_from(buffer, position)
    if count != len(tree.nodes):
        raise Malformed(f"the snapshot holds {len(tree.nodes)} znodes instead of {count}")


def replay_changes(tree: Tree, buffer: bytes, position: int, end: int) -> None:
    """Do the transaction of the CHANGES payload at `position` again."""
    _, zxid, now_ms = _CHANGES.unpack_from(buffer, position)
    if zxid != tree.last_zxid + 1:
        raise Malformed(f"transaction {zxid} follows {tree.last_zxid}")
    position += _CHANGES.size
    unpack, fixed = _OPERATION.unpack_from, _OPERATION.size
    while position < end:
        kind, path_bytes, data_bytes, owner = unpack(buffer, position)
        position += fixed
        path = buffer[position : position + path_bytes].decode()
        position += path_bytes
        data = _data(buffer, position, data_bytes)
        position += data_bytes if data_bytes > 0 else 0
        if kind == CREATED:
            tree.add(path, Node(data, owner, zxid, now_ms))
        else:
            _replay_other(tree, kind, path, data, zxid, now_ms)
    tree.last_zxid = zxid


def _replay_other(
    tree: Tree, kind: int, path: str, data: bytes | None, zxid: int, now_ms: int
) -> None:
    try:
        if kind == DATA_CHANGED:
            tree.set_data(path, data, ANY_VERSION, zxid, now_ms)
        elif kind == DELETED:
            tree.delete(path, ANY_VERSION, zxid)
        else:
            raise Malformed(f"unknown operation {kind} on {path}")
    except ZnodeError as error:
        raise Malformed(f"transaction {zxid} does not fit: {error}") from error


def _data(buffer: bytes, position: int, size: int) -> bytes | None:
    return None if size < 0 else buffer[position : position + size]
