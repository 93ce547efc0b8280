"""README, docs and docstrings are correct: every example runs, and every link works."""

import doctest
import gc
import json
import re
import subprocess
import sys
import warnings
from contextlib import ExitStack
from html import unescape
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from polycontext import ContextSession, project
from polycontext.cli.app import main
from polycontext.polynomial.session.background import Background
from polycontext.polynomial.session.documents import Documents
from polycontext.polynomial.session.export import Archive
from polycontext.polynomial.session.history import History
from polycontext.polynomial.session.usage import Usage
from polycontext.testing import STORE_CHECKS
from polycontext.window.model_profiles import known_models
from polycontext.window.providers import get_format
from tests import house, quickstart
from tests.house import ROOT, examples, module_names, modules

PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
)
PROGRAMS = [page for page in PAGES if examples(page.read_text(encoding="utf-8"), "python")]
QUICK = ("README.md", "docs/quickstart.md")
SDK = re.compile(r"\b(?:import|from) (?:openai|anthropic)\b")
GIVEN: dict[str, dict[str, Any]] = {
    "README.md": {
        "TOOLS": [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in ("list_files", "read_file")
        ],
        "run": lambda call: f"The result of {call.name}.",
    }
}
"""What a page calls the reader's own."""
FRAGMENT = re.compile(r"\+[a-z0-9-]+\.(feature|bugfix|doc|removal|misc)\.md")


def page_name(page: Path) -> str:
    """Return the path of a page from the root, to name a test by it."""
    return page.relative_to(ROOT).as_posix()


def _room(name: str) -> str:
    """Return what is tested together: the front door, or a room."""
    return ".".join(name.split(".")[:2])


def run_example(code: str, line: int, page: Path, namespace: dict[str, Any]) -> None:
    """Run one block so that a traceback, or a failed prompt, names the page and the line in it."""
    if ">>>" not in code:
        exec(compile("\n" * line + code, str(page), "exec"), namespace)  # noqa: S102 - the purpose
        return
    test = doctest.DocTestParser().get_doctest(code, namespace, page_name(page), str(page), line)
    test.globs = (
        namespace  # a doctest copies what it is given; the blocks of a page are one program
    )
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            marks=(
                *(() if page_name(page) in QUICK else (pytest.mark.gate,)),
                *((house.NEEDS_GIT,) if page_name(page) == "docs/attachments.md" else ()),
            ),
        )
        for page in PROGRAMS
    ],
    ids=page_name,
)
def test_the_python_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a page run from the repository's root, in order, as one program.

    SDKs reach a strict provider. Of the store checks, only the simplest run here;
    `test_the_store_of_the_docs` runs all of them.
    """
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("polycontext.testing.STORE_CHECKS", STORE_CHECKS[:2])
    namespace: dict[str, Any] = {"__name__": page_name(page), **GIVEN.get(page_name(page), {})}
    blocks = examples(page.read_text(encoding="utf-8"), "python")
    with ExitStack() as stack:
        if any(SDK.search(code) for _, code in blocks):
            environment, *_ = stack.enter_context(quickstart.providers())
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
        for line, code in blocks:
            run_example(code, line, page, namespace)
        # A page need not close its SDK's client: its sockets end here, and not in a test that comes
        # later.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            namespace.clear()
            gc.collect()


@pytest.mark.parametrize(
    "room",
    [
        pytest.param(room, marks=house.NEEDS_GIT if room == "polycontext.pills" else ())
        for room in dict.fromkeys(map(_room, module_names()))
    ],
)
def test_the_examples_of_docstrings_run(room: str) -> None:
    """Every prompt in a docstring of a module gives what stands below it."""
    tried = {
        module.__name__: doctest.testmod(module)
        for module in modules()
        if _room(module.__name__) == room
    }
    assert [name for name, found in tried.items() if found.failed] == []


def test_the_examples_of_the_house_run() -> None:
    """The prompts in the docstrings of tests/house.py are true as well."""
    assert doctest.testmod(house).failed == 0


def test_the_links_of_a_page_lead_somewhere() -> None:
    """A relative link, or a picture, names a file or folder of the repository."""
    assert [
        (page_name(page), target)
        for page in PAGES
        for target in _links(page)
        if not (page.parent / target).exists()
    ] == []


def _links(page: Path) -> list[str]:
    inline = (
        token
        for token in MarkdownIt().parse(page.read_text(encoding="utf-8"))
        if token.type == "inline"
    )
    parts = [child for token in inline for child in token.children or ()]
    targets = [
        str(child.attrGet("src" if child.type == "image" else "href"))
        for child in parts
        if child.type in {"image", "link_open"}
    ]
    return [target.partition("#")[0] for target in targets if "://" not in target]


def test_the_readme_has_exactly_two_commands() -> None:
    """A stranger is told two commands: one that shows the main job and one that runs the tests."""
    blocks = examples((ROOT / "README.md").read_text(encoding="utf-8"), "bash")
    assert [len(code.splitlines()) for _, code in blocks] == [1, 1]
    assert blocks[0][1].strip().endswith("bin/polycontext demo")
    assert "pytest --numprocesses auto" in blocks[1][1]


def test_the_readme_is_short() -> None:
    """It has at most 130 lines, and compares before it explains."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 130
    assert len([line for line in lines[5:12] if line.startswith("|")]) == 7


