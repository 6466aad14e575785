"""Avro's schemas: what a value of one is to Spark, and how its bytes are read.

The parts of the specification 1.12 that a value is made of, without resolution of a writer's
schema: a value is read with the one schema that it is said to have been written with, to its
last byte. Pure Python, no Spark: executors run it as it is.
"""

from __future__ import annotations

import decimal
import json
import struct
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

DEEPEST = 64
MOST_ITEMS = 1_000_000  # in one value: of types without bytes there could be any number


class AvroError(ValueError):
    """A schema or a value is none; the message says where."""


@dataclass
class Cursor:
    """A value, and how far it has been read."""

    data: bytes
    at: int = 0
    items: int = 0

    def take(self, count: int) -> bytes:
        """So many bytes."""
        end = self.at + count
        if count < 0 or end > len(self.data):
            left = len(self.data) - self.at
            raise AvroError(f"byte {self.at}: {count} bytes are wanted, {left} are left")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def long(self) -> int:
        """A number, seven bits to a byte, the sign in the lowest."""
        start, shift, value = self.at, 0, 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise AvroError(f"byte {start}: a number of more than ten bytes")
        return (value >> 1) ^ -(value & 1)

    def count_items(self, count: int) -> None:
        """So many more items of arrays and maps."""
        self.items += count
        if self.items > MOST_ITEMS:
            raise AvroError(f"byte {self.at}: more than {MOST_ITEMS:,} items")


Reader = Callable[[Cursor], Any]


@dataclass(frozen=True)
class AvroType:
    """A type: Spark's name for it in JSON form, and how a value is read."""

    spark: Any
    read: Reader
    is_nullable: bool = False


def compile_schema(text: str) -> AvroType:
    """The type that a schema file describes; it has to be a record."""
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise AvroError(f"it is no JSON: {error}") from error
    if not isinstance(schema, dict) or schema.get("type") not in ("record", "error"):
        raise AvroError('it is no record: {"type": "record", "fields": …}')
    return Compiler().type_of(schema, "", 0)


def read_value(type_: AvroType, data: bytes) -> Any:
    """The value in bytes; AvroError where they are none, or more than one."""
    cursor = Cursor(data)
    value = type_.read(cursor)
    if cursor.at != len(data):
        raise AvroError(f"{len(data) - cursor.at} bytes are left after the record")
    return value


# --- types that have no parts --------------------------------------------------------------


def _boolean(cursor: Cursor) -> bool:
    byte = cursor.take(1)[0]
    if byte > 1:
        raise AvroError(f"byte {cursor.at - 1}: {byte} is no boolean")
    return byte == 1


def _integer(bits: int) -> Reader:
    def read(cursor: Cursor) -> int:
        start, value = cursor.at, cursor.long()
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise AvroError(f"byte {start}: {value} has more than {bits} bits")
        return value

    return read


def _floating(form: str) -> Reader:
    size = struct.calcsize(form)  # no Struct: what goes to executors is pickled
    return lambda cursor: struct.unpack(form, cursor.take(size))[0]


def _bytes(cursor: Cursor) -> bytes:
    return cursor.take(cursor.long())


def _string(cursor: Cursor) -> str:
    start = cursor.at
    try:
        return _bytes(cursor).decode()
    except UnicodeDecodeError as error:
        raise AvroError(f"byte {start}: a string that is not UTF-8") from error


PRIMITIVES: Mapping[str, AvroType] = {
    "null": AvroType("void", lambda _: None, True),
    "boolean": AvroType("boolean", _boolean),
    "int": AvroType("integer", _integer(32)),
    "long": AvroType("long", _integer(64)),
    "float": AvroType("float", _floating("<f")),
    "double": AvroType("double", _floating("<d")),
    "bytes": AvroType("binary", _bytes),
    "string": AvroType("string", _string),
}
# A logical type that is not here, or not of its base, is its base: so says the specification.
TIMES: Mapping[tuple[str, str], tuple[str, int]] = {
    ("long", "timestamp-millis"): ("timestamp", 1000),
    ("long", "timestamp-micros"): ("timestamp", 1),
    ("long", "local-timestamp-millis"): ("timestamp_ntz", 1000),
    ("long", "local-timestamp-micros"): ("timestamp_ntz", 1),
    ("int", "date"): ("date", 1),
}


