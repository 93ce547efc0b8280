"""Fixtures shared by the node tests."""

from tests.cli.conftest import polycontext

__all__ = ["polycontext"]
