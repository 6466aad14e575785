"""Random values of any message at any version, made from its declaration.

`Values` is quick (a seed, no shrinking) so that a test can go over all 834 message versions;
`messages()` and `values()` are the same as hypothesis strategies. The values lean towards
what breaks codecs: the ends of every range, the lengths where a prefix grows a byte, null and
empty, defaults, text outside ASCII, unknown tags.
"""

from __future__ import annotations

import pkgutil
import random
from functools import cache
from importlib import import_module
from typing import Any

from hypothesis import strategies as st

from barnabas.wire import messages as package
from barnabas.wire.arrays import Array
from barnabas.wire.codec import Codec
from barnabas.wire.primitives import Fixed, UuidCodec
from barnabas.wire.schema import Field, Message
from barnabas.wire.strings import StringCodec
from barnabas.wire.structs import StructCodec
from barnabas.wire.uuids import ZERO_UUID, Uuid

MOST_ELEMENTS = 600  # of all arrays of one value together
EDGES: dict[str, tuple[Any, ...]] = {
    "?": (False, True),
    "b": (0, 1, -1, 127, -128),
    "h": (0, 1, -1, 255, 32_767, -32_768),
    "H": (0, 1, 9092, 32_768, 65_535),
    "i": (0, 1, -1, 65_536, 2**31 - 1, -(2**31)),
    "I": (0, 1, 2**31, 2**32 - 1),
    "q": (0, 1, -1, 2**32, 2**63 - 1, -(2**63)),
    "d": (0.0, -0.0, 1.5, -1e300, 5e-324, float("inf"), float("-inf")),
}
BITS = {"b": 8, "h": 16, "i": 32, "q": 64}
TEXT = 'aZ09_-.:/ \t\n"\\\0éßЖ中文\u2028\uffff😀🇩'
LENGTHS = (0, 0, 1, 2, 3, 5, 8, 13, 40, 126, 127, 128, 300)
# Tags nobody declares; 2**31 - 1 is none at Kafka.
FREE_TAGS = (*range(8), 100, 127, 128, 16_384, 2**28, 2**31 - 2)


@cache
def declared() -> dict[str, type[Message]]:
    """Every message of `barnabas.wire.messages`, by Kafka's name."""
    found: dict[str, type[Message]] = {}
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        for name, value in vars(import_module(module.name)).items():
            if isinstance(value, type) and issubclass(value, Message) and value is not Message:
                found[name] = value
    return found


@cache
def all_versions() -> list[tuple[str, int]]:
    """Every message's name with every version, in order."""
    return sorted((name, version) for name, cls in declared().items() for version in cls.VERSIONS)


def messages() -> st.SearchStrategy[tuple[str, int]]:
    """Any message's name with any of its versions."""
    return st.sampled_from(all_versions())


def values(name: str, version: int) -> st.SearchStrategy[Any]:
    """Values of one message at one version."""
    return st.integers(0, 2**32).map(lambda seed: value(name, version, seed))


def value(name: str, version: int, seed: int) -> Any:
    """The value that this seed stands for; it is the same in every run."""
    return Values(random.Random(f"{name} {version} {seed}")).of(declared()[name], version)


class Values:
    """Makes values from one source of random numbers.

    `unknown` is the chance that a struct has unknown tags; `absent` that a field which the
    version lacks is set nevertheless, and such a value may have no bytes.
    """

    def __init__(self, source: random.Random, unknown: float = 0.15, absent: float = 0.0) -> None:
        self.source = source
        self.unknown = unknown
        self.absent = absent
        self.left = MOST_ELEMENTS

    def of(self, message: type[Message], version: int) -> Any:
        """A value that `message.at(version)` can build."""
        self.left = MOST_ELEMENTS
        return self._struct(message.at(version).reference)

    def _chance(self, probability: float) -> bool:
        return self.source.random() < probability

    def _struct(self, codec: StructCodec) -> Any:
        made = codec.cls()
        for field, member in codec.present:
            setattr(made, field.name, self._field(field, member, 0.1))
        for field, member in codec.tagged:
            value = self._field(field, member, 0.5)
            # What is not sent comes back as the default: None for a struct of defaults.
            setattr(made, field.name, value if field.is_set(value) else field.fresh_default())
        for field in codec.absent:
            if self.absent and self._chance(self.absent):
                member = field.bind(codec.version, codec.flexible)
                setattr(made, field.name, self._field(field, member, 0.3))
        if codec.flexible and self._chance(self.unknown):
            # Kafka refuses a tag that it knows from another version.
            made.unknown_tagged_fields = self._tags({field.tag for field in codec.cls.FIELDS})
        return made

    def _field(self, field: Field, codec: Codec, default: float) -> Any:
        if self._chance(default):
            kept = field.fresh_default()
            if kept is not None or field.tag is not None or getattr(codec, "nullable", False):
                return kept
        return self._value(codec)

    def _value(self, codec: Codec) -> Any:
        if getattr(codec, "nullable", False) and self._chance(0.2):
            return None
        if isinstance(codec, StructCodec):
            return self._struct(codec)
        if isinstance(codec, Array):
            return self._array(codec)
        if isinstance(codec, UuidCodec):
            return ZERO_UUID if self._chance(0.2) else Uuid(self.source.randbytes(16))
        if isinstance(codec, Fixed):
            return self._number(codec.char)
        return self._text() if isinstance(codec, StringCodec) else self._bytes()

    def _number(self, char: str) -> Any:
        if char not in BITS or self._chance(0.7):
            return self.source.choice(EDGES[char])
        return self.source.getrandbits(BITS[char]) - (1 << BITS[char] - 1)

    def _array(self, codec: Array) -> list[Any]:
        plain = isinstance(codec.element, Fixed)
        if plain and self._chance(0.1):
            wanted = self.source.choice((126, 127, 128, 300))
        else:
            wanted = self.source.choice((0, 0, 1, 1, 1, 2, 3))
            if self._chance(0.01):
                wanted = 130
        count = min(wanted, self.left)
        self.left -= count
        return [self._value(codec.element) for _ in range(count)]

    def _text(self) -> str:
        if self._chance(0.5):
            return "".join(self.source.choices(TEXT, k=self.source.choice(LENGTHS)))
        if self._chance(0.003):
            return "x" * 32_767
        return "x" * self.source.choice(LENGTHS)

    def _bytes(self) -> bytes:
        length = 16_383 if self._chance(0.003) else self.source.choice(LENGTHS)
        return self.source.randbytes(length)

    def _tags(self, known: set[int | None]) -> tuple[tuple[int, bytes], ...]:
        free = [tag for tag in FREE_TAGS if tag not in known]
        chosen = sorted(self.source.sample(free, self.source.choice((1, 1, 2, 5))))
        return tuple((tag, self._bytes()) for tag in chosen)
