"""Arrays: int32 count, or an unsigned varint of the count plus one in flexible versions.

A count is checked against what is left of the frame before anything is built: every
element takes at least `minimum_bytes`.
"""

import struct
from typing import IO, Any

from barnabas.wire.codec import Codec, Context, over_budget, remaining, spend
from barnabas.wire.compiler import BuildEmitter, ParseEmitter
from barnabas.wire.constructs import codec_of
from barnabas.wire.errors import Malformed
from barnabas.wire.primitives import UVARINT, Fixed, Int32
from barnabas.wire.strings import NULL

COUNT = "a count larger than the rest of the frame"


def fault_of_count(count: int, most: int, budget: int) -> Malformed:
    """What is wrong with a count, where at most `most` elements are left of the frame."""
    if count < 0:
        return Malformed(NULL)
    return Malformed(COUNT if count > most else over_budget(budget))


class Array(Codec):
    """Any number of one kind; `element` is a codec, a struct class or any construct.

    `built`: an element may bring its own bytes at the version that is written, in an attribute
    of that name; then nothing else of it is looked at. They are made once and sent many times.
    """

    def __init__(
        self, element: Any, flexible: bool = False, nullable: bool = False, *, built: bool = False
    ) -> None:
        super().__init__()
        self.built = built
        self.element: Codec = codec_of(element)
        self.flexible = flexible
        self.nullable = nullable
        self.minimum_bytes = 1 if flexible else 4

    def bind(self, version: int, flexible: bool, nullable: bool) -> "Array":
        element = self.element.bind(version, flexible, False)
        return Array(element, flexible, nullable, built=self.built)

    @property
    def _packed(self) -> str | None:
        """The `struct` character if the elements can be read and written in one call."""
        element = self.element
        return element.char if isinstance(element, Fixed) else None

    # Reference path.

    def _parse(self, stream: IO[bytes], context: Context, path: str) -> list[Any] | None:
        prefix = UVARINT if self.flexible else Int32
        count = prefix._parse(stream, context, path) - (1 if self.flexible else 0)
        if count < 0:
            if not self.nullable:
                raise Malformed(NULL, path)
            return None
        if count > remaining(stream) // max(1, self.element.minimum_bytes):
            raise Malformed(COUNT, path)
        spend(context, count, path)
        return [self.element._parse(stream, context, f"{path}[{i}]") for i in range(count)]

    def _build(self, obj: Any, stream: IO[bytes], context: Context, path: str) -> Any:
        if obj is None and not self.nullable:
            raise Malformed(NULL, path)
        count = -1 if obj is None else len(obj)
        if self.flexible:
            UVARINT._build(count + 1, stream, context, path)
        else:
            Int32._build(count, stream, context, path)
        for index, element in enumerate(obj or ()):
            self.element._build(element, stream, context, f"{path}[{index}]")
        return obj

    # Compiled path.

    def emit_parse(self, out: ParseEmitter, target: str = "") -> str:
        count = out.uvarint() if self.flexible else out.fixed("i")
        out.flush()
        if self.flexible:
            out.line(f"{count} -= 1")
        value = target or out.fresh()
        if not self.nullable:
            self._emit_elements(out, count, value, f"{count} < 0 or ")
            return value
        out.line(f"if {count} < 0: {value} = None")
        with out.block("else:"):
            self._emit_elements(out, count, value)
        return value

    def _emit_elements(self, out: ParseEmitter, count: str, value: str, null: str = "") -> None:
        out.names["fault_of_count"] = fault_of_count
        least = max(1, self.element.minimum_bytes)
        needed = count if least == 1 else f"{count} * {least}"
        out.line(f"budget -= {count}")
        fault = f"fault_of_count({count}, (end - pos) // {least}, {out.max_elements})"
        bad = f"{null}{needed} > end - pos or budget < 0"
        out.line(f"if {bad}: raise {fault}")
        if self._packed:
            out.line(f"stop = pos + {count} * {struct.calcsize('>' + self._packed)}")
            layout = f"f'>{{{count}}}{self._packed}'"
            out.line(f"{value} = list(unpack({layout}, buf[pos:stop])); pos = stop")
            return
        elements = out.fresh("a")
        out.line(f"{elements} = {value} = []")
        with out.block(f"for _ in range({count}):"):
            element = self.element.emit_parse(out)
            out.flush()
            out.line(f"{elements}.append({element})")
            out.step("pos")

    def emit_build(self, out: BuildEmitter, value: str) -> None:
        local = out.fresh("a")
        out.flush()
        out.line(f"{local} = {value}")
        if not self.nullable:
            self._emit_write(out, local)
            return
        null = b"\0" if self.flexible else b"\xff\xff\xff\xff"
        out.line(f"if {local} is None: {out.target} += {null!r}")
        with out.block("else:"):
            self._emit_write(out, local)

    def _emit_write(self, out: BuildEmitter, local: str) -> None:
        length = out.fresh("n")
        out.line(f"{length} = len({local})" + (" + 1" if self.flexible else ""))
        if self.flexible:
            out.uvarint(length)
        else:
            out.fixed("i", length)
        if self._packed:
            count = f"len({local})"
            out.flush()
            out.line(f"{out.target} += pack(f'>{{{count}}}{self._packed}', *{local})")
            return
        element = out.fresh("e")
        with out.block(f"for {element} in {local}:"):
            if self.built:
                self._emit_built(out, element)
            else:
                self.element.emit_build(out, element)
            out.flush()
            out.step(f"len({out.target})")

    def _emit_built(self, out: BuildEmitter, element: str) -> None:
        built = out.fresh("b")
        out.line(f"{built} = getattr({element}, 'built', None)")
        out.line(f"if {built} is not None: {out.target} += {built}")
        with out.block("else:"):
            self.element.emit_build(out, element)
