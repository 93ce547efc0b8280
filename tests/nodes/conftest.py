"""What the tests of the readers share."""

from tests.cli.conftest import polycontext

__all__ = ["polycontext"]