@dataclass
class Compiler:
    """Schemas to types; named ones are known once they have been met."""

    named: dict[str, AvroType] = field(default_factory=dict)

    def type_of(self, schema: Any, namespace: str, depth: int) -> AvroType:
        """The type of a schema inside a namespace."""
        if depth > DEEPEST:
            raise AvroError(f"types within types, more than {DEEPEST} deep")
        if isinstance(schema, list):
            return self._union([self.type_of(each, namespace, depth + 1) for each in schema])
        if isinstance(schema, str):
            return self._by_name(schema, namespace)
        if not isinstance(schema, dict) or "type" not in schema:
            raise AvroError(f"{json.dumps(schema)[:60]} is no type")
        kind = schema["type"]
        if isinstance(kind, (dict, list)):
            return self.type_of(kind, namespace, depth + 1)
        if kind in ("record", "error", "enum", "fixed"):
            return self._named(kind, schema, namespace, depth)
        if kind == "array":
            return _array(self.type_of(schema["items"], namespace, depth + 1))
        if kind == "map":
            return _map(self.type_of(schema["values"], namespace, depth + 1))
        return _logical(schema, kind, self._by_name(kind, namespace))

    def _by_name(self, name: str, namespace: str) -> AvroType:
        for known in (name, f"{namespace}.{name}"):
            if found := PRIMITIVES.get(known) or self.named.get(known):
                return found
        raise AvroError(f"there is no type {name} before it is used (or it contains itself)")

    def _named(self, kind: str, schema: dict[str, Any], namespace: str, depth: int) -> AvroType:
        name = str(schema.get("name") or "")
        if not name:
            raise AvroError(f"a type of the kind {kind} has no name")
        within = name.rpartition(".")[0] or str(schema.get("namespace") or namespace)
        full = name if "." in name or not within else f"{within}.{name}"
        if kind == "enum":
            made = _enum([str(symbol) for symbol in schema.get("symbols", [])])
        elif kind == "fixed":
            size = int(schema["size"])
            base = AvroType("binary", lambda cursor: cursor.take(size))
            made = _logical(schema, "fixed", base)
        else:
            made = self._record(schema.get("fields", []), within, depth)
        self.named[full] = made
        return made

    def _record(self, fields: list[dict[str, Any]], namespace: str, depth: int) -> AvroType:
        names = [str(each["name"]) for each in fields]
        types = [self.type_of(each["type"], namespace, depth + 1) for each in fields]
        readers = [(name, each.read) for name, each in zip(names, types, strict=True)]

        def read(cursor: Cursor) -> dict[str, Any]:
            found = {}
            for name, reader in readers:
                try:
                    found[name] = reader(cursor)
                except AvroError as error:
                    raise AvroError(_within(name, error)) from error
            return found

        columns = [_column(name, each) for name, each in zip(names, types, strict=True)]
        if not columns:
            raise AvroError("a record without fields, for which Parquet has no place")
        return AvroType({"type": "struct", "fields": columns}, read)

    def _union(self, types: list[AvroType]) -> AvroType:
        """One type and null is that type; several are a struct with a member for each."""
        others = [each for each in types if each.spark != "void"]
        if not types:
            raise AvroError("a union of nothing")
        if len(others) <= 1:
            spark = others[0].spark if others else "void"
            return AvroType(spark, _choice([each.read for each in types]), len(others) < len(types))
        members = [f"member{number}" for number in range(len(others))]
        columns = [_column(name, each) for name, each in zip(members, others, strict=True)]
        numbers = iter(members)
        readers = [
            each.read if each.spark == "void" else _member(next(numbers), each.read)
            for each in types
        ]
        return AvroType({"type": "struct", "fields": columns}, _choice(readers), True)


