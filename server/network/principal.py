"""Who is at the other end of a connection."""

from typing import Final, NamedTuple


class Principal(NamedTuple):
    """A name and what kind of name it is: org.apache.kafka.common.security.auth.KafkaPrincipal."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


# Whoever comes by a listener that asks for no proof.
ANONYMOUS: Final = Principal("User", "ANONYMOUS")
