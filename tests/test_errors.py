"""The module of errors and its page have every exception of the package."""

import doctest
import pickle
import re

import pytest

from polycontext import PolycontextError, errors
from tests.house import ROOT, modules


def raisable(kind: type) -> set[type]:
    """Return a class and all classes that derive from it, of this package."""
    found = {kind}.union(*map(raisable, kind.__subclasses__()))
    return {each for each in found if each.__module__.startswith("polycontext.")}


def test_no_error_is_missing() -> None:
    """`polycontext.errors` has each error and each public warning that any module defines."""
    assert list(modules())
    public = {
        kind.__name__: kind
        for kind in raisable(PolycontextError) | raisable(Warning)
        if not kind.__name__.startswith("_")
    }
    assert {name: getattr(errors, name) for name in errors.__all__} == public


def test_tracebacks_name_the_module_of_errors() -> None:
    """Whatever defines an error, and a copy in another process is one too."""
    kinds = [getattr(errors, name) for name in errors.__all__]
    kinds = [kind for kind in kinds if issubclass(kind, PolycontextError)]
    assert {kind.__module__ for kind in kinds} == {"polycontext.errors"}
    copied = pickle.loads(pickle.dumps(errors.UnknownNameError("model", "gpt5")))  # noqa: S301
    assert str(copied) == "unknown model 'gpt5'."
    own = type("OwnError", (PolycontextError,), {"__module__": "agents.own"})
    assert own.__module__ == "agents.own"


def test_the_examples_of_errors_run() -> None:
    """They stand in classes that say they are of another module, where nobody looks for them."""
    given = {name: getattr(errors, name) for name in errors.__all__}
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for name, kind in given.items():
        for example in finder.find(kind, name, module=False, globs=given):
            runner.run(example)
    assert (runner.failures, runner.tries) == (0, 2)


@pytest.mark.parametrize("name", errors.__all__)
def test_the_page_tells_of_each_error(name: str) -> None:
    """Bases are explained in a table; every other error has a cause, a cure and an example."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    if f"| `{name}` |" in page:
        return
    section = page.partition(f"\n### {name}\n")[2].partition("\n###")[0]
    cause, _, cure = section.partition("**Cure:**")
    assert cause.strip()
    assert cure.strip()
    assert name.endswith("Warning") or re.search(rf"\.{name}(?:: |\().", section)


def test_the_page_says_an_before_a_vowel() -> None:
    """As in "Also an `IndexError`"."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert re.findall(r"\ba\s+`[AEIO]\w+", page) == []


def test_a_callers_text_stays_as_it_is() -> None:
    """Addresses of objects are left out, but not what looks like one in a text."""
    error = errors.InvalidOptionError("name", ["<b at 0x12>", object()], "1, 2, ...")
    assert str(error) == "name = ['<b at 0x12>', <object object>]. Use 1, 2, ..."
    data = errors.InvalidDataError("$", "too few.", "1, ...")
    assert str(data) == "$: too few. Use 1, ..."
