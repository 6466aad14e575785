"""How a message is declared: a typed class whose fields are codecs, in wire order.

    @message(ApiKey.PRODUCE, versions=(0, 13), flexible=9)
    class ProduceRequest(Message):
        transactional_id: str | None = field(String, since=3, nullable=3, default=None)
        acks: int = field(Int16)

`message` and `struct` turn the class into a slotted one with `__init__` (keywords only to a
type checker), `==` and a repr that never shows a secret. `ProduceRequest.at(7)` is the codec
bound to version 7. A span of versions is `since` alone (open to the newest) or a pair
(first, last).
"""

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.bound import Bound, bind
from barnabas.wire.codec import Codec
from barnabas.wire.compiler import MAX_ELEMENTS_IN_STEPS, Emitter
from barnabas.wire.constructs import Foreign, codec_of
from barnabas.wire.primitives import Boolean, Float64, UuidCodec
from barnabas.wire.redact import redacted
from barnabas.wire.strings import Prefixed
from barnabas.wire.structs import UNKNOWN, StructKind
from barnabas.wire.tags import RawTag
from barnabas.wire.uuids import ZERO_UUID

T = TypeVar("T")
Span = int | tuple[int, int]
UNSET: Any = object()
EMPTY_LIST: Any = object()  # stands for a list of the value's own, in __init__ and in parse


class Field:
    """One declared field; see `field` for what the arguments mean."""

    __slots__ = (
        "default",
        "flexible",
        "ignorable",
        "kafka_name",
        "kind",
        "name",
        "nullable",
        "secret",
        "since",
        "tag",
        "until",
    )

    def __init__(self, kind: Any, **options: Any) -> None:
        self.kind: Codec = codec_of(kind)
        self.name = ""
        self.since: int = options["since"]
        self.until: int | None = options["until"]
        self.nullable: Span | None = options["nullable"]
        self.tag: int | None = options["tag"]
        self.ignorable: bool | Span = options["ignorable"]
        self.flexible: bool = options["flexible"]
        self.kafka_name: str | None = options["kafka_name"]
        self.secret: bool = options["secret"]
        self.default = self._initial() if options["default"] is UNSET else options["default"]

    def _initial(self) -> Any:
        """Kafka's default where the schema names none."""
        kind = self.kind
        if isinstance(kind, Array):
            return EMPTY_LIST
        if isinstance(kind, StructKind):
            return None if self.tag is not None and self.nullable is None else kind.cls
        if isinstance(kind, UuidCodec):
            return ZERO_UUID
        if isinstance(kind, Prefixed):
            return kind.zero
        if isinstance(kind, Foreign):
            raise TypeError("a field of a construct of your own names its default")
        return False if kind is Boolean else 0.0 if kind is Float64 else 0

    # Versions.

    def exists_at(self, version: int) -> bool:
        """Whether the version has this field."""
        return self.since <= version and (self.until is None or version <= self.until)

    def is_tagged_at(self, version: int) -> bool:
        """Whether the field travels among the tagged ones."""
        return self.tag is not None and self.exists_at(version)

    def may_be_dropped_at(self, version: int) -> bool:
        """Whether a set value may be left out of a version that has no such field."""
        return self.ignorable is True or covers(self.ignorable, version)

    def is_nullable_at(self, version: int) -> bool:
        """Whether null may stand for the value."""
        return covers(self.nullable, version)

    def bind(self, version: int, flexible: bool) -> Codec:
        """The codec of the field at a version of a message."""
        return self.kind.bind(version, flexible and self.flexible, self.is_nullable_at(version))

    # Defaults.

    def fresh_default(self) -> Any:
        """The default, new where it is mutable."""
        if self.default is EMPTY_LIST:
            return []
        return self.default() if isinstance(self.default, type) else self.default

    def is_set(self, value: Any) -> bool:
        """Whether `value` differs from the default, so that a version must carry it."""
        if self._unsent_is_none:
            return value is not None and bool(value != self._struct_default())
        return bool(value != self.fresh_default())

    @property
    def _unsent_is_none(self) -> bool:
        """A tagged struct without a null: None stands for the struct of defaults at Apache."""
        return isinstance(self.kind, StructKind) and self.default is None and self.nullable is None

    def _struct_default(self) -> Any:
        return cast(StructKind, self.kind).cls()

    def source_of_default(self, out: Emitter) -> str:
        """An expression for the default."""
        if self.default is EMPTY_LIST:
            return "[]"
        if isinstance(self.default, type):
            return f"{out.constant(self.default, 'c')}()"
        if isinstance(self.default, bool | int | str | float | None) or self.default == b"":
            return repr(self.default)
        return out.constant(self.default)

    def source_of_is_set(self, out: Emitter, value: str) -> str:
        """An expression for `is_set` of the expression `value`."""
        if self._unsent_is_none:
            default = out.constant(self._struct_default())
            return f"({value} is not None and {value} != {default})"
        if self.default is None:
            return f"{value} is not None"
        if self.default is EMPTY_LIST:
            return f"({value} is None or len({value}) != 0)"
        return f"{value} != {self.source_of_default(out)}"


def covers(span: Any, version: int) -> bool:
    """Whether a span of versions holds `version`; None and False hold none."""
    if span is None or isinstance(span, bool):
        return False
    first, last = span if isinstance(span, tuple) else (span, version)
    return bool(first <= version <= last)


