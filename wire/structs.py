"""The codec of a struct at one version: its fields in wire order, then its tagged fields.

A nullable struct is preceded by one byte: negative for null, 1 otherwise; as a tagged field
by an unsigned varint, 0 for null (Kafka's MessageDataGenerator). Unknown tags stay
with the value (`unknown_tagged_fields`) and are written back.
"""

import copy
import io
from typing import IO, TYPE_CHECKING, Any

from construct import SizeofError

from barnabas.wire.codec import Codec, Context, take
from barnabas.wire.compiler import MAX_TAGS, BuildEmitter, ParseEmitter
from barnabas.wire.errors import Malformed, UnsupportedVersion
from barnabas.wire.primitives import UVARINT, Int8
from barnabas.wire.strings import NULL
from barnabas.wire.tags import MANY, ORDER, SIZE, RawTag, read_tag_head, skip_tags, write_tags

if TYPE_CHECKING:
    from barnabas.wire.schema import Field

UNKNOWN = "unknown_tagged_fields"
TOP = ("", "(parsing)", "(building)")


class StructKind(Codec):
    """A struct as declared, before a version is known."""

    def __init__(self, cls: type) -> None:
        super().__init__()
        self.cls = cls

    def bind(self, version: int, flexible: bool, nullable: bool) -> "StructCodec":
        return StructCodec(self.cls, version, flexible, nullable)


