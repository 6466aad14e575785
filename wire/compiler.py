"""Turns a bound codec into one straight-line Python function: the path the server uses.

Every codec emits its own source (`emit_parse`, `emit_build`); the emitters here gather it.
The one optimisation that matters is the *run*: neighbouring fixed-width fields, and the
length prefix that follows them, are read or written by a single `struct` call. A run must
be flushed before a value in it, or the position behind it, is used.

A compiled parse function takes `(buf, pos)`; a compiled build function takes
`(value, out, cuts)` and appends to the bytearray `out`. Records that are not plain bytes
(a slice of a file, say) are not copied into `out`: their place is noted in `cuts`.

Each has a twin in steps, a generator that takes the same and yields after every few thousand
bytes that hold array elements: a large frame is decoded, a large answer encoded, while others
are served in between.
"""

import linecache
import struct
from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol, TypeVar

from barnabas.wire.errors import (
    ENDS_INSIDE_FIELD,
    NOT_UTF8,
    Malformed,
    ProtocolError,
    Truncated,
    UnsupportedVersion,
)
from barnabas.wire.varint import read_uvarint, write_uvarint

# One frame may build this many array elements, all arrays together: a frame of tiny structs
# costs up to forty times its size in objects.
MAX_ELEMENTS = 1_000_000
MAX_TAGS = 10_000
# In steps it is less: four times the partitions that a broker is made for, and not what it takes
# tens of milliseconds to give back to the allocator, for which there are no steps.
MAX_ELEMENTS_IN_STEPS = 20_000
STEP_BYTES = 4096

PARSE_FAULTS = [
    "except (IndexError, struct_error):",
    f"    raise Truncated({ENDS_INSIDE_FIELD!r}) from None",
    "except UnicodeDecodeError:",
    f"    raise Malformed({NOT_UTF8!r}) from None",
]
BUILD_FAULTS = [
    "except (struct_error, TypeError, AttributeError, ValueError, OverflowError) as error:",
    "    raise Malformed(f'a value its field cannot hold: {error}') from None",
]

T = TypeVar("T")
Steps = Generator[None, None, T]


class Emits(Protocol):
    """What the compiler asks of a codec."""

    @property
    def title(self) -> str: ...
    def emit_parse(self, out: "ParseEmitter", target: str = "") -> str: ...
    def emit_build(self, out: "BuildEmitter", value: str) -> None: ...


class Emitter:
    """Lines of source under construction, and the constants they name."""

    def __init__(self, in_steps: bool = False) -> None:
        self.in_steps = in_steps
        self.lines: list[str] = []
        self.depth = 2
        self.names: dict[str, Any] = {
            "Truncated": Truncated,
            "Malformed": Malformed,
            "UnsupportedVersion": UnsupportedVersion,
            "ProtocolError": ProtocolError,
            "struct_error": struct.error,
            "pack": struct.pack,
            "unpack": struct.unpack,
            "read_uvarint": read_uvarint,
            "write_uvarint": write_uvarint,
            "new": object.__new__,
        }
        self._met: set[Hashable] = set()
        self._apart: dict[Hashable, str] = {}
        self._serial = 0

    def line(self, text: str) -> None:
        """Append one line at the present depth."""
        self.lines.append("    " * self.depth + text)

    def fresh(self, hint: str = "v") -> str:
        """A local name nobody has yet."""
        self._serial += 1
        return f"{hint}{self._serial}"

    def constant(self, value: object, hint: str = "k") -> str:
        """A global name for `value`."""
        name = self.fresh(hint.upper() + "_")
        self.names[name] = value
        return name

    def goes_apart(self, layout: Hashable, is_rare: bool) -> bool:
        """Whether a part of the message gets a function of its own, compiled when first needed.

        It does if it is rarely there, or if the same layout came before: a message of many
        parts would otherwise take tens of milliseconds to compile.
        """
        met = layout in self._met
        self._met.add(layout)
        return is_rare or met

    def _function_of(
        self, layout: Hashable, compile_: Callable[[Emits], Callable[..., Any]], codec: Emits
    ) -> str:
        """The name of the function of a part."""
        if layout not in self._apart:
            self._apart[layout] = self.constant(Later(compile_, codec), "f")
        return self._apart[layout]

    def step(self, position: str) -> None:
        """Where the function may be interrupted, if it is one in steps."""
        if self.in_steps:
            self.line(f"if {position} > pause: pause = {position} + {STEP_BYTES}; yield")

    def flush(self) -> None:
        """Write out the pending run."""
        raise NotImplementedError

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """An indented block; runs never reach over its edges."""
        self.flush()
        self.line(head)
        self.depth += 1
        yield
        self.flush()
        self.depth -= 1

    def function(
        self, title: str, head: str, prologue: list[str], handlers: list[str]
    ) -> Callable[..., Any]:
        """Compile the gathered lines into a function; a traceback through it shows them."""
        self.flush()
        name = head.split("(")[0].removeprefix("def ")
        file_name = f"<wire: {name} {title}{' in steps' if self.in_steps else ''}>"
        source = "\n".join(
            [
                head,
                *(f"    {text}" for text in prologue),
                "    try:",
                *(self.lines or ["        pass"]),
            ]
            + [f"    {text}" for text in handlers]
        )
        file_name = _registered(file_name, source)
        exec(compile(source, file_name, "exec"), self.names)
        function: Callable[..., Any] = self.names[name]
        return function


