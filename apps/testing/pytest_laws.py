"""A pytest plugin that tests your objects against the laws, one test a law.

In ``conftest.py``::

    pytest_plugins = ["polycontext.testing.pytest_laws"]

and in pytest's configuration, the objects::

    polycontext_subjects = ["my_agent.summaries:Summariser"]
    polycontext_examples = "100"
"""

from collections.abc import Iterator
from typing import Any

import pytest

from polycontext.base import Law

from .law_runner import EXAMPLES, all_laws, run_law
from .subject import Subject, load_subject


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the configuration options."""
    parser.addini("polycontext_subjects", "objects as module:object", type="linelist", default=[])
    parser.addini("polycontext_examples", "inputs that each law is tried on", default=EXAMPLES)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the laws about each object after the collected tests."""
    for name in config.getini("polycontext_subjects"):
        items += _Laws.from_parent(session, name=name).collect()


class _Laws(pytest.Collector):
    """A collector of the laws about one object."""

    def collect(self) -> "Iterator[_LawItem]":
        """Yield a test for each law about the object.

        Raises:
            InvalidDataError: it cannot be imported or created, or no law is about it.
        """
        subject = load_subject(self.name)
        for law in all_laws():
            if not subject.bound.keys().isdisjoint(law.parameters):
                yield _LawItem.from_parent(
                    self, name=f"{law.room}.{law.name}", law=law, subject=subject
                )


class _LawItem(pytest.Item):
    """A test of one law."""

    def __init__(self, *, law: Law, subject: Subject, **options: Any) -> None:
        super().__init__(**options)
        self._law, self._subject = law, subject

    def runtest(self) -> None:
        """Try the law; fail with the smallest counterexample, without a traceback."""
        examples = int(self.config.getini("polycontext_examples"))
        found = run_law(self._law, examples, bound=self._subject.bound).counterexample
        if found is not None:
            inputs = "".join(f"\n  {name} = {value}" for name, value in found.inputs.items())
            stated = f"{self._law.statement} ({self._law.source})"
            pytest.fail(f"{stated}{inputs}\n  found: {found.problem}", pytrace=False)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Return the name of the object and the law."""
        return self.path, None, f"{self._subject.name}: {self.name}"