class StructCodec(Codec):
    """`cls` at one version."""

    def __init__(self, cls: Any, version: int, flexible: bool, nullable: bool = False) -> None:
        super().__init__()
        self.cls = cls
        self.version = version
        self.flexible = flexible
        self.nullable = nullable
        self.in_tag = False
        self.present: list[tuple[Field, Codec]] = []
        self.tagged: list[tuple[Field, Codec]] = []
        self.absent: list[Field] = []
        for field in cls.FIELDS:
            self._place(field)
        self.tagged.sort(key=lambda item: item[0].tag or 0)
        self.minimum_bytes = (
            1 if nullable else sum(c.minimum_bytes for _, c in self.present) + int(flexible)
        )

    @property
    def title(self) -> str:
        """What generated code is named after."""
        return f"{self.cls.__name__} v{self.version}"

    def _sizeof(self, context: Context, path: str) -> int:
        """Bytes of a struct whose fields all have a size of their own; SizeofError otherwise."""
        if self.flexible or self.nullable:
            raise SizeofError(f"{self.title} has no fixed size", path=path)
        return sum(codec._sizeof(context, join(path, each.name)) for each, codec in self.present)

    def _place(self, field: "Field") -> None:
        if not field.exists_at(self.version):
            self.absent.append(field)
        elif field.is_tagged_at(self.version):
            codec = field.bind(self.version, self.flexible)
            if isinstance(codec, StructCodec):
                codec.in_tag = True
            self.tagged.append((field, codec))
        else:
            self.present.append((field, field.bind(self.version, self.flexible)))

    # Reference path.

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> Any:
        if self.nullable and self._parse_null(stream, context, path):
            return None
        value = self.cls()
        for field, codec in self.present:
            setattr(value, field.name, codec._parse(stream, context, join(path, field.name)))
        if self.flexible:
            self._parse_tags(value, stream, context, path)
        return value

    def _parse_null(self, stream: IO[bytes], context: Context, path: str) -> bool:
        if self.in_tag:
            return bool(UVARINT._parse(stream, context, path) == 0)
        return bool(Int8._parse(stream, context, path) < 0)

    def _parse_tags(self, value: Any, stream: IO[bytes], context: Context, path: str) -> None:
        count = UVARINT._parse(stream, context, path)
        if count > MAX_TAGS:
            raise Malformed(MANY, path)
        known = {field.tag: (field, codec) for field, codec in self.tagged}
        unknown: list[RawTag] = []
        last = -1
        for _ in range(count):
            tag = UVARINT._parse(stream, context, path)
            size = UVARINT._parse(stream, context, path)
            if tag <= last:
                raise Malformed(ORDER, path)
            last = tag
            start = stream.tell()
            data = take(stream, size, path)
            if tag not in known:
                unknown.append((tag, data))
                continue
            field, codec = known[tag]
            stream.seek(start)
            place = join(path, field.name)
            setattr(value, field.name, codec._parse(stream, context, place))
            if stream.tell() != start + size:
                raise Malformed(SIZE, place)
        value.unknown_tagged_fields = tuple(unknown)

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        if obj is None:
            if not self.nullable:
                raise Malformed(NULL, path)
            return Int8._build(0 if self.in_tag else -1, stream, context, path)
        if self.nullable:
            Int8._build(1, stream, context, path)
        for field in self.absent:
            if not field.may_be_dropped_at(self.version) and field.is_set(getattr(obj, field.name)):
                raise UnsupportedVersion(
                    f"not in version {self.version} and not ignorable", join(path, field.name)
                )
        for field, codec in self.present:
            codec._build(getattr(obj, field.name), stream, context, join(path, field.name))
        if self.flexible:
            self._build_tags(obj, stream, context, path)
        return obj

    def _build_tags(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> None:
        tags: list[RawTag] = list(obj.unknown_tagged_fields)
        for field, codec in self.tagged:
            value = getattr(obj, field.name)
            if field.is_set(value):
                body = io.BytesIO()
                codec._build(value, body, context, join(path, field.name))
                tags.append((field.tag or 0, body.getvalue()))
        out = bytearray()
        write_tags(out, tags)
        stream.write(out)

    # Compiled path.

    @property
    def _layout(self) -> tuple[object, ...]:
        """Within one message, what tells the fields of two structs apart."""
        return self.cls, self.flexible

    def _without_null(self) -> "StructCodec":
        """The same fields, with nothing in front that stands for null."""
        twin = copy.copy(self)
        twin.nullable = twin.in_tag = False
        return twin

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        if not self.nullable:
            return self._emit_value(out, target, is_rare=self.in_tag)
        value = target or out.fresh("o")
        flag = out.uvarint() if self.in_tag else out.fixed("b")
        out.flush()
        out.line(f"if {flag} {'== 0' if self.in_tag else '< 0'}: {value} = None")
        with out.block("else:"):
            source = self._emit_value(out, value, is_rare=True)
            if source != value:
                out.line(f"{value} = {source}")
        return value

    def _emit_value(self, out: ParseEmitter, target: str, is_rare: bool) -> str:
        if out.goes_apart(self._layout, is_rare):
            return out.apart(self._without_null(), self._layout, target)
        value = out.fresh("o")
        self._emit_fields(out, value)
        return value

    def _emit_fields(self, out: ParseEmitter, value: str) -> None:
        out.line(f"{value} = new({out.constant(self.cls, 'c')})")
        targets = [f"{value}.{field.name}" for field, _ in self.present]
        sources = [
            codec.emit_parse(out, target)
            for (_, codec), target in zip(self.present, targets, strict=True)
        ]
        out.flush()
        for target, source in zip(targets, sources, strict=True):
            if source != target:
                out.line(f"{target} = {source}")
        for field in self.absent + [field for field, _ in self.tagged]:
            out.line(f"{value}.{field.name} = {field.source_of_default(out)}")
        out.line(f"{value}.{UNKNOWN} = ()")
        if self.flexible:
            self._emit_parse_tags(out, value)

    def _emit_parse_tags(self, out: ParseEmitter, value: str) -> None:
        with out.block("if buf[pos]:"):
            if self.tagged:
                self._emit_known_tags(out, value)
            else:
                out.names["skip_tags"] = skip_tags
                out.line(f"{value}.{UNKNOWN}, pos = skip_tags(buf, pos)")
        out.line("else: pos += 1")

    def _emit_known_tags(self, out: ParseEmitter, value: str) -> None:
        out.names["read_tag_head"] = read_tag_head
        count, tag, stop = out.uvarint(), out.fresh("tag"), out.fresh("stop")
        unknown = out.fresh("u")
        out.line(f"if {count} > {MAX_TAGS}: raise Malformed({MANY!r})")
        out.line(f"{unknown} = []; {tag} = -1")
        with out.block(f"for _ in range({count}):"):
            out.line(f"{tag}, pos, {stop} = read_tag_head(buf, pos, {tag})")
            for field, codec in self.tagged:
                with out.block(f"if {tag} == {field.tag}:"):
                    source = codec.emit_parse(out)
                    out.flush()
                    out.line(f"{value}.{field.name} = {source}")
                    out.line(f"if pos != {stop}: raise Malformed({SIZE!r})")
                    out.line("continue")
            out.line(f"{unknown}.append(({tag}, bytes(buf[pos:{stop}]))); pos = {stop}")
        out.line(f"{value}.{UNKNOWN} = tuple({unknown})")

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        if not value.isidentifier():
            out.flush()
            local = out.fresh("s")
            out.line(f"{local} = {value}")
            value = local
        if not self.nullable:
            self._emit_write(out, value, is_rare=self.in_tag)
            return
        null = b"\0" if self.in_tag else b"\xff"
        out.flush()
        out.line(f"if {value} is None: {out.target} += {null!r}")
        with out.block("else:"):
            out.fixed("b", "1")
            self._emit_write(out, value, is_rare=True)

    def _emit_write(self, out: BuildEmitter, value: str, is_rare: bool) -> None:
        if out.goes_apart(self._layout, is_rare):
            out.apart(self._without_null(), self._layout, value)
            return
        for field in self.absent:
            if not field.may_be_dropped_at(self.version):
                condition = field.source_of_is_set(out, f"{value}.{field.name}")
                reason = f"{field.name}: not in version {self.version} and not ignorable"
                out.flush()
                out.line(f"if {condition}: raise UnsupportedVersion({reason!r})")
        for field, codec in self.present:
            codec.emit_build(out, f"{value}.{field.name}")
        if self.flexible:
            self._emit_build_tags(out, value)

    def _emit_build_tags(self, out: BuildEmitter, value: str) -> None:
        out.names["write_tags"] = write_tags
        out.flush()
        if not self.tagged:
            out.line(f"if {value}.{UNKNOWN}: write_tags({out.target}, {value}.{UNKNOWN})")
            out.line(f"else: {out.target}.append(0)")
            return
        conditions = [
            field.source_of_is_set(out, f"{value}.{field.name}") for field, _ in self.tagged
        ]
        with out.block(f"if {' or '.join([f'{value}.{UNKNOWN}', *conditions])}:"):
            tags = out.fresh("tags")
            out.line(f"{tags} = [*{value}.{UNKNOWN}]")
            for (field, codec), condition in zip(self.tagged, conditions, strict=True):
                with out.block(f"if {condition}:"):
                    self._emit_tag(out, tags, field, codec, f"{value}.{field.name}")
            out.line(f"write_tags({out.target}, {tags})")
        out.line(f"else: {out.target}.append(0)")

    @staticmethod
    def _emit_tag(out: BuildEmitter, tags: str, field: "Field", codec: Codec, source: str) -> None:
        body, outer = out.fresh("body"), out.target
        out.line(f"{body} = bytearray()")
        out.target = body
        codec.emit_build(out, source)
        out.flush()
        out.target = outer
        out.line(f"{tags}.append(({field.tag}, {body}))")


def join(path: str, name: str) -> str:
    """`path.name`, or `name` at the top (construct's own name for which is "(parsing)")."""
    return name if path in TOP else f"{path}.{name}"
