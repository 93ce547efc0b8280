"""Every path of the specification works under its current and former name.

A wrong call gets an error that says what is wrong.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from polycontext.base import InvalidDataError
from polycontext.linearity import DemotionError, LinearityStats, ResourceClass
from polycontext.polynomial import ContextOutput, ContextSession
from polycontext.polynomial.errors import UnknownPathError
from polycontext.polynomial.session.paths import ALIASES, NAMESPACES, PATHS, ContextPath, paths
from polycontext.window import ContextWindow, Store, Turn
from tests.house import ROOT, script
from tests.polynomial.conversations import add_all, chat, session_of, whole

TABLE = json.loads(Path(__file__).with_name("paths.json").read_text(encoding="utf-8"))

FORMER = {
    **TABLE["aliases"],
    **{
        old + path.removeprefix(now): path
        for old, now in TABLE["aliases"].items()
        for path in TABLE["paths"]
        if now in TABLE["namespaces"] and path.startswith(f"{now}.")
    },
}
"""Every former path, those below a namespace too, and where it leads."""


def conversation(**options: Any) -> ContextSession:
    """Return a session of a task and eleven turns, at a pressure of a quarter."""
    return add_all(session_of(auto=False, **options), chat(12))


@pytest.fixture
def session() -> ContextSession:
    """Return a session to ask."""
    return conversation()


class Asked:
    """Say for a path what it is given, what it gives, and what the session's own way gives."""

    def __init__(
        self, kind: type, own: Callable[[ContextSession], object], *arguments: Any, **options: Any
    ) -> None:
        self.kind, self.own, self.arguments, self.options = kind, own, arguments, options


def _below(namespace: str, session: ContextSession) -> tuple[ContextPath, ...]:
    return tuple(path for path in paths() if path.name.startswith(namespace))


ASKED = {
    "self.context.window.focus": Asked(Turn, lambda s: s.window.extract()),
    "self.context.window.map": Asked(Store, lambda s: s.window.extend(len), len),
    "self.context.window.seek": Asked(ContextWindow, lambda s: s.window.seek(3), 3),
    "self.context.window.history": Asked(tuple, lambda s: s.window.all_turns()),
    "self.context.pressure.check": Asked(float, lambda s: s.pressure),
    "self.context.pressure.compress": Asked(
        ContextOutput, lambda s: s.compress(0.1, query="m2_3"), 0.1, query="m2_3"
    ),
    "self.context.pressure.threshold": Asked(
        float, lambda s: s.policy.threshold.high(s.policy.signals)
    ),
    "self.context.linearity.tag": Asked(
        ContextOutput,
        lambda s: s.promote("t2", 2),  # type: ignore[arg-type]
        "t2",
        "preserved",
    ),
    "self.context.linearity.promote": Asked(
        ContextOutput,
        lambda s: s.promote("t4", "PRESERVED", rationale="why"),
        "t4",
        ResourceClass.PRESERVED,
        rationale="why",
    ),
    "self.context.linearity.stats": Asked(LinearityStats, lambda s: s.window.linearity.stats()),
    "self.context.prompt.system": Asked(
        str,
        lambda s: s.build_prompt("kgent", {"warmth": 0.9}, ["Be brief."], system_only=True),
        "kgent",
        {"warmth": 0.9},
        ["Be brief."],
    ),
    "self.context.prompt.render": Asked(
        str, lambda s: s.build_prompt(task="Go on."), task="Go on."
    ),
    **{namespace: Asked(tuple, partial(_below, namespace)) for namespace in TABLE["namespaces"]},
}


# --- what there is ---------------------------------------------------------------


def test_what_a_session_answers_is_the_list(session: ContextSession) -> None:
    """No path is missing and none was made up; the same holds for namespaces and former paths."""
    assert [path.name for path in paths()] == TABLE["paths"]
    assert list(NAMESPACES) == TABLE["namespaces"]
    assert dict(ALIASES) == TABLE["aliases"]
    assert set(ASKED) == {*TABLE["paths"], *TABLE["namespaces"]}


