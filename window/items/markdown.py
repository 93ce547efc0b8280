"""Items as the markdown that stands in a prompt (docs/attachments.md).

A custom item names its kind in ``metadata["kind"]``. A function that the caller registers for it
writes what stands below its heading (L-004); without one it is fenced as text is.
"""

import re
from collections.abc import Callable, Iterable

from polycontext.linearity import InvalidDataError
from polycontext.linearity.json_data import STORABLE, check_text

from ..errors import PluginError
from .item import FILENAME, ContextItem, ItemType, label_of

Formatter = Callable[[ContextItem], str]

_FORMATTERS: dict[str, Formatter] = {}

_HEADINGS = {kind: kind.capitalize() for kind in ItemType} | {ItemType.REPL_HISTORY: "REPL History"}
_LANGUAGES = dict.fromkeys(ItemType, "text") | {ItemType.CODE: "", ItemType.REPL_HISTORY: ""}
"""What a fence says where no file name does: of code it is only known that it is code."""

_ENDINGS = {
    "bash": "sh bash",
    "batch": "bat cmd",
    "c": "c h",
    "clojure": "clj cljs cljc edn",
    "cmake": "cmake",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "css": "css",
    "cython": "pyx pxd",
    "dart": "dart",
    "diff": "diff patch",
    "elisp": "el",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "fortran": "f f90 f95 f03",
    "fsharp": "fs fsi fsx",
    "go": "go",
    "graphql": "graphql gql",
    "groovy": "groovy gradle",
    "haskell": "hs",
    "html": "html htm xhtml",
    "ini": "ini cfg inf",
    "java": "java",
    "javascript": "js cjs mjs jsm",
    "json": "json jsonl ndjson",
    "jsx": "jsx",
    "julia": "jl",
    "kotlin": "kt kts",
    "less": "less",
    "lisp": "lisp cl",
    "lua": "lua",
    "make": "mak mk",
    "markdown": "md markdown",
    "matlab": "m",
    "nix": "nix",
    "ocaml": "ml mli",
    "perl": "pl pm",
    "php": "php",
    "powershell": "ps1 psm1",
    "protobuf": "proto",
    "python": "py pyi pyw",
    "r": "r",
    "rst": "rst",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "sass": "sass",
    "scala": "scala sbt",
    "scheme": "scm ss",
    "scss": "scss",
    "sql": "sql",
    "svelte": "svelte",
    "swift": "swift",
    "terraform": "tf",
    "tex": "tex sty",
    "toml": "toml",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "vue": "vue",
    "xml": "xml xsl xsd svg",
    "yaml": "yaml yml",
    "zig": "zig",
}
"""What a fence calls a language, and the endings of its files."""

_LANGUAGE_OF = {
    ending: language for language, endings in _ENDINGS.items() for ending in endings.split()
}
_NAMED = {
    "dockerfile": "dockerfile",
    "makefile": "make",
    "gnumakefile": "make",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
}
"""Files whose names say it without an ending."""

_TICKS = re.compile(r"`{3,}")


def context_to_string(items: Iterable[ContextItem]) -> str:
    r"""Return items as markdown for a prompt: heading, file and lines, and the content in a fence.

    Empty for no items.

    Nothing in content or file name can end its fence or heading: the fence is longer than any run
    of backticks inside, and what cannot be printed in a file name is written as an escape.

    Raises:
        PluginError: the registered formatter of a custom kind raised, or returned what is no
            storable text.

    >>> print(context_to_string([ContextItem("x + 1\n", metadata={"filename": "a.py", "start_line": 3})]))
    ### Code
    #### a.py:3
    ```python
    x + 1
    ```
    """
    return "\n\n".join(map(_block, items))


def register_formatter(kind: str, formatter: Formatter) -> None:
    """Let `formatter` write the body of every custom item whose ``metadata["kind"]`` is `kind`.

    A later one replaces it.

    What it writes stands in prompts as it is: a formatter that quotes content fences it itself.

    >>> register_formatter("doctest-ticket", lambda item: f"Ticket: {item.content}")
    >>> print(context_to_string([ContextItem("the printer burns", "custom", {"kind": "doctest-ticket"})]))
    ### Custom
    Ticket: the printer burns
    """
    _FORMATTERS[kind] = formatter


def language_of_file(filename: str) -> str | None:
    """Return the name that a fence gives the language of a file, None if its name says nothing.

    >>> language_of_file("src/math.lisp"), language_of_file("agent.py"), language_of_file("LICENSE")
    ('lisp', 'python', None)
    """
    name = re.split(r"[/\\]", filename)[-1].lower()
    return _NAMED.get(name) or _LANGUAGE_OF.get(name.rpartition(".")[2] if "." in name else "")


def fenced_text(text: str) -> tuple[str, str]:
    r"""Return language and content of the first fence that `context_to_string` wrote.

    All of `text` where there is none.

    >>> fenced_text("### Code\n```python\nx\n```")
    ('python', 'x')
    """
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("```")), None)
    if first is None:
        return "", text
    ticks = len(lines[first]) - len(lines[first].lstrip("`"))
    last = next(
        (number for number in range(first + 1, len(lines)) if lines[number] == "`" * ticks),
        len(lines),
    )
    return lines[first][ticks:], "\n".join(lines[first + 1 : last])


def _block(item: ContextItem) -> str:
    label = label_of(item)
    heading = f"### {_HEADINGS[item.type]}\n" + (f"#### {label}\n" if label else "")
    body = _formatted(item)
    return heading + (_fenced(item) if body is None else body)


def _formatted(item: ContextItem) -> str | None:
    """Return what the registered formatter of a custom item writes; None where there is none."""
    kind = (item.metadata or {}).get("kind")
    formatter = (
        _FORMATTERS.get(kind) if isinstance(kind, str) and item.type is ItemType.CUSTOM else None
    )
    if formatter is None:
        return None
    try:
        return check_text(formatter(item))
    except Exception as error:
        problem = (
            error.what
            if isinstance(error, InvalidDataError)
            else f"it raised {type(error).__name__}: {error}"
        )
        raise PluginError(f"formatter of {kind!r} items", item.id, problem, STORABLE) from error


def _fenced(item: ContextItem) -> str:
    name, content = (item.metadata or {}).get(FILENAME), item.content
    language = (language_of_file(name) if name else None) or _LANGUAGES[item.type]
    # Longer than any run inside, or content could end its own fence.
    fence = "`" * (max(map(len, _TICKS.findall(content)), default=2) + 1)
    end = "" if not content or content.endswith("\n") else "\n"
    return f"{fence}{language}\n{content}{end}{fence}"
