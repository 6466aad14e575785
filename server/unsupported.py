"""What a broker's settings ask for and Barnabas does not do: refused before anything is touched."""

from barnabas.server.core.startup import StartFailed
from barnabas.server.replication.read_replica import SELECTORS
from barnabas.server.settings.config import BrokerConfig


def refuse_unsupported(config: BrokerConfig) -> None:
    """Refuse what would silently not be done. Raises StartFailed."""
    for endpoint in config.endpoints:
        if endpoint.protocol != "PLAINTEXT":
            raise StartFailed(
                f"{endpoint.protocol} is not supported yet (listener {endpoint.listener}); "
                "set `listeners` to PLAINTEXT ones"
            )
    if config.replica_selector_class not in (None, "", *SELECTORS):
        raise StartFailed(
            f"`replica.selector.class` is {config.replica_selector_class}, which is not there; "
            f"set it to {SELECTORS[0]}, or leave it empty"
        )
    if config.authorizer_class_name:
        raise StartFailed("ACLs are not supported yet; leave `authorizer.class.name` empty")
