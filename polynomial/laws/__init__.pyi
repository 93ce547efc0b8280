from .machines import TableMachine

__all__ = [
    "TableMachine",
]
