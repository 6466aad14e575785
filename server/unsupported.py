"""What a broker's settings ask for and Barnabas does not do: refused before anything is touched."""

from barnabas.server.core.startup import StartFailed
from barnabas.server.settings.config import BrokerConfig


def refuse_unsupported(config: BrokerConfig) -> None:
    """Refuse what would silently not be done. Raises StartFailed.

    A registry's store that is not supported is refused by `cluster.registry_store`.
    """
    for endpoint in config.endpoints:
        if endpoint.protocol != "PLAINTEXT":
            raise StartFailed(
                f"{endpoint.protocol} is not supported yet (listener {endpoint.listener}); "
                "set `listeners` to PLAINTEXT ones"
            )
    if config.authorizer_class_name:
        raise StartFailed("ACLs are not supported yet; leave `authorizer.class.name` empty")
