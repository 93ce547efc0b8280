"""A pytest plugin: the laws about objects of yours as tests, one a law.

In ``conftest.py``::

    pytest_plugins = ["polycontext.testing.pytest_laws"]

and in the configuration of pytest, which objects::

    polycontext_subjects = ["my_agent.summaries:Summariser"]
    polycontext_examples = "100"
"""

from collections.abc import Iterator
from typing import Any

import pytest

from polycontext.linearity import Law

from .law_runner import EXAMPLES, all_laws, run_law
from .subject import Subject, load_subject


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare what the configuration may say."""
    parser.addini("polycontext_subjects", "objects as module:object", type="linelist", default=[])
    parser.addini("polycontext_examples", "inputs that each law is tried on", default=EXAMPLES)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the laws about each object behind the tests that were collected."""
    for name in config.getini("polycontext_subjects"):
        items += _Laws.from_parent(session, name=name).collect()


class _Laws(pytest.Collector):
    """Collect the laws about one object."""

    def collect(self) -> "Iterator[_LawItem]":
        """Yield a test for each law about the object.

        Raises:
            InvalidDataError: it cannot be imported or made, or is nothing that laws are about.
        """
        subject = load_subject(self.name)
        for law in all_laws():
            if not subject.bound.keys().isdisjoint(law.parameters):
                yield _LawItem.from_parent(
                    self, name=f"{law.room}.{law.name}", law=law, subject=subject
                )


class _LawItem(pytest.Item):
    """Run one law."""

    def __init__(self, *, law: Law, subject: Subject, **options: Any) -> None:
        super().__init__(**options)
        self._law, self._subject = law, subject

    def runtest(self) -> None:
        """Try the law; fail with the smallest counterexample, without the way there."""
        examples = int(self.config.getini("polycontext_examples"))
        found = run_law(self._law, examples, bound=self._subject.bound).counterexample
        if found is not None:
            inputs = "".join(f"\n  {name} = {value}" for name, value in found.inputs.items())
            stated = f"{self._law.statement} ({self._law.source})"
            pytest.fail(f"{stated}{inputs}\n  found: {found.problem}", pytrace=False)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Say which law it is."""
        return self.path, None, f"{self._subject.name}: {self.name}"
