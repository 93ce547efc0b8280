"""The persona: coordinates become words, band by band."""

from decimal import Decimal
from math import inf, nan, nextafter

import pytest
from hypothesis import given

from polycontext.base import InvalidOptionError
from polycontext.nodes import PromptBuilder
from polycontext.nodes.prompts.template import TemplateError, band_of, read_persona
from polycontext.testing.strategies import ANY_TEXT

PERSONA = PromptBuilder(system_templates={"bare": "{persona}"})


def described(eigenvectors: dict[str, float]) -> str:
    """Return the persona alone."""
    return PERSONA.build_system_prompt("bare", eigenvectors)


@pytest.mark.parametrize(
    ("value", "band"),
    [
        (0, "low"),
        (-0.0, "low"),
        (nextafter(0.35, 0), "low"),
        (0.35, "middle"),
        (0.5, "middle"),
        (0.65, "middle"),
        (nextafter(0.65, 1), "high"),
        (1, "high"),
    ],
)
def test_a_band_ends_where_it_says(value: float, band: str) -> None:
    """The middle includes both of its edges, and the sentence is that of the band."""
    assert band_of(value) == band
    assert described({"warmth": value}) == PERSONA.persona_templates[f"warmth.{band}"]


@pytest.mark.parametrize(
    "value", [nan, inf, -inf, -0.001, 1.001, nextafter(1, 2), True, None, "0.5", Decimal("0.5")]
)
def test_no_coordinate_is_refused_by_name(value: object) -> None:
    """An eigenvector that is not a number from 0 to 1 is refused by name."""
    with pytest.raises(
        InvalidOptionError, match=r"eigenvectors\['warmth'\] = .*. Use a number from 0 to 1"
    ) as caught:
        described({"joy": 0.5, "warmth": value})  # type: ignore[dict-item]
    assert caught.value.value is value


def test_an_unknown_eigenvector_gets_a_sentence_of_the_default() -> None:
    """A name without sentences of its own is described by name and value."""
    assert (
        described({"swagger": 0.999})
        == "Your swagger is high (1.00 on a scale from 0 to 1): let it shape how you answer."
    )
    assert "{joy}" in described({"{joy}": 0.1})


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("low: Be cool.", 1, "line 'low: Be cool.'"),
        ("# warmth\n\nlow Be cool.", 3, "line 'low Be cool.'"),
        ("# warmth\nlow: a\nhot: b", 3, "line 'hot: b'"),
        ("# \nlow: a", 2, "line 'low: a'"),
        (
            "# warmth\nlow:  Be {name.upper}.",
            2,
            r"^_persona\.md:2:10: '\{name\.upper\}' is no place",
        ),
    ],
)
def test_a_faulty_persona_file_is_refused_at_its_line(text: str, line: int, problem: str) -> None:
    """A line that is neither heading nor band, and a sentence that is no template."""
    with pytest.raises(TemplateError, match=problem) as caught:
        list(read_persona(text, "_persona.md"))
    assert caught.value.line == line


@given(ANY_TEXT)
def test_any_name_stands_word_for_word_or_is_refused(name: str) -> None:
    """A name cannot bring a template or a line of its own into the prompt."""
    try:
        text = described({name: 0.5})
    except InvalidOptionError:
        return
    assert "\n" not in text
    assert f"Your {name} is moderate" in text or f"{name}.middle" in PERSONA.persona_templates