def _within(name: str, error: AvroError) -> str:
    where, colon, what = str(error).partition(": ")
    if where.startswith("field "):
        return f"field {name}.{where.removeprefix('field ')}{colon}{what}"
    return f"field {name}: {error}"


def _column(name: str, type_: AvroType) -> dict[str, Any]:
    spark = "string" if type_.spark == "void" else type_.spark  # Parquet has no nothing
    return {"name": name, "type": spark, "nullable": True, "metadata": {}}


def _choice(readers: list[Reader]) -> Reader:
    def read(cursor: Cursor) -> Any:
        start, number = cursor.at, cursor.long()
        if not 0 <= number < len(readers):
            raise AvroError(f"byte {start}: {number} is none of the {len(readers)} of a union")
        return readers[number](cursor)

    return read


def _member(name: str, reader: Reader) -> Reader:
    return lambda cursor: {name: reader(cursor)}


def _enum(symbols: list[str]) -> AvroType:
    def read(cursor: Cursor) -> str:
        start, number = cursor.at, cursor.long()
        if not 0 <= number < len(symbols):
            raise AvroError(f"byte {start}: {number} is none of an enum's {len(symbols)}")
        return symbols[number]

    return AvroType("string", read)


def _items(cursor: Cursor, one: Callable[[Cursor], None]) -> None:
    while (count := cursor.long()) != 0:
        if count < 0:
            cursor.long()  # the size of the block in bytes
            count = -count
        cursor.count_items(count)
        for _ in range(count):
            one(cursor)


def _array(items: AvroType) -> AvroType:
    def read(cursor: Cursor) -> list[Any]:
        found: list[Any] = []
        _items(cursor, lambda cursor: found.append(items.read(cursor)))
        return found

    spark = {"type": "array", "elementType": items.spark, "containsNull": True}
    return AvroType(spark, read)


def _map(values: AvroType) -> AvroType:
    def read(cursor: Cursor) -> list[tuple[str, Any]]:
        found: dict[str, Any] = {}

        def one(cursor: Cursor) -> None:
            key = _string(cursor)
            found[key] = values.read(cursor)

        _items(cursor, one)
        return list(found.items())

    spark = {
        "type": "map",
        "keyType": "string",
        "valueType": values.spark,
        "valueContainsNull": True,
    }
    return AvroType(spark, read)


def _logical(schema: dict[str, Any], kind: str, base: AvroType) -> AvroType:
    logical = str(schema.get("logicalType") or "")
    if (kind, logical) in TIMES:
        spark, factor = TIMES[kind, logical]
        return AvroType(spark, _time(base.read, factor))
    if logical == "uuid" and kind == "fixed" and schema.get("size") == 16:
        return AvroType("string", lambda cursor: str(uuid.UUID(bytes=base.read(cursor))))
    if logical == "decimal" and kind in ("bytes", "fixed"):
        return _decimal(schema, base)
    return base


def _time(reader: Reader, factor: int) -> Reader:
    def read(cursor: Cursor) -> int:
        start, value = cursor.at, reader(cursor) * factor
        if not -(1 << 63) <= value < 1 << 63:
            raise AvroError(f"byte {start}: a time that microseconds cannot tell")
        return int(value)

    return read


def _decimal(schema: dict[str, Any], base: AvroType) -> AvroType:
    precision, scale = int(schema.get("precision", 0)), int(schema.get("scale", 0))
    if not 0 < precision <= 38 or not 0 <= scale <= precision:
        return base  # Spark has no such number

    def read(cursor: Cursor) -> decimal.Decimal:
        start = cursor.at
        unscaled = int.from_bytes(base.read(cursor), "big", signed=True)
        if abs(unscaled) >= 10**precision:
            raise AvroError(f"byte {start}: a decimal of more than {precision} digits")
        return decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=60))

    return AvroType(f"decimal({precision},{scale})", read)
