"""Build the documentation site under build/site/html, and check its links.

Usage: python .ci/docs_site.py

The site has the README, the docs, and a reference of every public name. Sphinx reads a copy of the
pages that is laid out as in the repository, so that links between them work there too. Any warning
ends the build with exit code 1; no network is used.
"""

import ast
import shutil
import sys
from collections.abc import Sequence
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from pkgutil import walk_packages
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "site"
CONTENTS = {
    "Get started": [
        "docs/quickstart",
        "docs/choose",
        "docs/concepts",
        "docs/index",
    ],
    "Guides": [
        "docs/session",
        "docs/project",
        "docs/bulk",
        "docs/summarisers",
        "docs/gists",
        "docs/native-compaction",
        "docs/pressure",
        "docs/linearity",
        "docs/stores",
        "docs/history",
        "docs/cache",
        "docs/adapters",
        "docs/models",
        "docs/counting",
        "docs/attachments",
        "docs/agents",
        "docs/nodes",
        "docs/agent-context",
        "docs/machine",
        "docs/testing",
    ],
    "Operations": [
        "docs/command-line",
        "docs/terminal",
        "docs/server",
        "docs/fastapi",
        "docs/troubleshooting",
        "docs/faq",
    ],
    "Formats and laws": [
        "docs/providers",
        "docs/window",
        "docs/paths",
        "docs/errors",
        "docs/laws",
    ],
    "Internals": [
        "docs/architecture",
        "docs/retention",
        "docs/boards",
        "docs/differences",
    ],
}
"""The pages in the order of the site; pages without a group come under *More*."""


def packages() -> list[str]:
    """Return the packages with an `__all__`, which the reference documents."""
    import polycontext  # noqa: PLC0415 - only where the site is built

    found = [
        polycontext.__name__,
        *(each.name for each in walk_packages(polycontext.__path__, "polycontext.") if each.ispkg),
    ]
    return [name for name in found if hasattr(import_module(name), "__all__")]


def reference(package: str, doors: Sequence[str]) -> str:
    """Return the page of a package: its own names in full, and links to those it re-exports."""
    handed = {
        name: home
        for name, module in imported(package).items()
        if (home := door_of(module, doors)) != package
    }
    text = (
        f"# {package}\n\n```{{eval-rst}}\n.. automodule:: {package}\n   :exclude-members: "
        f"{', '.join(handed)}\n```\n"
    )
    links = "\n".join(
        f"- {{py:obj}}`{name} <{home}.{name}>`: see [{home}]({home}.md)"
        for name, home in sorted(handed.items())
    )
    return f"{text}\n## Handed on\n\n{links}\n" if links else text


def imported(package: str) -> dict[str, str]:
    """Return the source module of each public name, from the package's stub or `__init__`."""
    module = import_module(package)
    init = Path(str(module.__file__))
    stub = init.with_suffix(".pyi")
    tree = ast.parse((stub if stub.exists() else init).read_text(encoding="utf-8"))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    names = {
        alias.asname or alias.name: resolve_name("." * node.level + (node.module or ""), package)
        for node in found
        for alias in node.names
    }
    doors = packages()
    # A stub names the module that it imports a class from, which may have imported it, too.
    public = {name: getattr(module, name) for name in module.__all__}
    names |= {
        name: kind.__module__
        for name, kind in public.items()
        if isinstance(kind, type)
        and kind.__module__.startswith("polycontext.")
        and kind.__module__ != "polycontext.errors"  # what errors say, not where they are
        and name in import_module(door_of(kind.__module__, doors)).__all__
    }
    # A name that no nearer package exports is documented here.
    return {
        name: home
        if name in import_module(door_of(home := names.get(name, package), doors)).__all__
        else package
        for name in module.__all__
    }


def door_of(module: str, doors: Sequence[str]) -> str:
    """Return the module itself or the nearest package above it that exports names."""
    return max((door for door in doors if f"{module}.".startswith(f"{door}.")), key=len)


def lay_out(source: Path) -> None:
    """Copy the pages of the repository, and write the front page and the reference beside them."""
    shutil.rmtree(source.parent, ignore_errors=True)
    for folder in ("docs", "examples"):
        shutil.copytree(
            ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"):
        shutil.copy(ROOT / page, source / page)
    (source / "reference").mkdir()
    doors = packages()
    for name in doors:
        (source / "reference" / f"{name}.md").write_text(reference(name, doors), encoding="utf-8")
    grouped = {page for pages in CONTENTS.values() for page in pages}
    rest = sorted(
        page.relative_to(source).with_suffix("").as_posix()
        for page in (source / "docs").glob("*.md")
    )
    groups = {
        **CONTENTS,
        "Reference": [f"reference/{name}" for name in doors],
        "More": [
            *(page for page in rest if page not in grouped),
            "docs/decisions/README",
            "CONTRIBUTING",
            "CHANGELOG",
            "SECURITY",
        ],
    }
    trees = (
        f"```{{toctree}}\n:hidden:\n:caption: {caption}\n:titlesonly:\n\n"
        + "\n".join(pages)
        + "\n```\n"
        for caption, pages in groups.items()
    )
    with (source / "docs" / "decisions" / "README.md").open("a", encoding="utf-8") as decisions:
        decisions.write("\n```{toctree}\n:glob:\n:titlesonly:\n\n2*\n```\n")
    (source / "index.md").write_text(
        "```{include} README.md\n```\n\n" + "\n".join(trees), encoding="utf-8"
    )


class _Page(HTMLParser):
    """The link targets of a page, and the places in it that links can point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.places |= {name for name in (named.get("id"), named.get("name")) if name}
        self.targets += [target for target in (named.get("href"), named.get("src")) if target]


def broken_links(site: Path) -> list[str]:
    """Return every link between the pages of a site that points to no file or no place in it."""
    pages = {page: _Page(page.read_text(encoding="utf-8")) for page in sorted(site.rglob("*.html"))}
    found: list[str] = []
    for page, held in pages.items():
        for target in held.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue  # an external link
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not file.exists() or (
                file in pages and unquote(parts.fragment) not in pages[file].places
            ):
                found.append(f"{page.relative_to(site)}: {target}")
    return found


def main() -> int:
    """Build and check the site; return the exit code."""
    from sphinx.cmd.build import main as sphinx_build  # noqa: PLC0415 - only in group `docs`

    source, html = SITE / "source", SITE / "html"
    lay_out(source)
    code = sphinx_build(
        [
            "-q",
            "-W",
            "--keep-going",
            "-b",
            "html",
            "-c",
            str(ROOT / ".ci" / "site"),
            str(source),
            str(html),
        ]
    )
    broken = broken_links(html) if code == 0 else []
    print(*(f"broken link: {link}" for link in broken), sep="\n", end="\n" if broken else "")
    if code == 0 and not broken:
        print(
            f"{sum(1 for _ in html.rglob('*.html'))} pages in {html.relative_to(ROOT)}, every "
            "link leads somewhere"
        )
    return code or bool(broken)


if __name__ == "__main__":
    sys.exit(main())
