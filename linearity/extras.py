"""The optional extras: what a part of polycontext needs beside the core, and what to install where it is missing."""

from importlib.util import find_spec

from attrs import define

from .errors import CallerError


@define(slots=False, eq=False)
class MissingExtraError(CallerError, ModuleNotFoundError):
    """Say which extra to install for a part that needs more than the core."""

    purpose: str
    module: str
    extra: str

    def __attrs_post_init__(self) -> None:
        self.name = self.module  # as `ModuleNotFoundError` calls it

    def __str__(self) -> str:
        return f'no {self.module} for {self.purpose}; legal: pip install ".[{self.extra}]" in a clone of polycontext'


def require_extra(module: str, *, extra: str, purpose: str) -> None:
    """Return where `module` is installed.

    Raises:
        MissingExtraError: it is not.
    """
    if not is_installed(module):
        raise MissingExtraError(purpose, module, extra)


def is_installed(module: str) -> bool:
    """Tell whether `module` can be imported; of a dotted one, whether what it is in can be.

    >>> is_installed("json.decoder"), is_installed("nowhere.at.all")
    (True, False)
    """
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
