"""`polycontext models` lists the models that are known by name."""

from polycontext.window.model_profiles import known_models
from tests.cli.command import Command


def test_all_known_models_are_listed(polycontext: Command) -> None:
    """With window, reply, format and prices, for people and as JSON."""
    rows = polycontext("models", "--json").json()
    assert [row["model"] for row in rows] == sorted(known_models())
    assert "200,000    64,000" in polycontext("models", "sonnet").out


def test_one_model_is_shown_by_any_of_its_names(polycontext: Command) -> None:
    """A dated name is resolved, as everywhere."""
    ran = polycontext("models", "claude-sonnet-4-5-20250929")
    assert ran.out.splitlines()[:2] == ["model      claude-sonnet-4-5", "window     200000"]


def test_an_unknown_model_brings_advice_for_the_command_line(polycontext: Command) -> None:
    """The error names the option, not the argument of a function."""
    ran = polycontext("models", "my-own-model")
    assert (ran.code, "pass its context window as --max-tokens" in ran.complaint) == (2, True)
