"""Templates: named places, filled in once, as text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polycontext.nodes.prompts import Template
from polycontext.nodes.prompts.template import MissingValueError, TemplateError
from polycontext.testing.strategies import ANY_TEXT

HOSTILE = st.sampled_from(
    ["{b}", "{persona}", "{0.__class__}", "{{b}}", "}", "{", "%s", "${b}", "\n\n", "\n\n{b}\n\n"]
)


@given(st.one_of(HOSTILE, ANY_TEXT), st.one_of(HOSTILE, ANY_TEXT))
@example("{b}", "{a}")
def test_a_value_stands_word_for_word(a: str, b: str) -> None:
    """Whatever a value holds, it is put in as it stands, and nothing else changes."""
    template = Template("left {a} {{a}} {b} right\n\nbelow {a}", "t.md")
    assert template.fill({"a": a, "b": b}) == f"left {a} {{a}} {b} right\n\nbelow {a}"


@given(ANY_TEXT)
def test_a_text_with_its_braces_doubled_is_itself(text: str) -> None:
    """Literal braces are written twice; then any text is a template of itself."""
    assert Template(text.replace("{", "{{").replace("}", "}}"), "t.md").fill({}) == text


@given(st.text("{}ab.[]!:0 \n", max_size=12))
def test_a_template_is_filled_or_refused_where_it_is_wrong(text: str) -> None:
    """Any text is a template with plain names, or is refused at one of its braces."""
    try:
        template = Template(text, "t.md")
    except TemplateError as error:
        assert text.split("\n")[error.line - 1][error.column - 1] in "{}"
    else:
        assert template.names <= {"a", "b", "ab", "aa", "bb", "ba"} or all(
            name.isidentifier() for name in template.names
        )
        assert template.fill(dict.fromkeys(template.names, "x")).count("x") >= bool(template.names)


@pytest.mark.parametrize(
    ("text", "line", "column", "place"),
    [
        ("Hello {name.__class__}", 1, 7, "{name.__class__}"),
        ("a\n\nb {}", 3, 3, "{}"),
        ("{{ {name!r}", 1, 4, "{name!r}"),
        ("{{}} {name:>9}", 1, 6, "{name:>9}"),
        ("{a}{b:{c}}", 1, 4, "{"),
        ("{a} }", 1, 5, "}"),
        ("{a\n\nb}", 1, 1, "{"),
    ],
)
def test_a_faulty_template_is_refused_at_its_place(
    text: str, line: int, column: int, place: str
) -> None:
    """The error names file, line, column and what would be legal."""
    with pytest.raises(TemplateError) as caught:
        Template(text, "house/kgent.md")
    told = f"house/kgent.md:{line}:{column}: {place!r} is no place. Use {{name}} for a value"
    assert str(caught.value).startswith(told)


def test_a_missing_value_names_itself() -> None:
    """The error names the key, the template and what was given."""
    with pytest.raises(MissingValueError) as caught:
        Template("{persona}\n\n{specialty}", "builder.md").fill({"persona": "", "city": "Vienna"})
    assert (caught.value.key, caught.value.template, caught.value.known) == (
        "specialty",
        "builder.md",
        ("persona", "city"),
    )
    assert str(caught.value).startswith(
        "template builder.md names {specialty}, but no such value is given. Pass specialty=..."
    )


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("a\n\n{x}\n\nb", "a\n\nb"),
        ("{x}\n\nb", "b"),
        ("a\n\n{x}", "a"),
        ("a\n\nso: {x}\n\nb", "a\n\nso: \n\nb"),
        ("a\n\n{x}{y}", "a\n\n"),
        ("{x}", ""),
    ],
)
def test_a_paragraph_that_is_an_empty_value_vanishes(text: str, filled: str) -> None:
    """An empty value removes a paragraph that holds only its place, and no other."""
    assert Template(text, "t.md").fill({"x": "", "y": ""}) == filled
