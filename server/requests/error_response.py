"""The answer to a request that failed as a whole.

Most responses have an error code at the top; those that carry their codes further down have
a handler that says how to refuse (`refuse(request, code)`), because only it knows what was
asked for; it may say it in every place that any version has. What has neither is not answered:
the connection is closed, as Kafka does where a response cannot express the error.
"""

from types import ModuleType

from barnabas.wire.api import ApiKey, response_class
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.schema import Message


def error_response(
    module: ModuleType,
    api_key: ApiKey,
    version: int,
    request: Message,
    code: ErrorCode,
    message: str | None,
) -> Message | None:
    """The response that refuses the whole of `request`, or None if there is no such thing."""
    refuse = getattr(module, "refuse", None)
    made: Message | None
    if refuse is not None:
        made = refuse(request, code)
    else:
        made = _said_at_the_top(api_key, code, message)
    if made is not None:
        _fit(made, api_key, version)
    return made


def _said_at_the_top(api_key: ApiKey, code: ErrorCode, message: str | None) -> Message | None:
    made = response_class(api_key)()
    names = {field.name for field in made.FIELDS}
    if "error_code" not in names:
        return None
    made.error_code = int(code)  # type: ignore[attr-defined]  # checked just above
    if "error_message" in names:
        made.error_message = message  # type: ignore[attr-defined]  # likewise
    return made


def _fit(response: Message, api_key: ApiKey, version: int) -> None:
    """Leave out what the version has no field for: there the code stands further down."""
    empty = response_class(api_key)()
    for field in response.FIELDS:
        if not field.exists_at(version):
            setattr(response, field.name, getattr(empty, field.name))
