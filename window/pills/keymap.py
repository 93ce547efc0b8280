"""What keys and clicks do on a pill; a pill that names an unknown keymap gets the default one."""

import logging
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from attrs import field, frozen

from .pill import PILL_KEYMAP, Pill

_log = logging.getLogger(__name__)


class PillAction(StrEnum):
    """Say what is done to a pill."""

    VISIT = "visit"
    REMOVE = "remove"


def _bindings(value: Mapping[str, PillAction | str]) -> Mapping[str, PillAction]:
    return MappingProxyType({key: PillAction(action) for key, action in value.items()})


@frozen
class Keymap:
    """Bind keys to actions, under a name that pills carry as their `keymap` property."""

    name: str
    bindings: Mapping[str, PillAction] = field(converter=_bindings, hash=False)


DEFAULT_KEYMAP = Keymap(PILL_KEYMAP, {"mouse-1": "visit", "RET": "visit", "DEL": "remove", "backspace": "remove"})


def keymap_of(pill: Pill, keymaps: Iterable[Keymap] = ()) -> Keymap:
    """Return the keymap that `pill` names; the default one, with a logged warning, where it is not defined.

    >>> keymap_of(Pill("src/agent.py")).bindings["DEL"].value
    'remove'
    """
    wanted = pill.text_properties.keymap
    for keymap in (*keymaps, DEFAULT_KEYMAP):
        if keymap.name == wanted:
            return keymap
    _log.warning("keymap %r of pill %r is not defined; using %r", wanted, pill.name, DEFAULT_KEYMAP.name)
    return DEFAULT_KEYMAP
