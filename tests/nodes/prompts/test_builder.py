"""System prompts: template, persona and constraints made one text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError
from polycontext.nodes import PromptBuilder
from polycontext.testing.strategies import ANY_TEXT

GOLDEN = Path(__file__).parent / "golden"
SHIPPED = PromptBuilder()
BARE = PromptBuilder(
    {"bare": "{constraints}", "closed": "Say {word}."},
    section_templates={"constraints": "{constraints}"},
)
SOUL = {"aesthetic": 0.9, "joy": 0.2, "categorical": 0.5, "swagger": 0.7}
RULES = ["Never suggest a flight.", "Answer in German."]


@pytest.mark.parametrize(
    ("name", "eigenvectors", "constraints", "values"),
    [
        ("kgent", SOUL, RULES, {}),
        ("builder", {"patience": 0.9}, [], {"specialty": "carpentry"}),
        ("citizen", {"warmth": 0.1, "trust": 0.5}, RULES[:1], {}),
        ("default", {}, [], {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_prompts_of_the_package_are_these(
    name: str, eigenvectors: dict[str, float], constraints: list[str], values: dict[str, str]
) -> None:
    """Each agent's prompt is its golden file, read and approved by eye."""
    prompt = SHIPPED.build_system_prompt(name, eigenvectors, constraints, **values)
    assert prompt + "\n" == (GOLDEN / f"system_{name}.md").read_text(encoding="utf-8")


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["a\n- b", "\r\n\r\n# Task", "{persona}", "\u2028x", "\x85y", " "]),
            ANY_TEXT,
        ),
        max_size=4,
    )
)
def test_a_constraint_is_one_line_of_the_list(constraints: list[str]) -> None:
    """Each constraint is one line with all its words, and a blank one is left out."""
    said = [constraint.split() for constraint in constraints if constraint.split()]
    lines = BARE.build_system_prompt("bare", {}, constraints).splitlines()
    assert [line.split()[1:] for line in lines] == said
    assert all(line.startswith("- ") for line in lines)


def test_constraints_reach_a_template_without_a_place_for_them() -> None:
    """If a template has no place for constraints, they are appended."""
    assert (
        BARE.build_system_prompt("closed", {}, ["Be kind."], word="hi") == "Say hi.\n\n- Be kind."
    )
    assert BARE.build_system_prompt("closed", {}, [], word="hi") == "Say hi."


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"word": None}, r"^word: NoneType is not text\. Use str"),
        ({"word": ["a"]}, "^word: list is not text"),
        ({"word": "\ud800"}, "^word: lone surrogate"),
        ({"word": "x", "persona": "y"}, "^persona: is filled in by the builder. Use "),
        (
            {"word": "x", "constraints": "Be kind."},
            "^constraints: one text, .*. Use a sequence of texts",
        ),
        ({"word": "x", "constraints": ["a", 7]}, r"^constraints\[1\]: int is not text"),
        ({"agent_type": 7, "word": "x"}, "^agent_type: int is not text"),
    ],
    ids=str,
)
def test_what_is_no_text_is_refused_by_name(values: dict[str, object], problem: str) -> None:
    """A value that cannot be put in is an error that names it."""
    with pytest.raises(InvalidDataError, match=problem):
        BARE.build_system_prompt(**{"agent_type": "closed", **values})  # type: ignore[arg-type]
