"""Sphinx configuration of the site that `.ci/docs_site.py` lays out; warnings are errors."""

import re
from importlib.metadata import version as version_of
from typing import Any

from pygments.lexers.special import TextLexer

project = "polycontext"
version = release = version_of(project)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["README.md", "examples"]  # the front page includes the README
html_theme = "furo"
html_title = f"polycontext {version}"
html_copy_source = False
suppress_warnings = [
    "ref.python"
]  # a parameter named `type` must not link to every attribute of that name

myst_heading_anchors = 4
default_role = "literal"  # docstrings put names in single backticks, as the pages do
add_module_names = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "imported-members": True, "inherited-members": False}


def mend_links(*told: Any) -> None:
    """Link the pages that a docstring cites.

    Remove links in python-statemachine's docstrings, which point into its manual.
    """
    lines: list[str] = told[-1]
    lines[:] = [
        line if line.lstrip().startswith((">>>", "...")) else _linked(line) for line in lines
    ]


def _linked(line: str) -> str:
    return re.sub(
        r"\bdocs/([a-z-]+)\.md\b",
        r":doc:`docs/\1.md </docs/\1>`",
        re.sub(r":ref:`([^`]+)`", r"``\1``", line),
    )


def setup(app: Any) -> None:
    """Show Mermaid diagrams as text, because drawing them needs a script from the network."""
    app.add_lexer("mermaid", TextLexer)
    app.connect("autodoc-process-docstring", mend_links)
