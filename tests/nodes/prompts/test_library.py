"""Templates from folders: a user's own first, the package's behind them."""

from pathlib import Path
from typing import Any

import pytest

from polycontext.nodes import PromptBuilder
from polycontext.nodes.prompts.template import TemplateError

SHIPPED = PromptBuilder()


def folder(place: Path, **files: str) -> Path:
    """Write a folder of templates."""
    place.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (place / f"{name}.md").write_text(text, encoding="utf-8")
    return place


def test_the_first_hit_wins(tmp_path: Path) -> None:
    """Templates given as text override folders, and earlier folders override later ones."""
    one, two = (
        folder(tmp_path / "1", a="one", b="one"),
        folder(tmp_path / "2", a="two", b="two", c="two"),
    )
    builder = PromptBuilder({"a": "given"}, folders=[one, str(two)])
    assert [builder.build_system_prompt(name) for name in "abc"] == ["given", "one", "two"]
    assert builder.folders == (one, two)


@pytest.mark.parametrize(
    "agent_type",
    [
        "../hidden",
        "..\\hidden",
        "hidden.md",
        "/etc/passwd",
        "_persona",
        "persona",
        "below/deep",
        "",
        "kgent\x00",
    ],
)
def test_an_agent_type_is_a_name_never_a_path(tmp_path: Path, agent_type: str) -> None:
    """An agent type that looks like a path reads no file: it is unknown, and default stands in."""
    folder(tmp_path, hidden="SECRET")
    folder(tmp_path / "mine" / "below", deep="SECRET")
    builder = PromptBuilder(folders=[folder(tmp_path / "mine")])
    with pytest.warns(UserWarning, match="is used"):
        assert builder.build_system_prompt(agent_type) == builder.build_system_prompt("default")


def test_an_unknown_agent_type_falls_back_with_a_warning() -> None:
    """An unknown agent type warns with the name, a suggestion and the caller's file."""
    with pytest.warns(
        UserWarning,
        match="'kagent', 'default' is used. Did you mean 'kgent'.* Use builder, citizen",
    ) as caught:
        SHIPPED.build_system_prompt("kagent")
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="'zzz', 'default' is used. Use "):
        SHIPPED.build_system_prompt("zzz")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"system_templates": {"a": "{"}}, r"system_templates\['a'\]:1:1: '\{' is no place"),
        (
            {"persona_templates": {"warmth": "Be warm."}},
            r"persona_templates\['warmth'\]: 'warmth' names no band. Use .*\.low, \.middle, \.high",
        ),
        ({"section_templates": {"end": "x"}}, "no section is called 'end'"),
        ({"a": "Hello\n{name.upper}"}, r"a\.md:2:1: '\{name.upper\}' is no place"),
        ({"a": "\n \n"}, r"a\.md: is empty. Use "),
        ({"_persona": "low: no heading"}, r"_persona\.md:1:1: line"),
        (
            {"_conversaton": "{conversation}"},
            (
                r"_conversaton\.md: no section is called 'conversaton'. "
                r"Use constraints, conversation, task"
            ),
        ),
        ({"_task": "Do it."}, r"_task\.md: the section does not name \{task\}. Use "),
        ({"_constraints": "{constraints"}, r"_constraints\.md:1:1: '\{' is no place"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_faulty_template_is_refused_when_it_is_loaded(
    tmp_path: Path, given: dict[str, Any], problem: str
) -> None:
    """With its place, whether it is in a file or given as a text."""
    options = given
    if "_templates" not in str(given):
        options = dict[str, Any](folders=[folder(tmp_path, **given)])
    with pytest.raises(TemplateError, match=problem):
        PromptBuilder(**options)


def test_a_file_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    """The error names the file and the byte."""
    (tmp_path / "a.md").write_bytes(b"Gr\xfc\xdfe")
    with pytest.raises(
        TemplateError, match=r"a\.md: is not UTF-8 text \(.* at byte 2\). Use UTF-8"
    ):
        PromptBuilder(folders=[tmp_path])
