"""From a document to a message: every pill attached or a problem, and nothing else of it lost."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import CollaboratorError
from polycontext.pills import (
    BufferResolver,
    Completer,
    FileResolver,
    PillDocument,
    Resolvers,
    resolve_document,
    update_moved,
)
from polycontext.pills.errors import (
    CannotAttachError,
    DuplicatePillError,
)
from polycontext.pills.pill import Pill, PillType
from polycontext.window import PluginError
from tests.pills.trees import planted


def test_a_vanished_file_is_a_warning_and_the_rest_is_sent(tmp_path: Path) -> None:
    """The problem names the pill, so the caller can remove it or point it elsewhere."""
    resolvers = [FileResolver([planted(tmp_path, {"a.py": "a", "b.py": "b", "c.py": "c"})])]
    document = PillDocument.parse("compare [@a.py] with [@b.py]")
    (tmp_path / "a.py").unlink()
    message = resolve_document(document, resolvers)
    assert [each.name for each in message.attachments] == ["b.py"]
    (problem,) = message.problems
    assert problem.warning == "Cannot attach context: file not found"
    assert "is not beneath the roots. Use" in problem.detail
    removed = resolve_document(document.remove_pill(problem.pill), resolvers)
    assert (removed.text, removed.problems) == ("compare  with [@b.py]", ())
    updated = resolve_document(document.update_pill(problem.pill.name, new_name="c.py"), resolvers)
    assert [each.content for each in updated.attachments] == ["c", "b"]


def test_two_names_of_one_file_attach_it_once(tmp_path: Path) -> None:
    """The second gives the message that a user is shown."""
    planted(tmp_path, {"a.py": "a"})
    (tmp_path / "b.py").symlink_to("a.py")
    message = resolve_document(
        PillDocument.parse("[@a.py] [@b.py] [@./a.py]"), [FileResolver([tmp_path])]
    )
    assert [each.name for each in message.attachments] == ["a.py"]
    assert [(each.pill.name, each.warning) for each in message.problems] == [
        ("b.py", "Context already attached"),
        ("./a.py", "Context already attached"),
    ]
    assert isinstance(message.problems[0].error, DuplicatePillError)


def test_a_pill_goes_to_resolvers_of_its_type_in_order() -> None:
    """The first that finds it wins; a refusal that is more than absence ends the search."""
    first, second = BufferResolver({"a": "1"}), BufferResolver({"a": "2", "b": "2"})
    resolvers = Resolvers([first, second])
    assert [resolvers.resolve(Pill(name, PillType.BUFFER)).content for name in "ab"] == ["1", "2"]
    with pytest.raises(CannotAttachError, match="buffer not found") as caught:
        resolvers.resolve(Pill("c", PillType.BUFFER))
    assert (str(caught.value), caught.value.legal) == (
        "Cannot attach context: buffer not found",
        "a",
    )
    with pytest.raises(CannotAttachError, match="symbol not found") as missing:
        resolvers.resolve(Pill("a", PillType.SYMBOL))
    assert missing.value.problem == "has no resolver for type symbol"

    def refuse(name: str) -> str:
        raise CannotAttachError(name, "is locked", "later")

    with pytest.raises(CannotAttachError):
        Resolvers().register("buffer", refuse).register("buffer", lambda name: "x").resolve(
            Pill("c", PillType.BUFFER)
        )


def test_a_resolver_that_fails_loses_only_its_own_pill() -> None:
    """Whatever it raises is a problem that names the pill and keeps the cause."""

    def fail(name: str) -> str:
        raise ZeroDivisionError("by nothing")

    resolvers = Resolvers([BufferResolver({"a": "1"})]).register("symbol", fail)
    document = PillDocument().insert_pill("f", type="symbol").insert_pill("a", type="buffer")
    message = resolve_document(document, resolvers)
    assert [each.name for each in message.attachments] == ["a"]
    (problem,) = message.problems
    assert isinstance(problem.error, PluginError)
    assert isinstance(problem.error, CollaboratorError)
    assert isinstance(problem.error.__cause__, ZeroDivisionError)
    assert problem.warning == problem.detail
    assert problem.warning.startswith("resolver failed on 'f': ZeroDivisionError: by nothing. Use")


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.sets(st.sampled_from("abcdef")))
def test_every_pill_is_attached_or_a_problem(names: list[str], known: set[str]) -> None:
    """In the order they stand, with the text as it was."""
    document = PillDocument("x")
    for name in names:
        document = document.insert_pill(name, type="buffer")
    message = resolve_document(document, [BufferResolver(dict.fromkeys(known, ""))])
    assert message.text == document.text
    assert [each.name for each in message.attachments] == [name for name in names if name in known]
    assert [each.pill.name for each in message.problems] == [
        name for name in names if name not in known
    ]


def test_a_reference_that_moved_is_updated_where_there_is_one_place_alone(tmp_path: Path) -> None:
    """A moved reference with one possible target is renamed in place and attached."""
    resolvers = [FileResolver([planted(tmp_path, {"src/agent.py": "a", "b.py": "b"})])]
    completer = Completer(resolvers)
    document = PillDocument.parse("compare [@src/agent.py] with [@b.py]")
    assert [each.name for each in completer.namesakes(document.pills[0])] == ["src/agent.py"]
    (tmp_path / "src/agent.py").rename(tmp_path / "agent.py")
    message = resolve_document(document, resolvers)
    updated = update_moved(document, message.problems, completer)
    assert updated.to_text() == "compare [@agent.py] with [@b.py]"
    again = resolve_document(updated, resolvers)
    assert ([each.content for each in again.attachments], again.problems) == (["a", "b"], ())
    assert update_moved(updated, again.problems, completer) == updated


@pytest.mark.parametrize(
    ("files", "text"),
    [
        ({}, "see [@src/agent.py]"),
        ({"a/agent.py": "", "b/agent.py": ""}, "see [@src/agent.py]"),
        ({"a/agent.py": ""}, "see [@src/agent.py], not [@a/agent.py]"),
        ({"a/agent.py": "", "src/agent.py": "", ".gitignore": "/src"}, "see [@src/agent.py]"),
        ({"a/agent.py": ""}, "see [@../agent.py]"),
    ],
    ids=[
        "nowhere",
        "two places",
        "attached already",
        "there, but refused",
        "a name that is never looked for",
    ],
)
def test_a_reference_that_may_be_elsewhere_is_left_to_the_user(
    tmp_path: Path, files: dict[str, str | bytes], text: str
) -> None:
    """Nothing is guessed: the document stays as it is, and the problem says what may be done."""
    resolvers = [FileResolver([planted(tmp_path, files)])]
    document = PillDocument.parse(text)
    problems = resolve_document(document, resolvers).problems
    assert len(problems) == 1
    assert update_moved(document, problems, Completer(resolvers)) == document
