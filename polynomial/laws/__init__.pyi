from .hosts import Host
from .machines import TableMachine

__all__ = [
    "Host",
    "TableMachine",
]