def field(
    kind: Any,
    *,
    since: int = 0,
    until: int | None = None,
    nullable: Span | None = None,
    default: Any = UNSET,
    default_factory: Any = UNSET,
    tag: int | None = None,
    ignorable: bool | Span = False,
    flexible: bool = True,
    kafka_name: str | None = None,
    secret: bool = False,
) -> Any:
    """Declare a field of `kind` (a codec, a struct class, or any construct: `constructs`).

    `since`/`until`: first and last version that has it. `nullable`: versions in which null
    may stand for it. `default` or `default_factory` (list, or the struct class): what a version
    without it reads, Kafka's zero value unless given; a field that not all versions have names
    it, so that a type checker does not ask for the field. `tag`: it travels as a tagged field.
    `ignorable`: a set value may be dropped where the version lacks it (True everywhere, or a
    span). `flexible=False`: old length prefixes even in flexible versions. `kafka_name`:
    Kafka's CamelCase name where ours differs. `secret`: never shown in a repr.
    """
    return Field(
        kind,
        since=since,
        until=until,
        nullable=nullable,
        default=EMPTY_LIST if default_factory is list else default,
        tag=tag,
        ignorable=ignorable,
        flexible=flexible,
        kafka_name=kafka_name,
        secret=secret,
    )


class Struct:
    """What every declared class has: equality, a repr, its fields, its unknown tags."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # values are mutable
    FIELDS: ClassVar[tuple[Field, ...]] = ()
    KIND: ClassVar[StructKind]
    unknown_tagged_fields: tuple[RawTag, ...]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in self.FIELDS) and (
            self.unknown_tagged_fields == other.unknown_tagged_fields
        )

    def __repr__(self) -> str:
        shown = [
            f"{f.name}={redacted(getattr(self, f.name)) if f.secret else getattr(self, f.name)!r}"
            for f in self.FIELDS
        ]
        if self.unknown_tagged_fields:
            shown.append(f"{UNKNOWN}={self.unknown_tagged_fields!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


class Message(Struct):
    """A struct with versions of its own."""

    __slots__ = ()
    API_KEY: ClassVar[ApiKey | None]
    VERSIONS: ClassVar[tuple[int, ...]]
    FLEXIBLE_SINCE: ClassVar[int | None]
    RECORD_TYPE: ClassVar[int | None]
    MOST_ELEMENTS: ClassVar[int]
    BOUND: ClassVar[dict[int, Any]]

    @classmethod
    def at(cls, version: int) -> Bound[Self]:
        """The codec of this message at `version`. Raises UnsupportedVersion."""
        bound: Bound[Self] | None = cls.BOUND.get(version)
        return bound if bound is not None else bind(cls, version)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """Make a slotted class of a declaration whose annotated attributes are fields."""
    fields = []
    for name in cls.__annotations__:
        declared = cls.__dict__[name]
        declared.name = name
        fields.append(declared)
    names = {f.name for f in fields}
    body = {k: v for k, v in cls.__dict__.items() if k not in names | {"__dict__", "__weakref__"}}
    body["__slots__"] = (*(f.name for f in fields), UNKNOWN)
    body["FIELDS"] = tuple(fields)
    body["__init__"] = first_init(fields)
    made = cast(type[T], type(cls.__name__, cls.__bases__, body))
    made.KIND = StructKind(made)  # type: ignore[attr-defined]  # declared by Struct
    return made


def first_init(fields: list[Field]) -> Callable[..., None]:
    """An `__init__` that puts the compiled one in its place: a decoder never asks for it."""

    def __init__(self: Any, *args: Any, **values: Any) -> None:
        made: Any = type(self)
        made.__init__ = make_init(fields)
        made.__init__(self, *args, **values)

    return __init__


def make_init(fields: list[Field]) -> Callable[..., None]:
    """An `__init__` with one parameter per field, in wire order, all optional."""
    out = Emitter()
    parameters, lines = [], []
    for f in fields:
        if f.default is EMPTY_LIST or isinstance(f.default, type):
            unset = out.constant(UNSET)
            parameters.append(f"{f.name}={unset}")
            fresh = f.source_of_default(out)
            lines.append(f"self.{f.name} = {fresh} if {f.name} is {unset} else {f.name}")
        else:
            parameters.append(f"{f.name}={f.source_of_default(out)}")
            lines.append(f"self.{f.name} = {f.name}")
    parameters.append(f"{UNKNOWN}=()")
    lines.append(f"self.{UNKNOWN} = {UNKNOWN}")
    source = f"def __init__(self, {', '.join(parameters)}):\n    " + "\n    ".join(lines)
    exec(source, out.names)
    init: Callable[..., None] = out.names["__init__"]
    return init


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def message(
    api_key: ApiKey | None = None,
    *,
    versions: tuple[int, int],
    flexible: int | None = None,
    record_type: int | None = None,
    formerly: int | None = None,
    most_elements: int = MAX_ELEMENTS_IN_STEPS,
) -> Callable[[type[T]], type[T]]:
    """Make a message of a declaration.

    `versions`: first and last. `flexible`: the first version with compact lengths and tags.
    `record_type`: for the keys of coordinator records, the number in front of the key.
    `formerly`: that number again where Kafka 3.9 called it the key's version.
    `most_elements`: of all arrays of a frame that is decoded in steps.
    """

    def decorate(cls: type[T]) -> type[T]:
        made: Any = struct(cls)
        numbers = set(range(versions[0], versions[1] + 1))
        made.VERSIONS = tuple(sorted(numbers | ({formerly} if formerly is not None else set())))
        made.API_KEY = api_key
        made.FLEXIBLE_SINCE = flexible
        made.RECORD_TYPE = record_type
        made.MOST_ELEMENTS = most_elements
        made.BOUND = {}
        return cast(type[T], made)

    return decorate
