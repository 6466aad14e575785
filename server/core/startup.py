"""What keeps a broker from starting."""


class StartFailed(Exception):
    """The broker cannot do its job; the message is one sentence for whoever started it."""
