"""Fixtures shared by the tests of agents."""

from tests.cli.conftest import polycontext

__all__ = ["polycontext"]
