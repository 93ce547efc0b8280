"""Items as markdown: a form which no content or file name can break."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from polycontext.window import ItemType, PluginError, Turn, context_to_string
from polycontext.window.items import (
    ContextItem,
    attachment_of,
    fenced_text,
    item_turn,
    markdown,
    register_formatter,
)
from polycontext.window.items.attachment import source_of
from tests.window.items.samples import TABLES, items, seed_item

TYPES = {
    "code": "### Code\n```\nx\n```",
    "text": "### Text\n```text\nx\n```",
    "file": "### File\n```text\nx\n```",
    "repl-history": "### REPL History\n```\nx\n```",
    "error": "### Error\n```text\nx\n```",
    "custom": "### Custom\n```text\nx\n```",
}
LANGUAGES: dict[str, str] = TABLES["languages"]


def test_the_seeds_example_exactly() -> None:
    """Heading, file with lines, and a lisp fence."""
    assert (
        context_to_string([seed_item()])
        == "### Code\n#### math.lisp:5-7\n```lisp\n(defun add (a b) (+ a b))\n```"
    )


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_has_a_heading_and_a_language(kind: str) -> None:
    """Without a file name the type says what the fence holds."""
    assert context_to_string([ContextItem("x", kind)]) == TYPES[kind]
    assert set(TYPES) == set(ItemType)


@pytest.mark.parametrize(("metadata", "label"), TABLES["labels"])
def test_the_file_name_is_printed_with_its_lines(metadata: dict[str, Any], label: str) -> None:
    """No lines, one line, both; what cannot be printed is escaped."""
    assert context_to_string([seed_item(metadata=metadata)]).split("\n")[1] == f"#### {label}"


@pytest.mark.parametrize("filename", LANGUAGES)
def test_the_language_comes_from_the_file_name(filename: str) -> None:
    """Whatever the type; the names are those that fences use."""
    assert (
        context_to_string([ContextItem("x", "file", {"filename": filename})]).split("\n")[2]
        == f"```{LANGUAGES[filename]}"
    )


@given(st.lists(items(), max_size=3))
def test_markdown_reads_back_what_was_printed(some: list[ContextItem]) -> None:
    """A Markdown parser finds exactly the headings and one fence with the content per item."""
    tokens = MarkdownIt().parse(context_to_string(some))
    fences = [token.content for token in tokens if token.type == "fence"]
    assert [
        token.type for token in tokens if token.level == 0 and not token.type.startswith("heading")
    ] == ["fence"] * len(some)
    assert [fence.removesuffix("\n") for fence in fences] == [
        _as_commonmark(item.content).removesuffix("\n") for item in some
    ]
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    named = [bool((item.metadata or {}).get("filename")) for item in some]
    assert headings == [tag for name in named for tag in (["h3", "h4"] if name else ["h3"])]


def _as_commonmark(text: str) -> str:
    """Return `text` with line ends and NUL as the specification has a parser read them."""
    return re.sub(r"\r\n?", "\n", text).replace("\0", "\ufffd")


@given(items())
def test_the_fence_can_be_read_back(item: ContextItem) -> None:
    """`fenced_text` undoes the printing of one item, up to the final line end."""
    assert fenced_text(context_to_string([item]))[1] == item.content.removesuffix("\n")


def test_text_without_a_fence_is_its_own_content() -> None:
    """So is what a formatter wrote without one; a fence that never ends goes to the end."""
    assert fenced_text("### Custom\nfree text") == ("", "### Custom\nfree text")
    assert fenced_text("```py\na\nb") == ("py", "a\nb")


# --- custom kinds -----------------------------------------------------------


@pytest.fixture
def tickets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register a formatter for tickets, for one test."""
    monkeypatch.setattr(markdown, "_FORMATTERS", {})
    register_formatter("ticket", lambda item: f"Ticket: **{item.content}**")


@pytest.mark.usefixtures("tickets")
def test_a_registered_formatter_writes_the_body_of_its_kind() -> None:
    """The headings stay; what stands below them is the formatter's."""
    item = ContextItem("printer burns", "custom", {"kind": "ticket", "filename": "t1"})
    assert context_to_string([item]) == "### Custom\n#### t1\nTicket: **printer burns**"
    register_formatter("ticket", lambda item: item.content.upper())
    assert context_to_string([item]).endswith("\nPRINTER BURNS")


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize(
    "item",
    [
        ContextItem("x", "custom", {"kind": "unheard-of"}),
        ContextItem("x", "custom", {"kind": ["ticket"]}),
        ContextItem("x", "custom"),
        ContextItem("x", "text", {"kind": "ticket"}),
    ],
    ids=["unknown kind", "no text", "no kind", "not custom"],
)
def test_what_nobody_formats_is_fenced(item: ContextItem) -> None:
    """Formatters are for custom items of a kind that was registered."""
    assert context_to_string([item]).endswith("```text\nx\n```")


@pytest.mark.usefixtures("tickets")
@pytest.mark.parametrize("answer", [None, 7, "\ud800", KeyError("lost")])
def test_a_failing_formatter_is_reported_as_a_collaborators_fault(answer: Any) -> None:
    """The error names the kind, the item and what went wrong."""

    def fail(item: ContextItem) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]

    register_formatter("ticket", fail)
    item = ContextItem("x", "custom", {"kind": "ticket"})
    with pytest.raises(PluginError) as caught:
        context_to_string([item])
    assert (caught.value.what, caught.value.name) == ("formatter of 'ticket' items", item.id)
    assert f"formatter of 'ticket' items failed on {item.id!r}: " in str(caught.value)


# --- as a turn --------------------------------------------------------------


@given(items(), st.none() | st.text(min_size=1, max_size=5))
def test_a_turn_says_which_item_it_holds(item: ContextItem, source: str | None) -> None:
    """The turn's text is the item's markdown, and its metadata name id, type, source and label."""
    turn = item_turn(item, source)
    attachment = attachment_of(turn)
    assert turn.text == context_to_string([item])
    assert attachment is not None
    assert (attachment.id, attachment.type, attachment.source) == (
        item.id,
        item.type,
        source or source_of(item),
    )
    assert (
        attachment.name == (attachment.label or item.id)[-80:]
        or attachment.name == f"…{attachment.label[-80:]}"
    )


@pytest.mark.parametrize(
    "entry",
    [None, "ctx-1", {}, {"id": "ctx-1", "type": "poem", "source": None, "label": ""}, {"id": 1}],
)
def test_other_metadata_make_no_attachment(entry: Any) -> None:
    """A turn whose metadata have another shape holds no item."""
    assert attachment_of(Turn("user", "x", metadata={"context_item": entry})) is None
    assert attachment_of(Turn("user", "x")) is None


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("code", "a.py:3"),
        ("file", "a.py:3"),
        ("text", "a.py:3"),
        ("error", "error a.py:3"),
        ("repl-history", "repl-history a.py:3"),
    ],
)
def test_what_is_about_a_file_is_another_source_than_the_file(kind: str, source: str) -> None:
    """An error at a line does not replace the line."""
    assert source_of(ContextItem("x", kind, {"filename": "a.py", "start_line": 3})) == source
    assert source_of(ContextItem("x", kind)) is None
