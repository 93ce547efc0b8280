"""The blocks of docs/adapters.md that need a framework are syntactically complete.

`FrameworkTests` runs each block where its framework is installed.
"""

import ast

import pytest

from tests.adapters.frameworks.conversation import page_blocks
from tests.house import ROOT, script

ADAPTERS = [name for name in script("adapters").adapters() if name not in ("anthropic", "openai")]


@pytest.mark.parametrize("name", ADAPTERS)
def test_each_adapter_has_a_block(name: str) -> None:
    """It is valid Python, and what it imports of the adapter is defined there."""
    (block,) = page_blocks(name)
    tree = compile(
        block, "docs/adapters.md", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    )
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == f"polycontext.adapters.{name}"
        for alias in node.names
    }
    source = (ROOT / "apps" / "adapters" / f"{name}.py").read_text(encoding="utf-8")
    defined = {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert imported
    assert imported <= defined