class ParseEmitter(Emitter):
    """Gathers the source of a parse function."""

    def __init__(self, in_steps: bool = False, most: int = MAX_ELEMENTS) -> None:
        super().__init__(in_steps)
        self.max_elements = most
        self._run: list[tuple[str, str]] = []

    def fixed(self, char: str, target: str = "") -> str:
        """`target`, or a name, that holds the next fixed-width value once the run is flushed."""
        name = target or self.fresh()
        self._run.append((char, name))
        return name

    def flush(self) -> None:
        if not self._run:
            return
        layout = ">" + "".join(char for char, _ in self._run)
        targets = ", ".join(name for _, name in self._run)
        comma = "," if len(self._run) == 1 else ""
        unpack = "unpack_" + layout[1:].replace("?", "t")
        self.names.setdefault(unpack, struct.Struct(layout).unpack_from)
        self._run.clear()
        self.line(f"{targets}{comma} = {unpack}(buf, pos)")
        self.line(f"pos += {struct.calcsize(layout)}")

    def uvarint(self, read_long: str = "read_uvarint") -> str:
        """A name that holds the next unsigned varint; a single byte is read in place."""
        self.flush()
        name = self.fresh("n")
        self.line(f"{name} = buf[pos]; pos += 1")
        self.line(f"if {name} > 127: {name}, pos = {read_long}(buf, pos - 1)")
        return name

    def apart(self, codec: Emits, layout: Hashable, target: str) -> str:
        """`target`, or a name, that holds the value of a part with a function of its own."""
        self.flush()
        most = self.max_elements
        compile_ = partial(compile_part_in_steps, most=most) if self.in_steps else compile_part
        value, read = target or self.fresh(), self._function_of(layout, compile_, codec)
        call = "yield from " if self.in_steps else ""
        self.line(f"{value}, pos, budget = {call}{read}(buf, pos, budget)")
        return value


class BuildEmitter(Emitter):
    """Gathers the source of a build function; `target` names the bytearray written to."""

    def __init__(self, in_steps: bool = False) -> None:
        super().__init__(in_steps)
        self.target = "out"
        self._run: list[tuple[str, str]] = []

    def fixed(self, char: str, value: str) -> None:
        """Write `value`, an expression, fixed-width."""
        self._run.append((char, value))

    def flush(self) -> None:
        if not self._run:
            return
        layout = ">" + "".join(char for char, _ in self._run)
        values = ", ".join(value for _, value in self._run)
        pack = "pack_" + layout[1:].replace("?", "t")
        self.names.setdefault(pack, struct.Struct(layout).pack)
        self._run.clear()
        self.line(f"{self.target} += {pack}({values})")

    def uvarint(self, value: str, write_long: str = "write_uvarint") -> None:
        """Write `value`, a local name, as an unsigned varint."""
        self.flush()
        self.line(f"if {value} < 128: {self.target}.append({value})")
        self.line(f"else: {write_long}({self.target}, {value})")

    def apart(self, codec: Emits, layout: Hashable, value: str) -> None:
        """Write `value`, an expression, by the part's own function."""
        self.flush()
        compile_ = compile_build_in_steps if self.in_steps else compile_build
        write = self._function_of(layout, compile_, codec)
        call = "yield from " if self.in_steps else ""
        self.line(f"{call}{write}({value}, {self.target}, cuts)")