def test_ci_runs_the_commands_of_the_readme() -> None:
    """CI takes both commands out of the README itself, so they cannot drift apart."""
    script = ROOT / ".ci" / "readme_command.py"
    shown = [
        code.strip()
        for _, code in examples((ROOT / "README.md").read_text(encoding="utf-8"), "bash")
    ]
    printed = [
        subprocess.run(
            [sys.executable, str(script), name], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("demo", "test")
    ]
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert printed == shown
    assert "readme demo\n" in run
    assert "readme test\n" in run


def test_what_the_readme_shows_before_and_after_is_what_comes_out() -> None:
    """The README's messages, summary and counts are what `project` makes of its example."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    messages = json.loads((ROOT / "examples" / "build_failure.json").read_text(encoding="utf-8"))
    (limit,) = re.findall(r"`project\(messages, max_tokens=(\d+)\)`", text)
    projection = project(messages, max_tokens=int(limit))
    before, after = (code for _, code in examples(text, "text"))
    assert f"Eight messages of {projection.tokens_before} tokens" in text
    assert before.splitlines() == [_shown(message) for message in messages]
    (summary,) = (message for message in projection.messages if message not in messages)
    assert after.split() == summary["content"].split()
    assert len(projection.gisted) == len(messages) - len(projection.kept) == 3
    assert len(summary["content"].splitlines()[1:-1]) == 2


def _shown(message: dict[str, Any], width: int = 88) -> str:
    """Return a message as one line of the README."""
    calls = (call["function"] for call in message.get("tool_calls", ()))
    text = message["content"] or " ".join(f"{call['name']}({call['arguments']})" for call in calls)
    line = f"{message['role']:<9}  {' '.join(text.split())}"
    return line if len(line) <= width else f"{line[:width].rpartition(' ')[0]} …"


def test_the_picture_of_the_demo_is_what_it_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The picture has every word of `polycontext demo`, which fits a terminal of 80 by 30."""
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) <= 30
    assert max(map(len, printed)) <= 80
    picture = (ROOT / "docs" / "pictures" / "demo.svg").read_text(encoding="utf-8")
    drawn = unescape(re.sub(r"<[^>]+>", "", picture.partition("</style>")[2])).replace("\xa0", " ")
    assert [line for line in printed if line.strip() not in drawn] == []


def test_the_readme_counts_the_models_that_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of names is that of the tables, whatever another page has registered."""
    monkeypatch.setattr("polycontext.window.model_profiles._REGISTERED", {})
    (count,) = re.findall(
        r"(\d+) names with context window", (ROOT / "README.md").read_text(encoding="utf-8")
    )
    assert int(count) == len(known_models())


def test_the_readme_needs_no_word_that_only_insiders_know() -> None:
    """The README uses none of the project's own terms, which `docs/concepts.md` explains."""
    prose = re.sub(
        r"```.+?```|`[^`]+`|\]\([^)]+\)",
        "",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert (
        re.findall(
            r"(?i)\b(?:rooms?|house|ledgers?|atoms?|gists?|comonads?|props|pills?|eigenvectors?)\b",
            prose,
        )
        == []
    )


def test_the_page_of_the_session_tells_of_every_method() -> None:
    """Every public name of a session stands in its table, the twins for tasks as well."""
    tables = "\n".join(
        line
        for line in (ROOT / "docs" / "session.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    )
    own = ("output", "after", "ready")  # of a part: what the session itself calls
    parts = [
        name
        for kind in (History, Archive, Usage, Background, Documents)
        for name in dir(kind)
        if name not in own
    ]
    assert [
        name
        for name in (*dir(ContextSession), *parts)
        if not name.startswith("_") and not re.search(rf"`{name}[`(]", tables)
    ] == []


def test_the_page_of_the_session_tells_of_every_option() -> None:
    """Every parameter of `ContextSession` stands in the first column of its table."""
    text = (ROOT / "docs" / "session.md").read_text(encoding="utf-8")
    rows = text.partition("## Options\n")[2].partition("\n## ")[0].splitlines()
    told = re.findall(r"`(\w+)`", " ".join(row.split("|")[1] for row in rows[3:] if row))
    options = {*signature(ContextSession).parameters} - {"unknown"}
    assert sorted(told) == sorted(options)


WORDS = (
    "log",
    "view",
    "turn",
    "exchange",
    "atom",
    "window",
    "pressure",
    "plan",
    "gist",
    "epoch",
    "bound part",
    "class",
    "ledger",
    "recall",
    "machine",
    "journal",
    "node",
    "item",
    "pill",
    "props",
    "eigenvector",
    "AgentContext",
    "law",
    "comonad",
    "Galois connection",
    "rooms",
)


def test_every_word_of_the_project_is_said_in_plain_words() -> None:
    """The page of concepts has each word, in bold where it is explained."""
    concepts = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    assert [word for word in WORDS if f"**{word}**" not in concepts] == []


def test_a_news_fragment_is_one_sentence() -> None:
    """A news fragment has a known type and is one line that ends as a sentence does."""
    for fragment in (ROOT / "changelog.d").glob("+*"):
        text = fragment.read_text(encoding="utf-8")
        assert FRAGMENT.fullmatch(fragment.name)
        assert (text.count("\n"), text[-2:]) == (1, ".\n"), fragment.name


@pytest.mark.parametrize(
    ("name", "provider"),
    [("apps/cli/demo.json", "openai"), ("examples/conversation_anthropic.json", "anthropic")],
)
def test_an_example_conversation_is_valid(name: str, provider: str) -> None:
    """Each example is valid for its provider, and every message is read."""
    example = json.loads((ROOT / name).read_text(encoding="utf-8"))
    messages = example if isinstance(example, list) else example["messages"]
    wire = get_format(provider)
    wire.check(messages)
    assert len(wire.parse(messages).turns) == {"openai": 39, "anthropic": 21}[provider]
