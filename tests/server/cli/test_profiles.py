"""Clusters by name: which one a command talks to, and what is wrong with a file of profiles."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from barnabas.server.cli.main import main
from barnabas.server.testing.broker import Broker

NOBODY = "127.0.0.1:9"
Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(broker: Broker, tmp_path: Path) -> Ask:
    """List topics in an environment; the file has the broker as `here` and nobody as `away`."""
    path = tmp_path / "profiles.toml"
    path.write_text(
        f'[here]\nbootstrap = "{broker.bootstrap_servers}"\n'
        f'[away]\nbootstrap = "{NOBODY}"\n'
        f'[wrong]\nbootstrap = "{broker.bootstrap_servers}"\nclient = {{ "no.such.thing" = 1 }}\n'
    )

    def run(*options: str, **environment: str) -> tuple[int, str, str]:
        runner = CliRunner(env={"BARNABAS_PROFILES": str(path)} | environment)
        result = runner.invoke(main, ["topics", "list", "--json", *options])
        return result.exit_code, result.stdout, result.stderr

    return run


def test_a_profile_is_a_cluster(broker: Broker, ask: Ask) -> None:
    broker.create_topic("here")
    for found in (ask("--profile", "here"), ask(BARNABAS_PROFILE="here")):
        assert found[0] == 0 and '"topic":"here"' in found[1]


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (("--profile", "here"), {"BARNABAS_BOOTSTRAP": NOBODY}),
        (("--profile", "here"), {"BARNABAS_PROFILE": "away"}),
        (("--bootstrap", "{here}"), {"BARNABAS_PROFILE": "away"}),
        (("-b", "{here}", "--profile", "away"), {}),
        ((), {"BARNABAS_BOOTSTRAP": "{here}", "BARNABAS_PROFILE": "away"}),
    ],
)
def test_who_is_stronger(
    broker: Broker, ask: Ask, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    here = broker.bootstrap_servers
    typed = (word.format(here=here) for word in options)
    code, _, said = ask(*typed, **{k: v.format(here=here) for k, v in environment.items()})
    assert code == 0, said


def test_settings_of_the_client_come_along(broker: Broker, ask: Ask) -> None:
    code, _, said = ask("--profile", "wrong")
    assert (code, "there is no setting no.such.thing" in said) == (2, True)
    assert ask("--bootstrap", broker.bootstrap_servers, BARNABAS_PROFILE="wrong")[0] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[here", "not TOML"),
        ("[here]\n", '[here] needs bootstrap = "HOST:PORT"'),
        ('here = "x"\n', '[here] needs bootstrap = "HOST:PORT"'),
        ('[here]\nbootstrap = "x"\nport = 1\n', "has bootstrap and client, not port"),
        ('default = "hare"\n[here]\nbootstrap = "x"\n', "default: PATH has no profile hare"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "profiles.toml"
    path.write_text(text)
    result = CliRunner(env={"BARNABAS_PROFILES": str(path)}).invoke(main, ["profiles"])
    assert result.exit_code == 2
    assert words.replace("PATH", str(path)) in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(("is_folder", "why"), [(True, "is a directory"), (False, "not UTF-8")])
def test_files_that_cannot_be_read_are_named_as_they_are(
    tmp_path: Path, is_folder: bool, why: str
) -> None:
    path = tmp_path / "Profiles.TOML"
    path.mkdir() if is_folder else path.write_bytes(b"\xff")
    result = CliRunner(env={"BARNABAS_PROFILES": str(path)}).invoke(main, ["profiles"])
    assert (result.exit_code, result.stderr) == (2, f"barnabas: {path}: {why}\n")


def test_completion_asks_the_profiles_cluster(broker: Broker, tmp_path: Path) -> None:
    broker.create_topic("of-the-profile")
    path = tmp_path / "profiles.toml"
    path.write_text(
        'default = "away"\n'
        f'[away]\nbootstrap = "{NOBODY}"\n'
        f'[here]\nbootstrap = "{broker.bootstrap_servers}"\n'
        'client = { "request.timeout.ms" = 9000, "linger.ms" = 5 }\n'
        f'[wrong]\nbootstrap = "{broker.bootstrap_servers}"\nclient = {{ "no.such" = 1 }}\n'
    )

    def completed(*options: str, **environment: str) -> str:
        words = ("barnabas", "topics", "describe", *options, "of-")
        return CliRunner().invoke(
            main, [], prog_name="barnabas", env={
                "_BARNABAS_COMPLETE": "bash_complete", "BARNABAS_PROFILES": str(path),
                "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), **environment,
            },
        ).stdout.strip()  # fmt: skip

    found = "plain,of-the-profile"
    assert completed("--profile", "here") == completed(BARNABAS_PROFILE="here") == found
    assert completed() == completed("--profile", "none") == completed("--profile", "wrong") == ""
    assert completed("-b", broker.bootstrap_servers) == found
    path.write_text("[")
    assert completed("-b", broker.bootstrap_servers) == found


def test_the_list(tmp_path: Path) -> None:
    path = tmp_path / "profiles.toml"
    runner = CliRunner(env={"BARNABAS_PROFILES": str(path)})
    assert runner.invoke(main, ["profiles"]).stderr == f"no profiles; {path} would have them\n"
    path.write_text('default = "a"\n[a]\nbootstrap = "x:1"\n[b]\nbootstrap = "y:1"\n')
    assert runner.invoke(main, ["profiles"]).stdout == (
        "PROFILE  BOOTSTRAP  DEFAULT\na        x:1        yes\nb        y:1        no\n"
    )
    refused = runner.invoke(main, ["topics", "list", "--profile", "c"])
    assert (refused.exit_code, "has no profile c" in refused.stderr) == (2, True)
