"""Bash breaks words at "=", so that NAME=VALUE comes as three: they are put together again.

What is offered then is the part behind the "=", as bash replaces no more than that.
"""

from typing import ClassVar

from click.shell_completion import BashComplete, CompletionItem, add_completion_class


def joined(words: list[str]) -> list[str]:
    """Words with those around a lone "=" made one; a lone "=" at the end, too."""
    found: list[str] = []
    for word in words:
        if found and (word == "=" or found[-1].endswith("=")) and not found[-1].startswith("-"):
            found[-1] += word
        else:
            found.append(word)
    return found


class _Bash(BashComplete):
    """Bash's completion for words with "="."""

    # No space behind NAME=, where the value is to come.
    source_template: ClassVar[str] = BashComplete.source_template.replace(
        "COMPREPLY+=($value)", "COMPREPLY+=($value); [[ $value == *= ]] && compopt -o nospace"
    )
    _is_value = False

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        *args, incomplete = joined([*args, incomplete])
        self._is_value = "=" in incomplete
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        if self._is_value:
            item.value = item.value.partition("=")[2]
        return super().format_completion(item)


def know_bash() -> None:
    """From now on bash is completed like that."""
    add_completion_class(_Bash, "bash")