@pytest.mark.parametrize("name", ASKED)
def test_a_path_gives_what_the_session_gives(name: str) -> None:
    """A path gives the same result and session as the method, with the right type."""
    asked, one, other = ASKED[name], conversation(), conversation()
    found = one.invoke(name, *asked.arguments, **asked.options)
    expected = asked.own(other)
    assert isinstance(found, asked.kind)
    assert _told(found) == _told(expected)
    assert [turn.text for turn in one.window.all_turns()] == [
        turn.text for turn in other.window.all_turns()
    ]
    assert one.window.linearity.stats() == other.window.linearity.stats()
    assert one.history.revision == other.history.revision


def _told(result: object) -> object:
    """Return what can be compared between two sessions, whose turns have times of their own."""
    match result:
        case ContextOutput():
            return (
                result.state,
                [turn.text for turn in result.window.all_turns()],
                result.compression is None,
            )
        case ContextWindow():
            return result.position, _told(result.all_turns())
        case Turn():
            return result.text
        case Store():
            return result.pos, list(result)
        case tuple():
            return [_told(each) for each in result]
        case _:
            return result


@pytest.mark.parametrize("former", FORMER)
def test_a_former_path_does_the_same_and_warns_its_caller(former: str) -> None:
    """It names where the path stands today."""
    asked, one, other = ASKED[FORMER[former]], conversation(), conversation()
    with pytest.warns(DeprecationWarning, match="deprecated") as told:
        found = one.invoke(former, *asked.arguments, **asked.options)
    assert [str(each.message) for each in told] == [
        f"{former!r} is deprecated. Use {FORMER[former]!r}."
    ]
    assert _told(found) == _told(asked.own(other))


def test_the_warning_points_at_the_line_that_called(session: ContextSession) -> None:
    """That is so where a task runs the call, too."""

    async def scene() -> None:
        session.invoke("self.stream.focus")
        task = asyncio.create_task(session.ainvoke("self.stream.pressure.check"))
        await task

    with pytest.warns(DeprecationWarning, match="deprecated") as told:
        asyncio.run(scene())
    lines = [
        Path(each.filename).read_text(encoding="utf-8").splitlines()[each.lineno - 1].strip()
        for each in told
    ]
    assert lines == [
        'session.invoke("self.stream.focus")',
        'task = asyncio.create_task(session.ainvoke("self.stream.pressure.check"))',
    ]


def test_a_namespace_may_be_written_with_its_star(session: ContextSession) -> None:
    """It lists what is below; a path that does something has no star."""
    assert session.invoke("self.context.window.*") == paths("self.context.window") == PATHS[:4]
    with pytest.warns(DeprecationWarning, match=r"'self\.context\.linearity'"):
        assert session.invoke("self.stream.linearity.*") == paths("self.context.linearity")
    with pytest.raises(UnknownPathError):
        session.invoke("self.context.window.focus.*")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_path_says_what_it_takes_in_words_that_can_be_typed(path: ContextPath) -> None:
    """Its line is its name and a signature without a module in it; what it does is one line."""
    written = str(path).removeprefix(path.name)
    assert re.fullmatch(r"\(.*\) -> .+", written)
    assert not re.search(r"\w\.\w|~|<", written)
    assert path.summary.endswith(".")
    assert "\n" not in path.summary


def test_the_tables_of_the_page_are_those_of_the_paths() -> None:
    """Written anew the page is the same, and without markers for a table it is refused."""
    page = script("pages")
    text = (ROOT / "docs" / "paths.md").read_text(encoding="utf-8")
    assert page.paths(text) == text, "run `just write pages paths`"
    assert all(f"| `{name}(" in text for name in TABLE["paths"])
    assert all(f"| `{old}` | `{now}` |" in text for old, now in TABLE["aliases"].items())
    with pytest.raises(ValueError, match="no markers for paths"):
        page.paths(text.replace("<!-- paths -->", ""))