class Later:
    """A function that is compiled on its first call."""

    __slots__ = ("_codec", "_compile", "_function")

    def __init__(self, compile_: Callable[[Emits], Callable[..., Any]], codec: Emits) -> None:
        self._compile = compile_
        self._codec = codec
        self._function: Callable[..., Any] | None = None

    @property
    def is_compiled(self) -> bool:
        """Whether it has been called."""
        return self._function is not None

    def __call__(self, *arguments: Any) -> Any:
        if self._function is None:
            self._function = self._compile(self._codec)
        return self._function(*arguments)


# What makes a function one in steps, though it may have no step.
PARSE_STEPS = [f"pause = pos + {STEP_BYTES}", "if 0: yield"]
BUILD_STEPS = [f"pause = len(out) + {STEP_BYTES}", "if 0: yield"]


def compile_parse(codec: Emits) -> Callable[[memoryview, int], Any]:
    """The function `(buf, pos) -> value` for `codec`."""
    return _parse(ParseEmitter(), codec, [])


def compile_parse_in_steps(
    codec: Emits, most: int = MAX_ELEMENTS_IN_STEPS
) -> Callable[[memoryview, int], Steps[Any]]:
    """The same in steps; a frame may have `most` array elements."""
    return _parse(ParseEmitter(True, most), codec, PARSE_STEPS)


def compile_part(codec: Emits) -> Callable[[memoryview, int, int], tuple[Any, int, int]]:
    """The function `(buf, pos, budget) -> value, pos, budget` for a part of a message."""
    return _parse_part(ParseEmitter(), codec, [])


def compile_part_in_steps(
    codec: Emits, most: int = MAX_ELEMENTS_IN_STEPS
) -> Callable[[memoryview, int, int], Steps[tuple[Any, int, int]]]:
    """The same in steps."""
    return _parse_part(ParseEmitter(True, most), codec, PARSE_STEPS)


def compile_build(codec: Emits) -> Callable[[Any, bytearray, list[Any]], None]:
    """The function `(value, out, cuts) -> None` for `codec`."""
    return _build(BuildEmitter(), codec, [])


def compile_build_in_steps(codec: Emits) -> Callable[[Any, bytearray, list[Any]], Steps[None]]:
    """The same in steps."""
    return _build(BuildEmitter(in_steps=True), codec, BUILD_STEPS)


def _parse(out: ParseEmitter, codec: Emits, steps: list[str]) -> Callable[..., Any]:
    result = codec.emit_parse(out)
    out.flush()
    out.line(f"return {result}")
    prologue = ["end = len(buf)", f"budget = {out.max_elements}", *steps]
    return out.function(codec.title, "def parse(buf, pos):", prologue, PARSE_FAULTS)


def _parse_part(out: ParseEmitter, codec: Emits, steps: list[str]) -> Callable[..., Any]:
    result = codec.emit_parse(out)
    out.flush()
    out.line(f"return {result}, pos, budget")
    prologue = ["end = len(buf)", *steps]
    return out.function(codec.title, "def parse(buf, pos, budget):", prologue, PARSE_FAULTS)


def _build(out: BuildEmitter, codec: Emits, steps: list[str]) -> Callable[..., Any]:
    codec.emit_build(out, "value")
    return out.function(codec.title, "def build(value, out, cuts):", steps, BUILD_FAULTS)


def _registered(file_name: str, source: str) -> str:
    """Put a source where tracebacks look for it: the name it has there, its own if it is taken."""
    lines = source.splitlines(True)
    name, serial = file_name, 1
    while (known := linecache.cache.get(name)) is not None and known[2:3] != (lines,):
        serial += 1
        name = f"{file_name[:-1]} #{serial}>"
    linecache.cache[name] = (len(source), None, lines, name)
    return name


def source_of(function: Callable[..., Any]) -> str:
    """The source of a function that was compiled here."""
    return "".join(linecache.getlines(function.__code__.co_filename))
