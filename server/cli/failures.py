"""What ends a command: one sentence on the standard error, and an exit code that says why."""

import click

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
TERMINATED = 143  # 128 + SIGTERM


class Failure(click.ClickException):
    """The command was understood and could not be carried out."""

    exit_code = FAILED


class BadInput(click.ClickException):
    """What was typed or read is wrong; the message says what would be right."""

    exit_code = BAD_INPUT


def reason_of(error: OSError) -> str:
    """Why the system refused something, in the middle of a sentence."""
    return (error.strerror or str(error)).lower()


def did_you_mean(word: str, known: list[str]) -> str:
    """The end of a sentence about an unknown word: what it may have been, or nothing."""
    from difflib import get_close_matches

    close = get_close_matches(word, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def sentence_of(error: click.ClickException) -> str:
    """One line for people, click's own errors included."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    if context is None:
        return f"barnabas: {message}"
    message = message[:1].lower() + message[1:]
    return f"{context.command_path}: {message}; `{context.command_path} --help` shows how"