# --- what they do ----------------------------------------------------------------


def test_tagging_twice_is_tagging_once_and_promoting_twice_is_refused() -> None:
    """Neither lowers a class."""
    session = conversation()
    call = session.invoke
    call("self.context.linearity.tag", "t2", "PRESERVED", rationale="the contract")
    assert session.window.linearity.tag_of("t2").rationale == "the contract"
    before = whole(session)
    call("self.context.linearity.tag", "t2", "PRESERVED")
    with pytest.raises(DemotionError):
        call("self.context.linearity.promote", "t2", "PRESERVED")
    with pytest.raises(DemotionError):
        call("self.context.linearity.tag", "t2", "DROPPABLE")
    assert whole(session) == before


# --- what is wrong ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("self.context.window.foucs", "self.context.window.focus"),
        ("Self.Context.Window.Map", "self.context.window.map"),
        ("promote", "self.context.linearity.promote"),
        ("self.context.focus", "self.context.window.focus"),
        ("self.stream.porject", "self.context.pressure.compress"),
        ("self.stream.linearity.promot", "self.context.linearity.promote"),
        ("self.stream", "self.context"),
        ("self.context.window.focus.text", "self.context.window.focus"),
    ],
)
def test_a_path_that_is_none_names_the_one_that_was_meant(name: str, near: str) -> None:
    """An unknown path suggests the intended one first, and raises no deprecation warning."""
    with pytest.raises(UnknownPathError) as refused:
        conversation().invoke(name)
    assert (refused.value.kind, refused.value.name, refused.value.near[0]) == ("path", name, near)
    assert set(refused.value.legal) <= set(ASKED)
    assert f"unknown path {name!r}. Did you mean {near!r}" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("self.context.window.frobnicate", TABLE["paths"][:4]),
        ("self.stream.pressure.frobnicate", TABLE["paths"][4:7]),
        ("self.stream.mapper", TABLE["namespaces"]),
        ("self.void.frobnicate", TABLE["namespaces"]),
    ],
)
def test_what_is_legal_is_what_stands_there(
    session: ContextSession, name: str, legal: list[str]
) -> None:
    """The error lists the paths of the namespace, or the namespaces, and resolves former names."""
    with pytest.raises(UnknownPathError) as refused:
        session.invoke(name)
    assert isinstance(refused.value, KeyError)
    assert refused.value.legal == tuple(legal)


W, P, L, T = (
    "self.context.window.",
    "self.context.pressure.",
    "self.context.linearity.",
    "self.context.prompt.",
)
WRONG_CALLS: Mapping[str, tuple[str, Sequence[Any], Mapping[str, Any], str]] = {
    "nothing to seek": (f"{W}seek", [], {}, "required argument: 'position'"),
    "one position too many": (f"{W}seek", [1, 2], {}, "too many positional"),
    "a namespace with an argument": ("self.context.window", [1], {}, "too many positional"),
    "a position twice": (f"{W}seek", [1], {"position": 1}, "values for argument 'position'"),
    "a target misspelt": (f"{P}compress", [], {"taget": 0.5},
                           "keyword argument 'taget'"),
    "a value named self": (f"{T}system", [], {"self": 1}, "'self' is not one of its arguments"),
    "a render without the conversation": (f"{T}render", [], {"system_only": True},
                                          "'system_only' is not one of its arguments"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_CALLS)
def test_arguments_that_do_not_fit_are_named(case: str) -> None:
    """Wrong arguments raise an error with path, argument and signature, and change nothing."""
    name, arguments, options, problem = WRONG_CALLS[case]
    session = conversation()
    before = whole(session)
    with pytest.raises(InvalidDataError) as refused:
        session.invoke(name, *arguments, **options)
    assert str(refused.value).startswith(name)
    assert problem in str(refused.value)
    assert refused.value.legal.startswith(f"{name}(")
    assert whole(session) == before
